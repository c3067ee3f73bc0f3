#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# GAMMA over the engine: three nodes on two and three hosts, with and without loss; the example; jobs that start wrong.
#
#   tests/gamma/run.sh
cd "$(dirname "$0")/../.." || exit 1
. tests/support/netlab.sh
netlab_begin "$PWD/tests/gamma/run.sh" "$@"
. tests/support/traffic.sh
. tests/support/job.sh
job_of GAMMA
node=$plain/tests/gamma/gamma_node

whole='node 0 of 3: 600 messages, 400 broadcasts, 0 wrong
node 1 of 3: 600 messages, 400 broadcasts, 0 wrong
node 2 of 3: 600 messages, 400 broadcasts, 0 wrong'
exchange() { says "$whole" job "${1:-1 2 1}" "$node"; }
lossy() {
    for host in 1 2 3; do netlab_loss $host 20 || return; done
    exchange "$@" || return
    for host in 1 2 3; do netlab_loss_off $host || return; done
}
frames_to_groups() { tool "$1" omx_counters | awk '/x group frames sent/ { n = $2 } END { exit !n }'; }
example() {
    says '^node 0 of 4: 4 parts, checked by 3 others, 0 faults$' job '1 2 1 2' "$plain/docs/examples/gamma_broadcast"
}
fallen='node 0: 600 broadcasts; told: the other node is gone
node 1: 600 broadcasts'
falls() { ends 137 "$fallen" job '1 2 3' "$node" cast cast fall; }
killed() { ends 137 'told: the other node is gone' job '1 1 2' "$node" wait wait die; }
aborted() { ends 1 'another node of the job has called gamma_abort' job '1 1 2' "$node" wait wait abort; }
here=GAMMA_HOSTS=localhost:0:0

netlab_make 3 9000 N=9000 || exit 1
agents eth0 eth0 eth0 && met 1 2 3 || exit 1
check 'messages, broadcasts and barriers, six threads on each node' exchange
check 'the same with 2 % loss' lossy
check 'the same on three hosts' exchange '1 2 3'
check 'the same on three hosts with 2 % loss' lossy '1 2 3'
check 'a node that dies among broadcasts' falls
check 'broadcasts went by frames to the group' frames_to_groups 1
check 'the example' example
check 'a killed node' killed
check 'a node that ends the job' aborted
check 'no job' refuses 'no job; start the program by mpirun, or set GAMMA_HOSTS' alone A=1 "$node"
check 'a bad entry' refuses '"here" is not HOST:BOARD:ENDPOINT' alone GAMMA_HOSTS=here "$node"
check 'a bad number' refuses 'GAMMA_NODE=7 is no node of GAMMA_HOSTS' alone $here GAMMA_NODE=7 "$node"
check 'a bad program number' refuses 'GAMMA_PAR_PID=256 is no number from 0 to 255' alone $here GAMMA_PAR_PID=256 "$node"
check 'a job of another size' refuses 'the job has 1 nodes, and the program wants 3; start as many' alone $here "$node" 3
finish

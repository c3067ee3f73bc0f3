#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# Fast Messages over the engine: three nodes on two hosts, with and without loss; the example; what starts wrong.
#
#   tests/fm/run.sh
cd "$(dirname "$0")/../.." || exit 1
. tests/support/netlab.sh
netlab_begin "$PWD/tests/fm/run.sh" "$@"
. tests/support/traffic.sh
. tests/support/job.sh
job_of FM
node=$plain/tests/fm/fm_node
[ -x "$node" ] || { skip 'no libfm in the build: apt-get install libboost-context-dev' 1; finish; }

whole='node 0 of 3: 450 streams, 450 whole, 0 wrong
node 1 of 3: 450 streams, 450 whole, 0 wrong
node 2 of 3: 450 streams, 450 whole, 0 wrong'
exchange() { says "$whole" job '1 2 1' "$node"; }
lossy() { netlab_loss 1 20 && netlab_loss 2 20 && exchange && netlab_loss_off 1 && netlab_loss_off 2; }
# The heat of the rod stays what it was.
stencil() {
    job '1 2 1 2' "$plain/docs/examples/fm_stencil" | tee "$said" &&
        awk '/of 4: heat/ { n++; sum += $6 } END { exit !(n == 4 && sum > 133599.9 && sum < 133600.1) }' "$said"
}
killed() { ends 137 'told: the other node is gone' job '1 1 2' "$node" wait wait die; }

netlab_make 2 9000 N=9000 || exit 1
agents eth0 eth0 && met 1 2 || exit 1
check 'streams and whole messages, two threads on each node' exchange
check 'the same with 2 % loss' lossy
check 'the example' stencil
check 'a killed node' killed
check 'no job' refuses 'no job; start the program by mpirun, or set FM_HOSTS' alone A=1 "$node"
check 'a bad entry' refuses '"here" is not HOST:BOARD:ENDPOINT' alone FM_HOSTS=here "$node"
check 'an unknown host' refuses 'nobody knows a board "nowhere:0"; omx_info lists' alone FM_HOSTS=nowhere:0:0 "$node"
check 'an MX that copies less than a packet' refuses 'raise OMX_RNDV_THRESHOLD' alone FM_HOSTS="${NETLAB_NAME[1]}:0:0" OMX_SHARED_RNDV_THRESHOLD=1000 "$node"
check 'a bad number' refuses 'FM_NODE=7 is no node of FM_HOSTS' alone FM_HOSTS=localhost:0:0 FM_NODE=7 "$node"
finish

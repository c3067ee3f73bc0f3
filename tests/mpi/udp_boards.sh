#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# Open MPI over UDP boards of four hosts, which a list names by their host names.
cd "$(dirname "$0")/../.." || exit 1
. tests/support/netlab.sh
. tests/support/mpilab.sh
netlab_begin "$PWD/tests/mpi/udp_boards.sh" "$@"
build=${EMX_BUILD:-$PWD/build}/plain hung=1200
NETLAB_WATCH='' # it knows frames, and none shall be there
mpilab_make 4 2 1500 N=1500 "$build" && mpilab_transport mx "$build" || exit 1
export XDG_STATE_HOME=$NETLAB_TMP EMX_BOARDS=udp:eth0 EMX_PEERS=$NETLAB_TMP/hosts_of_boards
for host in 1 2 3 4; do echo "node$host board$host"; done >"$EMX_PEERS"

job() { says "$2" mpilab_run timeout $hung mpirun -n 8 "$build/tests/mpi/$1"; }
no_frames() { # the agent serves UDP, and no process has a packet socket
    ip netns exec "${NETLAB_NS[1]}" ss -lun | grep -q ':34783 ' &&
        [ "$(ip netns exec "${NETLAB_NS[1]}" awk 'NR > 1' /proc/net/packet)" = '' ]
}
check "data types" job mpi_types 'done types'
check "no frames" no_frames
check "truncated messages" job mpi_truncation 'done truncation'
finish

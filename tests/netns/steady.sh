#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# A promise of EMP holds over the engine: nothing is allocated for messages once all is warm. The acknowledgements of a stream are
# judged in virtual time (tests/sim/resends.cpp).
#
#   tests/netns/steady.sh
cd "$(dirname "$0")/../.." || exit 1
. tests/support/netlab.sh
netlab_begin "$PWD/tests/netns/steady.sh" "$@"
. tests/support/traffic.sh
steady=$plain/tests/netns/steady

# Server and client each count, and tell.
allocates_nothing() { # ROUNDS
    local server status=0
    netlab_bg 1 "$NETLAB_TMP/server" timeout $hung "$steady"
    server=$NETLAB_PID
    says '^at the start: [1-9][0-9]* allocations
^bytes 4096: 0 allocations
^bytes 1048576: 0 allocations' netlab_in 2 timeout $hung "$steady" "${NETLAB_NAME[1]}:0" "$1" || status=1
    wait "$server" || status=1
    cat "$NETLAB_TMP/server"
    grep -q '^bytes 1048576: 0 allocations' "$NETLAB_TMP/server" && return $status
}

netlab_make 2 9000 N=9000 || exit 1
agents eth0:N=9000 eth0:N=9000 && met 1 2 || exit 1
check 'messages allocate nothing after the warm-up' allocates_nothing 20
finish

#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# Large messages in UDP datagrams: that they travel so, both ways and of every length, and that they arrive all the
# same, by frames, where datagrams do not: a firewall, another program's port, an address that changes. What others
# send to our ports is counted and spoils nothing.
cd "$(dirname "$0")/../.." || exit 1
. tests/support/netlab.sh
netlab_begin "$PWD/tests/netns/datagrams.sh" "$@"
. tests/support/traffic.sh
. tests/support/carriers.sh
BULK=udp PORTS='udp dport 34527-34782' CAME='datagrams received' LEFT='pulls that left datagrams' ROUTES='datagram routes'
TAKEN='datagram ports taken'

both_ways() {
    clear_counters && talk 1 2 && talk 2 1 && talk_long && by_carrier 1 && by_carrier 2
}
wrong_word() { EMX_BULK=ftp refuses 'EMX_BULK="ftp" is not auto, tcp, udp or raw: correct or unset it' tool 1 omx_info; }
closed_in() { closed 2 in drop && not_by_carrier 2 && by_carrier 1; }
closed_out() { closed 2 out drop && not_by_carrier 1 && by_carrier 2; }
refused_in() { closed 1 in reject && not_by_carrier 1 && by_carrier 2; }
ports_taken() { taken SOCK_DGRAM && not_by_carrier 1 && not_by_carrier 2; }

# Eager messages of many fragments.
talk_eager() { messages 1 2 -V -S 30001 -E 30002 -N 200 -W 2; }
fragments() { clear_counters && talk_eager && by_carrier 1 && by_carrier 2; }
fragments_with_checksums() {
    clear_counters && EMX_CHECKSUM=1 talk_eager && by_carrier 1 && none 1 'drop: wrong checksum' &&
        none 2 'drop: wrong checksum'
}
fragments_by_default() { EMX_BULK=auto fragments; }
short_fragments() { # four frames are no slower
    clear_counters && messages 1 2 -V -S 4200 -E 4201 -N 200 && none 1 "$CAME" && none 2 "$CAME"
}
eager_under_way() { # those of many fragments
    local MOVED='x medium fragments received' TRAFFIC=(-S 30001 -E 30002)
    under_way "$@"
}
fragments_closed() {
    local status=0
    eager_under_way firewall "$1" "$2 $PORTS drop" || status=1
    no_firewall "$1"
    [ $status = 0 ] && some 2 'fragments that left datagrams'
}
fragments_moved() {
    eager_under_way move 2 10.77.0.3 10.77.0.78 && move 2 10.77.0.78 10.77.0.3 && clear_counters && talk_eager && by_carrier 1
}

# forge HOST: from there to both hosts, as any user may, to some ports, in some shapes
forge() {
    netlab_in "$1" setpriv --reuid 65534 --clear-groups bash -c '
        long=$(printf %1400d 7)
        for n in {1..100}; do
            for to in 10.77.0.{2,3}/{34527..34530}; do
                for from in "" "\1\2\3\4\5\6\7\10EMXD\0\0\0\0" "\0\0\0\0\0\0\0\0EMXD\0\0\0\0"; do
                    for body in "\163\0\0\0" "\165\0\0\1$long" "\163\0\0\0$long" "\51"; do
                        printf "$from$body" >"/dev/udp/$to"
                    done
                done
            done
        done
        exit 0' 2>/dev/null
}
forged() { under_way forge "$1" && some "$2" 'drop: datagram with a wrong secret'; }

carrier_hosts || exit 1
check "messages of all lengths travel in datagrams, both ways" both_ways
check "messages with checksums travel in datagrams" with_checksums
check "fragments of eager messages travel in datagrams, both ways" fragments
check "fragments with checksums travel in datagrams" fragments_with_checksums
check "messages of few fragments travel in frames" short_fragments
check "fragments travel in datagrams, unless asked otherwise" fragments_by_default
check "EMX_BULK=raw: in frames" asked_for raw not_by_carrier
check "EMX_BULK=udp: in datagrams" asked_for udp by_carrier
check "one side that wants frames only" server_asks raw not_by_carrier
check "another word of EMX_BULK is refused" wrong_word
check "a firewall drops datagrams to one host" closed_in
check "a firewall drops datagrams of one host" closed_out
check "a firewall refuses datagrams to one host" refused_in
check "a host without an IP address" elsewhere
check "hosts of two networks" elsewhere 10.99.0.3
check "another program has the ports" ports_taken
netlab_remove 2>/dev/null
# More and faster than a watcher of frames can follow.
NETLAB_WATCH='' && carrier_hosts || exit 1
check "a firewall closes the ports in the middle" closed_meanwhile
check "the firewall opens the ports again" opened_again
check "a firewall closes the ports to fragments in the middle" fragments_closed 1 in
check "the address of a host changes between fragments" fragments_moved
check "the address of a host changes in the middle" moved_meanwhile
check "the address of a host changes back" moved_back
check "the address of the other host changes in the middle" server_moved
check "forged datagrams from the other host" forged 1 2
check "forged datagrams from a process of the same host" forged 1 1
check "1 % of frames and datagrams are lost" lossy 10 100
finish

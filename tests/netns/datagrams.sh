#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# Large messages in UDP datagrams: that they travel so, both ways and of every length, and that they arrive all the
# same, by frames, where datagrams do not: a firewall, another program's port, an address that changes. What others
# send to our ports is counted and spoils nothing.
cd "$(dirname "$0")/../.." || exit 1
. tests/support/netlab.sh
netlab_begin "$PWD/tests/netns/datagrams.sh" "$@"
. tests/support/traffic.sh
mtu=1500 dialect=N=1500

clear_counters() { tool 1 omx_counters -c && tool 2 omx_counters -c; }
# A host that does not get its turn in time makes a pull go on in frames, so that no count of frames is a fault here.
by_datagrams() { some "$1" 'datagrams received' 100; }
none_by_datagrams() { none "$1" 'datagrams received' && some "$1" 'x data frames received'; }

# Checked messages of odd lengths, to the server and back.
talk() { messages "$1" "$2" -V -S 1 -E 3000000 -M 7 -N 10 -W 1 "${@:3}"; }
# The same of one length, often enough that a way comes up.
talk_long() { messages 1 2 -V -S 700001 -E 700002 -N "${1:-50}" -W 2; }

both_ways() {
    clear_counters && talk 1 2 && talk 2 1 && talk_long && by_datagrams 1 && by_datagrams 2
}
with_checksums() {
    clear_counters && EMX_CHECKSUM=1 talk_long && by_datagrams 1 && by_datagrams 2 &&
        none 1 'drop: wrong checksum' && none 2 'drop: wrong checksum'
}
asked_for() { # asked_for WAY NONE_OR_ALL
    clear_counters && EMX_BULK=$1 talk_long && "$2" 1 && "$2" 2
}
one_side_only() { # the server wants frames only: neither side uses datagrams
    local status=0
    clear_counters || return
    EMX_BULK=raw server 2 || return
    netlab_in 1 timeout $hung "$tools/omx_perf" -d "$(netlab_mac 2)" --patience 100 -y -P 0 -V -S 700001 -E 700002 -N 50 ||
        status=$?
    netlab_stop "$SERVER"
    [ $status = 0 ] && none_by_datagrams 1 && none_by_datagrams 2
}
wrong_word() { EMX_BULK=ftp refuses 'EMX_BULK="ftp" is not auto, tcp, udp or raw: correct or unset it' tool 1 omx_info; }

# ---- firewalls ----

firewall() { # firewall HOST RULE...
    local host=$1
    shift
    netlab_in "$host" nft -f - <<END
table inet emx {
    chain in { type filter hook input priority 0; }
    chain out { type filter hook output priority 0; }
}
$(printf 'add rule inet emx %s\n' "$@")
END
}
no_firewall() { netlab_in "$1" nft delete table inet emx; }

closed() { # closed HOST CHAIN ACTION: its datagrams do not pass; those of the other host do, if no answer is needed
    local status=0
    clear_counters && firewall "$1" "$2 udp dport 34527-34782 $3" || return
    talk_long || status=1
    no_firewall "$1"
    return $status
}
closed_in() { closed 2 in drop && none_by_datagrams 2 && by_datagrams 1; }
closed_out() { closed 2 out drop && none_by_datagrams 1 && by_datagrams 2; }
refused_in() { closed 1 in reject && none_by_datagrams 1 && by_datagrams 2; }

# Eager messages of many fragments.
talk_eager() { messages 1 2 -V -S 30001 -E 30002 -N 200 -W 2; }
fragments() { clear_counters && talk_eager && by_datagrams 1 && by_datagrams 2; }
fragments_with_checksums() {
    clear_counters && EMX_CHECKSUM=1 talk_eager && by_datagrams 1 && none 1 'drop: wrong checksum' &&
        none 2 'drop: wrong checksum'
}
short_fragments() { # four frames are no slower
    clear_counters && messages 1 2 -V -S 4200 -E 4201 -N 200 && none 1 'datagrams received' && none 2 'datagrams received'
}

# under_way COMMAND...: while messages are on their way in datagrams
under_way() { clear_counters && during "$(netlab_mac 2)" once_in_datagrams "$@"; }
once_in_datagrams() { until_ok $hung in_datagrams && "$@"; }
in_datagrams() { [ "$(counter 1 'datagrams received')" -gt 500 ] || lab_ended "$CLIENT"; }
eager_under_way() { # those of many fragments
    local MOVED='x medium fragments received' TRAFFIC=(-S 30001 -E 30002)
    under_way "$@"
}
closed_meanwhile() {
    local status=0
    under_way firewall 1 'in udp dport 34527-34782 drop' || status=1
    no_firewall 1
    [ $status = 0 ] && some 1 'pulls that left datagrams'
}
fragments_closed() {
    local status=0
    eager_under_way firewall "$1" "$2 udp dport 34527-34782 drop" || status=1
    no_firewall "$1"
    [ $status = 0 ] && some 2 'fragments that left datagrams'
}
fragments_moved() {
    eager_under_way move 2 10.77.0.3 10.77.0.78 && move 2 10.77.0.78 10.77.0.3 && clear_counters && talk_eager && by_datagrams 1
}
closed_for_a_while() { firewall 1 'in udp dport 34527-34782 drop' && until_ok $hung left && no_firewall 1 && until_ok $hung new_route; }
left() { [ "$(counter 1 'pulls that left datagrams')" -gt 0 ] || lab_ended "$CLIENT"; }
new_route() { [ "$(counter 1 'datagram routes')" -gt 1 ] || lab_ended "$CLIENT"; }
opened_again() { under_way closed_for_a_while; }

# ---- addresses and ports ----

move() { # move HOST FROM TO
    ip -n "${NETLAB_NS[$1]}" addr del "$2/16" dev eth0 && { [ -z "${3:-}" ] || ip -n "${NETLAB_NS[$1]}" addr add "$3/16" dev eth0; }
}
moves() { move 1 "$@" && until_ok $hung new_route; }
moved_meanwhile() { under_way moves 10.77.0.2 10.77.0.77; } # of the puller
moved_back() { under_way move 1 10.77.0.77 10.77.0.2 && clear_counters && talk_long && by_datagrams 1 && by_datagrams 2; }
server_moved() { under_way move 2 10.77.0.3 10.77.0.78 && move 2 10.77.0.78 10.77.0.3; }
without_address() {
    local status=0
    move 2 10.77.0.3 && clear_counters && talk_long && none_by_datagrams 1 && none_by_datagrams 2 || status=1
    ip -n "${NETLAB_NS[2]}" addr add 10.77.0.3/16 dev eth0
    return $status
}
in_another_network() {
    local status=0
    move 2 10.77.0.3 10.99.0.3 && clear_counters && talk_long && none_by_datagrams 1 && none_by_datagrams 2 || status=1
    move 2 10.99.0.3 10.77.0.3
    return $status
}

udp='import socket, sys
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)'
port_taken() {
    local status=0 taker
    netlab_bg 1 "$NETLAB_TMP/taker" python3 -c "$udp
others = [socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in range(32)]
for i, other in enumerate(others):
    other.bind(('', 34527 + i))
print('taken', flush=True)
sys.stdin = open('/dev/zero')
import signal
signal.pause()"
    taker=$NETLAB_PID
    tells "$NETLAB_TMP/taker" taken "$taker" && clear_counters && talk_long || status=1
    netlab_stop "$taker"
    [ $status = 0 ] && some 1 'datagram ports taken' && none_by_datagrams 1 && none_by_datagrams 2
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

# ---- losses ----

lossy() {
    local status=0
    netlab_loss 1 10 && netlab_loss 2 10 && clear_counters && talk_long 100 || status=1
    netlab_loss_off 1 && netlab_loss_off 2 || status=1
    [ $status = 0 ] && some 1 'datagrams received' 100
}

export EMX_BOARDS=eth0:$dialect
hosts() { NETLAB_DIALECTS=$dialect netlab_make 2 $mtu && agents "$EMX_BOARDS" "$EMX_BOARDS"; }
hosts || exit 1
check "messages of all lengths travel in datagrams, both ways" both_ways
check "messages with checksums travel in datagrams" with_checksums
check "fragments of eager messages travel in datagrams, both ways" fragments
check "fragments with checksums travel in datagrams" fragments_with_checksums
check "messages of few fragments travel in frames" short_fragments
check "EMX_BULK=raw: in frames" asked_for raw none_by_datagrams
check "EMX_BULK=udp: in datagrams" asked_for udp by_datagrams
check "one side that wants frames only" one_side_only
check "another word of EMX_BULK is refused" wrong_word
check "a firewall drops datagrams to one host" closed_in
check "a firewall drops datagrams of one host" closed_out
check "a firewall refuses datagrams to one host" refused_in
check "a host without an IP address" without_address
check "hosts of two networks" in_another_network
check "another program has the ports" port_taken
netlab_remove 2>/dev/null
# More and faster than a watcher of frames can follow.
NETLAB_WATCH='' && hosts || exit 1
check "a firewall closes the ports in the middle" closed_meanwhile
check "the firewall opens the ports again" opened_again
check "a firewall closes the ports to fragments in the middle" fragments_closed 1 in
check "the address of a host changes between fragments" fragments_moved
check "the address of a host changes in the middle" moved_meanwhile
check "the address of a host changes back" moved_back
check "the address of the other host changes in the middle" server_moved
check "forged datagrams from the other host" forged 1 2
check "forged datagrams from a process of the same host" forged 1 1
check "1 % of frames and datagrams are lost" lossy
finish

#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# Large messages by TCP: that they travel so, both ways and of every length, several at once and of several endpoints
# and hosts, and that they arrive all the same where TCP does not: a firewall, another program's port, an address that
# changes, a host without one. Processes that stop or are killed in the middle, connections of others, losses. With
# EMX_FULL=1 also what takes longer.
cd "$(dirname "$0")/../.." || exit 1
. tests/support/netlab.sh
netlab_begin "$PWD/tests/netns/tcp.sh" "$@"
. tests/support/traffic.sh
. tests/support/carriers.sh
BULK=tcp PORTS='tcp dport 34527-34782' CAME='tcp packets received' LEFT='pulls that left tcp' ROUTES='tcp routes'
TAKEN='tcp ports taken' full=${EMX_FULL:-}
nobody='drop: connection of nobody' targets=(10.77.0.2:{34527..34530}) # of host 1

check_more() { [ -z "$full" ] || check "$@"; } # in the full tier

some_datagrams() { some "$1" 'datagrams received' 100; }
in_datagrams() { none "$1" "$CAME" && some_datagrams "$1"; }
by_tcp_alone() { by_carrier "$1" && none "$1" 'datagrams received'; }
# An endpoint that ends leaves no port behind that its number's next one would find taken, and nothing that we say
# ends a connection.
no_misfits() { none 1 "$TAKEN" && none 2 "$TAKEN" && none 1 "$nobody" && none 2 "$nobody"; }

both_ways() { clear_counters && talk 1 2 && talk 2 1 && talk_long && by_carrier 1 && by_carrier 2 && no_misfits; }
# Around the longest eager message, one, two and 64 packets of the longest, and 4 MiB.
edges() {
    local packet=65495 length
    clear_counters || return
    for length in 32768 $packet $((2 * packet)) $((64 * packet)) 4194304; do
        messages 1 2 -V -S $((length - 1)) -E $((length + 3)) -M 1 -I 1 -N 2 -W 2 || return
    done
    by_carrier 1 && by_carrier 2 && no_misfits
}

# Ends that sleep until something comes, and streams of several messages both ways at once.
asleep() {
    local status=0
    clear_counters && server 2 -w || return
    netlab_in 1 timeout $hung "$tools/omx_perf" -d "$(netlab_mac 2)" --patience 100 -w -P 0 -V -S 700001 -E 700002 -N 30 &&
        netlab_stop "$SERVER" && server 2 -w &&
        netlab_in 1 timeout $hung "$tools/omx_perf" -d "$(netlab_mac 2)" --patience 100 -w -x -P 0 -V -S 3000001 -E 3000002 -N 20 ||
        status=1
    netlab_stop "$SERVER"
    [ $status = 0 ] && by_carrier 1 && by_carrier 2 && no_misfits
}

# exchanges HOST HOST ENDPOINTS SEED: many messages of every size at once, both ways; half of them large.
exchanges() {
    local at=$NETLAB_TMP/exchange$1 other status=0
    local exchange=$plain/tests/netns/exchange arguments
    rm -f "$at" && touch "$at" || return
    arguments=(--meeting "$at" --messages 400 --large 500 --endpoints "$3" --patience 500 --seed "$4")
    netlab_bg "$2" "$at.log" "$exchange" --rank 1 --peer "$(netlab_mac "$1")" "${arguments[@]}"
    other=$NETLAB_PID
    netlab_in "$1" "$exchange" --rank 0 --peer "$(netlab_mac "$2")" "${arguments[@]}" || status=1
    wait "$other" || status=1
    cat "$at.log"
    return $status
}
many_at_once() { clear_counters && exchanges 1 2 4 1 && by_carrier 1 && by_carrier 2 && no_misfits; }
pairs_at_once() {
    local other host status=0
    for host in 1 2 3 4; do
        tool $host omx_counters -c || return
    done
    exchanges 3 4 2 2 >"$NETLAB_TMP/pair" 2>&1 &
    other=$!
    exchanges 1 2 2 3 || status=1
    wait $other || status=1
    cat "$NETLAB_TMP/pair"
    [ $status = 0 ] && by_carrier 1 && by_carrier 2 && by_carrier 3 && by_carrier 4
}

# Without a word of EMX_BULK: messages that come alone in datagrams, where these pass, and short synchronous ones in frames.
alone() { clear_counters && EMX_BULK=auto messages 1 2 -V -S 100001 -E 100002 -N 100 -W 2; }
alone_in_datagrams() { alone && some_datagrams 1 && some_datagrams 2; }
alone_without_datagrams() {
    local status=0
    firewall 1 'in udp dport 34527-34782 drop' && alone && by_tcp_alone 1 || status=1
    no_firewall 1
    return $status
}
short_synchronous() {
    clear_counters && EMX_BULK=auto messages 1 2 -V -Y -S 8001 -E 8002 -N 100 -W 2 &&
        none 1 "$CAME" && none 1 'datagrams received' && some 1 'x data frames received' 100
}

short_by_tcp() {
    local TRAFFIC=(-Y -S 1001 -E 1002)
    EMX_BULK=tcp under_way true
}

wrong_word() { EMX_BULK=quic refuses 'EMX_BULK="quic" is not auto, tcp, udp or raw: correct or unset it' tool 1 omx_info; }
closed_in() { closed 2 in drop && not_by_carrier 2 && by_carrier 1; }
closed_out() { closed 2 out drop && not_by_carrier 1 && by_carrier 2; }
answers_closed() {
    local PORTS='tcp sport 34527-34782'
    closed_meanwhile out
}
reset_in() { closed 1 in 'reject with tcp reset' && not_by_carrier 1 && by_carrier 2; }
closed_both() { clear_counters && firewall 1 "in $PORTS drop" "out $PORTS drop" && talk_both_closed; }
talk_both_closed() {
    local status=0
    talk_long || status=1
    no_firewall 1
    [ $status = 0 ] && not_by_carrier 1 && not_by_carrier 2
}
ports_taken() { taken SOCK_STREAM && not_by_carrier 1 && by_carrier 2; }

# ---- processes ----

# The other end hears of it and says so, and the endpoint's next life has all again.
server_killed() {
    local status=0
    clear_counters && begin_traffic "$(netlab_mac 2)" && until_ok $hung moves_by_carrier && kill -9 "$SERVER" &&
        until_ok $hung lab_ended "$CLIENT" || status=1
    wait "$CLIENT" && { echo "the client ends as if all were well"; status=1; }
    cat "$NETLAB_TMP/client"
    end_traffic
    [ $status = 0 ] && comes_again
}
client_killed() {
    local status=0
    clear_counters && begin_traffic "$(netlab_mac 2)" && until_ok $hung moves_by_carrier || status=1
    kill -9 "$CLIENT"
    end_traffic
    [ $status = 0 ] && comes_again
}
comes_again() { clear_counters && talk_long && by_carrier 1 && by_carrier 2 && no_misfits; }

is_stopped() { ! cat /proc/"$1"/task/*/stat | sed 's/.*) //' | grep -q '^[^T]'; }
stop() { kill -STOP "$1" && until_ok $hung is_stopped "$1"; }
came_to_2() { [ "$(counter 2 "$CAME")" -gt "$1" ] || lab_ended "$CLIENT"; }
left_2() { [ "$(counter 2 "$LEFT")" -gt "$1" ] || lab_ended "$CLIENT"; }
# A sender that streams to host 2, whose pulls leave the connection meanwhile, and come back.
stopped_until_left() {
    local status=0
    until_ok $hung came_to_2 500 && stop "$CLIENT" || status=1
    until_ok $hung left_2 0 || status=1
    kill -CONT "$CLIENT"
    [ $status = 0 ] && until_ok $hung came_to_2 "$(($(counter 2 "$CAME") + 500))"
}
sender_stopped() {
    local MOVED='x data frames sent' TRAFFIC=(-U -S 2000001 -E 2000002)
    clear_counters && during "$(netlab_mac 2)" stopped_until_left && some 2 "$LEFT"
}
# It takes nothing, so that the connection to it fills up.
stopped_until_quiet() {
    stop "$SERVER" && until_ok $hung is_quiet
    kill -CONT "$SERVER"
}
is_quiet() { # at many looks: once the sender may just have no processor
    local before=$quiet
    quiet=$(counter 1 'tcp packets sent')
    [ "$quiet" = "$before" ] && looks=$((looks + 1)) || looks=0
    [ $looks -ge 20 ]
}
receiver_stopped() {
    local quiet='' looks=0
    under_way stopped_until_quiet
}

# ---- connections of others ----

forge() { netlab_in "$1" python3 tests/netns/tcp_forger.py "${@:2}"; } # as a user without rights there
# While what connects by right cannot reach host 1, and pulls look for it: others than these come there.
only_others() { firewall 2 "out meta skuid 0 $PORTS drop"; }
heard_of() { [ "$(counter 1 "$nobody")" -gt 0 ] || lab_ended "$CLIENT"; }
forged_meanwhile() {
    "$@" && until_ok $hung heard_of && none 1 "$CAME" && no_firewall 2 && until_ok $hung moves_by_carrier
}
forged() { # forged COMMAND...: that makes connections
    local status=0
    clear_counters && only_others && during "$(netlab_mac 2)" forged_meanwhile "$@" && some 1 "$nobody" || status=1
    no_firewall 2 2>/dev/null
    return $status
}

# More than there is room for, from the time on that the ports are open, and while messages are under way.
silent() { # silent NUMBER ADDRESS...: connections of host 2 to those, as a user without rights there
    netlab_bg 2 "$NETLAB_TMP/squatter" python3 tests/netns/tcp_forger.py silent "$@"
    squatter=$NETLAB_PID
}
descriptors() { find "/proc/$1/fd" -mindepth 1 | wc -l; }
few_descriptors() {
    local pid
    for pid in "$SERVER" "$CLIENT"; do
        [ "$(descriptors "$pid")" -lt 64 ] || { echo "process $pid has $(descriptors "$pid") descriptors"; return 1; }
    done
}
squat() { silent 100 10.77.0.{2,3}:34527; }
beset() { tells "$NETLAB_TMP/squatter" held "$squatter" && until_ok $hung moves_by_carrier && few_descriptors; }
squatted() {
    local status=0 squatter
    clear_counters && squat && during "$(netlab_mac 2)" beset && by_carrier 1 && by_carrier 2 || status=1
    netlab_stop "$squatter"
    return $status
}
squatters_come() { squat && beset; }
squatted_meanwhile() {
    local status=0 squatter
    under_way squatters_come || status=1
    netlab_stop "$squatter"
    return $status
}

# Connections of another network, by a route that somebody set up. They say nothing, so that nothing else is wrong.
outsiders() {
    local status=0 squatter
    ip -n "${NETLAB_NS[2]}" addr add 10.99.0.9/32 dev lo && ip -n "${NETLAB_NS[1]}" route add 10.99.0.9 dev eth0 || return
    forged silent 5 "${targets[@]}" --from 10.99.0.9 || status=1
    netlab_stop "$squatter"
    ip -n "${NETLAB_NS[1]}" route del 10.99.0.9 && ip -n "${NETLAB_NS[2]}" addr del 10.99.0.9/32 dev lo || status=1
    return $status
}

# Each segment is lost by itself; offloads would have 64 KiB lost at once.
lossy_segments() {
    local status=0
    netlab_offloads off && lossy "$@" || status=1
    netlab_offloads on && return $status
}

carrier_hosts || exit 1
check "messages of all lengths travel by TCP, both ways" both_ways
check "messages of lengths around those of packets travel by TCP" edges
check "messages with checksums travel by TCP" with_checksums
check_more "EMX_BULK=raw: in frames" asked_for raw not_by_carrier
check "EMX_BULK=udp: in datagrams" asked_for udp in_datagrams
check "EMX_BULK=tcp: by TCP" asked_for tcp by_tcp_alone
check "EMX_BULK=auto: by TCP" asked_for auto by_carrier
check "EMX_BULK=auto: messages below 192 KiB, one at a time, in datagrams" alone_in_datagrams
check "where datagrams do not pass, these go by TCP" alone_without_datagrams
check "EMX_BULK=tcp: short synchronous messages" short_by_tcp
check "EMX_BULK=auto: synchronous messages below 8 KiB in frames" short_synchronous
check "one side wants frames only" server_asks raw not_by_carrier
check_more "one side wants no TCP" server_asks udp not_by_carrier
check "another word of EMX_BULK is refused" wrong_word
check "a firewall drops connections to one host" closed_in
check_more "a firewall drops connections of one host" closed_out
check_more "a firewall resets connections to one host" reset_in
check_more "a firewall drops connections both ways" closed_both
check "a host has no IP address" elsewhere
check_more "hosts are in two networks" elsewhere 10.99.0.3
check "another program has the ports" ports_taken
netlab_remove 2>/dev/null
# More and faster than a watcher of frames can follow.
NETLAB_WATCH='' && carrier_hosts || exit 1
check "many messages of several endpoints are under way at once" many_at_once
check "ends that sleep get their messages" asleep
check "a firewall closes the ports in the middle" closed_meanwhile
check_more "a firewall drops what a host sends to the ports, in the middle" closed_meanwhile out drop 2
check_more "a firewall drops what a host answers from the ports, in the middle" answers_closed
check_more "a firewall resets connections in the middle" closed_meanwhile in 'reject with tcp reset'
check "the firewall opens the ports again" opened_again
check "the address of a host changes in the middle" moved_meanwhile
check "the address of a host changes back" moved_back
check_more "the address of the other host changes in the middle" server_moved
check "the server is killed in the middle" server_killed
check "the client is killed in the middle" client_killed
check_more "a sender is stopped until its receiver looks elsewhere" sender_stopped
check "a receiver is stopped and goes on" receiver_stopped
check "forged connections from the other host" forged forge 2 wrong 1 "${targets[@]}"
check_more "forged connections from a process of the same host" forged forge 1 wrong 1 "${targets[@]}"
check "connections from outside the network" outsiders
check "more silent connections than there is room for, from the beginning" squatted
check_more "more silent connections than there is room for, in the middle" squatted_meanwhile
check "1 % of segments and frames are lost" lossy_segments 10 15
check_more "5 % of segments and frames are lost" lossy_segments 50 15
check_more "1 % of frames and joined segments are lost" lossy 10 100
netlab_remove 2>/dev/null
carrier_hosts 4 || exit 1
check "two pairs of hosts exchange messages at once" pairs_at_once
finish

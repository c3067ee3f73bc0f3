# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# shellcheck shell=bash
# For suites about a carrier of large messages between hosts 1 and 2, as datagrams.sh and tcp.sh, sourced behind
# traffic.sh. They set the words of their carrier:
#
#   BULK      its name in EMX_BULK, which is set to it
#   PORTS     its ports in a rule of nftables, as "udp dport 34527-34782"
#   CAME LEFT ROUTES TAKEN    labels of its counters
#
#   carrier_hosts [NUMBER]            makes that many hosts (2), with addresses, and their agents
#   clear_counters                    of both
#   talk FROM TO OPTION...            checked messages of odd lengths, to the server and back
#   talk_long [NUMBER]                the same of one length, often enough that a way comes up
#   by_carrier HOST                   true if large messages came to it by the carrier since the counters were cleared
#   not_by_carrier HOST               true if they came otherwise
#   asked_for WAY COMMAND             EMX_BULK=WAY is set at both ends: "COMMAND HOST" is true for both
#   server_asks WAY COMMAND           the same where only the server has it
#   with_checksums                    true if messages with checksums come by the carrier both ways
#   closed HOST CHAIN ACTION          while a firewall does that to packets for the carrier's ports, in the chain in or out
#                                     of that host, messages go all the same
#   under_way COMMAND...              that, while messages are on their way by the carrier
#   closed_meanwhile [CHAIN ACTION [HOST]]    true if pulls of that host (1) leave the carrier when the firewall of host 1
#                                     does that (in drop) meanwhile
#   opened_again                      true if they come back when it does so no more
#   taken SOCK_DGRAM|SOCK_STREAM      another program has the first ports: messages go otherwise
#   move HOST FROM [TO]               another address instead of that one, or none
#   elsewhere FROM [TO]               while host 2 has that address instead, or none, messages go otherwise
#   moved_meanwhile, moved_back, server_moved     while messages are under way
#   lossy PERMILLE NUMBER             so many messages come by the carrier while that many frames of each host are lost
# shellcheck disable=SC2154 # variables of traffic.sh

mtu=1500 dialect=N=1500

# A port that a firewall of a test closes is none that a connection of ours may get by itself.
no_ports_of_ours() { netlab_in "$1" sh -c 'echo 40000 60999 >/proc/sys/net/ipv4/ip_local_port_range'; }
carrier_hosts() {
    local host number=${1:-2} boards=()
    export EMX_BOARDS=eth0:$dialect EMX_BULK=$BULK
    NETLAB_DIALECTS=$dialect netlab_make "$number" $mtu || return
    for ((host = 1; host <= number; host++)); do
        no_ports_of_ours $host || return
        boards+=("$EMX_BOARDS")
    done
    agents "${boards[@]}"
}

clear_counters() { tool 1 omx_counters -c && tool 2 omx_counters -c; }
# A host that does not get its turn in time makes a pull go on in frames, so that no count of frames is a fault here.
by_carrier() { some "$1" "$CAME" 100; }
not_by_carrier() { none "$1" "$CAME" && some "$1" 'x data frames received'; }

talk() { messages "$1" "$2" -V -S 1 -E 3000000 -M 7 -N 10 -W 1 "${@:3}"; }
talk_long() { messages 1 2 -V -S 700001 -E 700002 -N "${1:-50}" -W 2; }

with_checksums() {
    clear_counters && EMX_CHECKSUM=1 talk_long && by_carrier 1 && by_carrier 2 &&
        none 1 'drop: wrong checksum' && none 2 'drop: wrong checksum'
}
asked_for() { clear_counters && EMX_BULK=$1 talk_long && "$2" 1 && "$2" 2; }
server_asks() {
    local status=0
    clear_counters || return
    EMX_BULK=$1 server 2 || return
    netlab_in 1 timeout $hung "$tools/omx_perf" -d "$(netlab_mac 2)" --patience 100 -y -P 0 -V -S 700001 -E 700002 -N 50 ||
        status=$?
    netlab_stop "$SERVER"
    [ $status = 0 ] && "$2" 1 && "$2" 2
}

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

closed() {
    local status=0
    clear_counters && firewall "$1" "$2 $PORTS $3" || return
    talk_long || status=1
    no_firewall "$1"
    return $status
}

under_way() { clear_counters && during "$(netlab_mac 2)" once_by_carrier "$@"; }
once_by_carrier() { until_ok $hung moves_by_carrier && "$@"; }
moves_by_carrier() { [ "$(counter 1 "$CAME")" -gt 500 ] || lab_ended "$CLIENT"; }
left() { [ "$(counter "${1:-1}" "$LEFT")" -gt 0 ] || lab_ended "$CLIENT"; }
new_route() { [ "$(counter 1 "$ROUTES")" -gt "$1" ] || lab_ended "$CLIENT"; }

closes_until_left() { firewall 1 "$2" && until_ok $hung left "$1"; } # what came before may still wait for the program
closed_meanwhile() {
    local status=0
    under_way closes_until_left "${3:-1}" "${1:-in} $PORTS ${2:-drop}" || status=1
    no_firewall 1
    [ $status = 0 ] && some "${3:-1}" "$LEFT"
}
closed_for_a_while() {
    local before
    firewall 1 "in $PORTS drop" && until_ok $hung left || return
    before=$(counter 1 "$ROUTES")
    no_firewall 1 && until_ok $hung new_route "$before"
}
opened_again() { under_way closed_for_a_while; }

# ---- addresses and ports ----

move() {
    ip -n "${NETLAB_NS[$1]}" addr del "$2/16" dev eth0 && { [ -z "${3:-}" ] || ip -n "${NETLAB_NS[$1]}" addr add "$3/16" dev eth0; }
}
moves() {
    local before
    before=$(counter 1 "$ROUTES")
    move 1 "$@" && until_ok $hung new_route "$before"
}
moved_meanwhile() { under_way moves 10.77.0.2 10.77.0.77; } # of the puller
moved_back() { under_way move 1 10.77.0.77 10.77.0.2 && clear_counters && talk_long && by_carrier 1 && by_carrier 2; }
server_moved() { under_way move 2 10.77.0.3 10.77.0.78 && move 2 10.77.0.78 10.77.0.3; }
elsewhere() {
    local status=0
    move 2 10.77.0.3 "$@" && clear_counters && talk_long && not_by_carrier 1 && not_by_carrier 2 || status=1
    [ $# = 0 ] || move 2 "$1" || status=1
    ip -n "${NETLAB_NS[2]}" addr add 10.77.0.3/16 dev eth0 || status=1
    return $status
}

taken() {
    local status=0 taker
    netlab_bg 1 "$NETLAB_TMP/taker" python3 -c "import signal, socket, sys
others = [socket.socket(socket.AF_INET, socket.$1) for _ in range(32)]
for i, other in enumerate(others):
    other.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, other.type == socket.SOCK_STREAM)
    other.bind(('', 34527 + i))
    if other.type == socket.SOCK_STREAM:
        other.listen()
print('taken', flush=True)
signal.pause()"
    taker=$NETLAB_PID
    tells "$NETLAB_TMP/taker" taken "$taker" && clear_counters && talk_long || status=1
    netlab_stop "$taker"
    [ $status = 0 ] && some 1 "$TAKEN"
}

# ---- losses ----

lossy() {
    local status=0 lost
    netlab_loss 1 "$1" && netlab_loss 2 "$1" && clear_counters && talk_long "$2" && lost=$(netlab_lost 1) || status=1
    netlab_loss_off 1 && netlab_loss_off 2 || status=1
    [ $status = 0 ] && echo "host 1 lost $lost frames" && [ "$lost" -gt 0 ] && by_carrier 1
}

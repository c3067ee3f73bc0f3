#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# Boards that are UDP altogether: messages of every length between hosts of one network, through a router, of IPv6, of
# users without any right and of several on one host; peers by addresses, by names and by beacons; and what goes wrong:
# ports that are taken, forged datagrams, addresses that change, losses, ends of processes and agents.
cd "$(dirname "$0")/../.." || exit 1
. tests/support/netlab.sh
netlab_begin "$PWD/tests/netns/udp_boards.sh" "$@"
. tests/support/traffic.sh
hung=${EMX_UDP_HUNG:-$hung}
NETLAB_WATCH='' # it knows frames, and none shall be there
peers=$NETLAB_TMP/peers

# address_of HOST NAME: of the board that host knows by that name
address_of() { shown "$1" | sed -n "s/^\([0-9a-f:]*\) $2\$/\1/p" | head -1; }
knows() { [ -n "$(address_of "$1" "$2")" ]; }
listed() { until_ok $hung knows 1 "${1:-host2}" && until_ok $hung knows 2 "${2:-host1}"; }
list_of() { printf '%s\n' "$@" >"$peers"; } # list_of "ADDRESS NAME"...
both_listed() { list_of "$(netlab_ip 1) host1" "$(netlab_ip 2) host2"; }
udp_agents() { agents "udp:${1:-eth0} --peers $peers" "udp:${2:-${1:-eth0}} --peers $peers" && listed; }

# talk FROM TO NAME OPTION...: checked messages to the server there, whose board has that name, and back
talk() {
    local from=$1 to=$2 address status=0
    address=$(address_of "$from" "$3")
    shift 3
    server "$to" || return
    netlab_in "$from" timeout $hung "$tools/omx_perf" -d "$address" --patience 100 -y -P 0 -V "$@" || status=$?
    [ $status != 0 ] || until_ok $hung lab_ended "$SERVER" || status=1
    netlab_stop "$SERVER"
    [ $status = 0 ] || cat "$NETLAB_TMP/server"
    return $status
}
all_lengths=(-S 1 -E 3000000 -M 7 -N 10 -W 1)
both_ways() { talk 1 2 host2 "${all_lengths[@]}" && talk 2 1 host1 "${all_lengths[@]}"; }
no_frames() { [ "$(ip netns exec "${NETLAB_NS[1]}" awk 'NR > 1' /proc/net/packet)" = '' ]; } # no packet socket is open

# Large messages come by TCP, unless a pull goes on in datagrams since a host does not get its turn in time.
came='tcp packets received'
by_tcp() { both_ways && some 1 "$came" && some 2 "$came"; }

by_addresses() { both_listed && udp_agents && by_tcp && no_frames; }
by_datagrams() { both_listed && udp_agents && EMX_BULK=raw both_ways && none 1 "$came" && none 2 "$came"; }
# Short synchronous messages come by TCP where a word of EMX_BULK says so.
short_in_datagrams() { both_listed && udp_agents && talk 1 2 host2 -Y -S 1001 -E 1002 -N 200 -W 2 && none 1 "$came" && none 2 "$came"; }
short_by_tcp() {
    local TRAFFIC=(-Y -S 1001 -E 1002)
    EMX_BULK=tcp under_way until_ok $hung comes_by_tcp
}
odd_lengths() { for n in 1399 1400 1401 1432 32768 32769 65536; do talk 1 2 host2 -S $n -E $((n + 1)) -N 20 -W 2 || return; done; }
with_checksums() { EMX_CHECKSUM=1 both_ways; }
by_names() { list_of "name1 host1" "name2:34783 host2" && udp_agents && both_ways; }
other_ports() {
    list_of "$(netlab_ip 1):5000 host1" "$(netlab_ip 2):6000 host2" && udp_agents eth0:5000 eth0:6000 && both_ways
}
bound() { both_listed && udp_agents "$(netlab_ip 1)" "$(netlab_ip 2)" && both_ways; }
dialect() { both_listed && udp_agents eth0:N=600 && both_ways; }
by_beacons() {
    agents "udp:eth0 --config /nonexistent" "udp:eth0 --config /nonexistent" &&
        listed "${NETLAB_NAME[2]}:0" "${NETLAB_NAME[1]}:0" && talk 1 2 "${NETLAB_NAME[2]}:0" "${all_lengths[@]}"
}
same_id() { # a file that was copied
    local file
    file=$(ls -t "$NETLAB_TMP/ethermx/board-$(netlab_ip 1)-34783")
    cp "$file" "$NETLAB_TMP/kept" && cp "$NETLAB_TMP/ethermx/board-$(netlab_ip 2)-34783" "$file" && both_listed &&
        agents "udp:eth0 --peers $peers" "udp:eth0 --peers $peers" &&
        until_ok $hung grep -q 'has the id of udp:eth0:34783: remove the file' "$NETLAB_TMP/omxd1" &&
        refuses 'has the id of udp:eth0:34783: remove the file' tool 1 omx_perf -y
    local status=$?
    cp "$NETLAB_TMP/kept" "$file"
    return $status
}
id_stays() {
    local before
    both_listed && udp_agents && before=$(address_of 1 host1) && udp_agents && [ "$(address_of 1 host1)" = "$before" ]
}

# ---- IPv6 ----

v6() { # v6 HOST ADDRESS
    netlab_in "$1" sh -c 'for f in all default eth0 lo; do echo 0 >/proc/sys/net/ipv6/conf/$f/disable_ipv6; done' &&
        ip -n "${NETLAB_NS[$1]}" addr add "$2/64" dev eth0 nodad
}
by_ipv6() {
    v6 1 fd00::1 && v6 2 fd00::2 && list_of "fd00::1 host1" "[fd00::2]:34783 host2" &&
        udp_agents '[fd00::1]' '[fd00::2]' && by_tcp
}
ipv6_beacons() {
    local status=0 host
    for host in 1 2; do ip -n "${NETLAB_NS[host]}" addr del "$(netlab_ip $host)/16" dev eth0 || return; done
    agents udp:eth0 udp:eth0 && listed "${NETLAB_NAME[2]}:0" "${NETLAB_NAME[1]}:0" &&
        talk 1 2 "${NETLAB_NAME[2]}:0" "${all_lengths[@]}" || status=1
    for host in 1 2; do ip -n "${NETLAB_NS[host]}" addr add "$(netlab_ip $host)/16" dev eth0 || return; done
    return $status
}

# ---- users without rights ----

# as USER HOST COMMAND...: there, of that user, with a home of its own and no capability
as() {
    local user=$1 host=$2
    shift 2
    mkdir -p "$NETLAB_TMP/home$user-$host" && chown "$user" "$NETLAB_TMP/home$user-$host" && chmod 711 "$NETLAB_TMP" || return
    netlab_in "$host" setpriv --reuid "$user" --regid "$user" --clear-groups --bounding-set=-all --inh-caps=-all \
        env -u XDG_STATE_HOME HOME="$NETLAB_TMP/home$user-$host" "$@"
}
as_bg() { # as_bg USER HOST LOG COMMAND...
    local user=$1 host=$2 log=$3
    shift 3
    mkdir -p "$NETLAB_TMP/home$user-$host" && chown "$user" "$NETLAB_TMP/home$user-$host" && chmod 711 "$NETLAB_TMP" || return
    netlab_bg "$host" "$log" setpriv --reuid "$user" --regid "$user" --clear-groups --bounding-set=-all --inh-caps=-all \
        env -u XDG_STATE_HOME HOME="$NETLAB_TMP/home$user-$host" "$@"
}
# users_talk USER1 HOST1 BOARDS1 USER2 HOST2 BOARDS2: the second serves
users_talk() {
    local status=0 address
    EMX_BOARDS=$6 as_bg "$4" "$5" "$NETLAB_TMP/server" "$tools/omx_perf" -y
    SERVER=$NETLAB_PID
    tells "$NETLAB_TMP/server" "$waits" "$SERVER" || return
    address=$(sed -n 's/.*(\([0-9a-f:]*\)); waiting.*/\1/p' "$NETLAB_TMP/server")
    EMX_BOARDS=$3 as "$1" "$2" timeout $hung "$tools/omx_perf" -d "$address" --patience 100 -y -P 0 -V "${all_lengths[@]}" ||
        status=$?
    netlab_stop "$SERVER"
    [ $status = 0 ] || cat "$NETLAB_TMP/server"
    return $status
}
ordinary_user() {
    stop_agents && both_listed && chmod 644 "$peers" && EMX_PEERS=$peers users_talk 65534 1 udp:eth0 65534 2 udp:eth0
}
two_users() {
    stop_agents && list_of "$(netlab_ip 1):34783 one" "$(netlab_ip 1):40000 two" && chmod 644 "$peers" &&
        EMX_PEERS=$peers users_talk 65534 1 udp:eth0 65533 1 udp:eth0:40000
}
same_port() {
    local status=0
    stop_agents && EMX_PEERS=$peers EMX_BOARDS=udp:eth0 as_bg 65534 1 "$NETLAB_TMP/server" "$tools/omx_perf" -y
    tells "$NETLAB_TMP/server" "$waits" "$NETLAB_PID" &&
        EMX_BOARDS=udp:eth0 refuses 'UDP port 34783 of board udp:eth0:34783 is taken, perhaps by the board of another user' \
            as 65533 1 "$tools/omx_info" || status=1
    netlab_stop "$NETLAB_PID"
    return $status
}

# ---- bad input ----

bad() { # bad BOARDS TEXT [OPTION...]
    local spec=$1 text=$2
    shift 2
    stop_agents 1 && refuses "$text" netlab_in 1 env -u EMX_BOARDS "$EMX_OMXD" --foreground --config /nonexistent --boards "$spec" "$@"
}
words() {
    bad udp:eth9 'interface eth9 does not exist here' && bad udp:10.9.9.9 'no interface here has the address 10.9.9.9' &&
        bad udp:eth0:W 'the dialect of a UDP board is N' && bad udp:eth0:0 'a UDP board has 257 ports' &&
        bad 'udp:[fe80' 'write udp:INTERFACE, udp:ADDRESS or udp:\[IPv6 ADDRESS\]' &&
        bad udp:eth0,eth0 'are UDP boards, or all have raw frames' && bad udp:eth0,udp:eth0:34800 'have UDP ports in common' &&
        bad udp:eth0:N=9000 'raise the MTU to 9028 or more, or configure udp:eth0:34783:N=SIZE with a size of at most 1472' &&
        list_of 'nowhere.invalid host2' && bad udp:eth0 'line 1: the name nowhere.invalid has no IPv4 address here' --peers "$peers" &&
        list_of 'fd00::2 host2' && bad udp:eth0 'fd00::2 is no IPv4 address, which the board has' --peers "$peers" &&
        list_of '10.77.0.3' && bad udp:eth0 'write a line as HOST NAME' --peers "$peers"
}
without_address() {
    local status=0
    ip -n "${NETLAB_NS[1]}" link add bare type veth peer name bare2 && bad udp:bare 'interface bare has no IP address' || status=1
    ip -n "${NETLAB_NS[1]}" link del bare
    return $status
}
udp='import socket, sys, signal
def taken(port):
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    s.bind(("", port))
    return s'
port_taken() { # of the agent, and of an endpoint
    local status=0 taker
    netlab_bg 1 "$NETLAB_TMP/taker" python3 -c "$udp
held = [taken(34783), taken(5003)]
print('taken', flush=True)
signal.pause()"
    taker=$NETLAB_PID
    tells "$NETLAB_TMP/taker" taken "$taker" && bad udp:eth0 'UDP port 34783 of board udp:eth0:34783 is taken' &&
        agent 1 udp:eth0:5000 && EMX_BOARDS=udp:eth0:5000 refuses 'UDP port 5003 of endpoint 2 is another program' tool 1 omx_perf -y -e 2 ||
        status=1
    netlab_stop "$taker"
    return $status
}

# ---- what happens on the way ----

# under_way COMMAND...: while messages are on their way from host 1 to host 2
under_way() { both_listed && udp_agents && during "$(address_of 1 host2)" "$@"; }

# forge HOST: from there to both hosts, as any user may, frames in the name of either
forge() {
    local one two
    one=$(address_of 1 host1) two=$(address_of 1 host2)
    netlab_in "$1" setpriv --reuid 65534 --clear-groups /usr/bin/python3 -c "$udp
boards = [bytes.fromhex(mac.replace(':', '')) for mac in sys.argv[1:3]]
sockets = [taken(0), taken(40001)]
for n in range(40):
    for ip, mine, other in ('10.77.0.2', boards[0], boards[1]), ('10.77.0.3', boards[1], boards[0]):
        for port in range(34783, 34787):
            for kind in (1, 3, 4, 35, 36, 37, 39, 40, 41, 42, 43, 44, 45, 112, 113, 114, 115, 117, 200):
                for length in (1, 17, 60, 100, 1400):
                    frame = mine + other + b'\x86\xdf\xff\xff' + bytes([kind, 0, 0, 1]) + bytes([n] * 1400)
                    sockets[n % 2].sendto(frame[:length], (ip, port))" "$one" "$two"
}
forged() { under_way forge "$1" && some "$2" 'drop: datagram from elsewhere'; }

firewall() { # firewall HOST RULE
    netlab_in "$1" nft -f - <<END
table inet emx {
    chain in { type filter hook input priority 0; }
}
add rule inet emx in $2
END
}
no_firewall() { netlab_in "$1" nft delete table inet emx; }
lossy() {
    local status=0
    both_listed && udp_agents && firewall 1 'udp dport 34783-34816 numgen random mod 100 < 1 drop' &&
        firewall 2 'udp dport 34783-34816 numgen random mod 100 < 1 drop' || return
    both_ways && talk 1 2 host2 -S 700001 -E 700002 -N 100 -W 2 || status=1
    no_firewall 1 && no_firewall 2
    return $status
}
closed_for_a_while() { # the side that waits for something repeats it
    local before=$(($(repeats 1) + $(repeats 2)))
    firewall 1 'udp dport 34783-34816 drop' && until_ok $hung is_repeating && no_firewall 1
}
repeats() { echo $(($(counter "$1" 'pull requests repeated') + $(counter "$1" 'messages repeated'))); }
is_repeating() { [ $(($(repeats 1) + $(repeats 2))) -gt $((before + 6)) ] || lab_ended "$CLIENT"; }


# told HOW: omx_check of the path to host 2 says that large messages come so
told() {
    local status=0 partner
    both_listed && udp_agents && netlab_bg 2 "$NETLAB_TMP/partner" "$tools/omx_check" -s || return
    partner=$NETLAB_PID
    tells "$NETLAB_TMP/partner" serving "$partner" &&
        says "large messages +come $1" tool 1 omx_check -N 50 "$(address_of 1 host2)" || status=1
    netlab_stop "$partner"
    return $status
}
told_why_not() {
    local status=0
    firewall 1 "$tcp_ports drop" && told "in datagrams: no connection came: does a firewall drop the TCP ports of the board's UDP numbers" ||
        status=1
    no_firewall 1
    return $status
}

# Where UDP passes and TCP does not: from the beginning, in the middle, and where another program has the port.
tcp_ports='tcp dport 34783-35039'
only_udp() {
    local status=0
    both_listed && udp_agents && firewall 1 "$tcp_ports drop" || return
    both_ways && none 1 "$came" && some 2 "$came" || status=1
    no_firewall 1
    return $status
}
comes_by_tcp() { [ "$(counter 1 "$came")" -gt 0 ] || lab_ended "$CLIENT"; } # the first messages come in datagrams
left_tcp() { [ "$(counter 1 'pulls that left tcp')" -gt 0 ] || lab_ended "$CLIENT"; }
tcp_closed() {
    until_ok $hung comes_by_tcp && firewall 1 "$tcp_ports drop" && until_ok $hung left_tcp && some 1 'pulls that left tcp' && no_firewall 1
}
tcp_port_taken() {
    local status=0 taker
    netlab_bg 1 "$NETLAB_TMP/taker" python3 -c "import socket, signal
held = [socket.create_server((\"\", port)) for port in range(34784, 34788)]
print('taken', flush=True)
signal.pause()"
    taker=$NETLAB_PID
    tells "$NETLAB_TMP/taker" taken "$taker" && both_listed && udp_agents && both_ways && some 1 'tcp ports taken' &&
        none 1 "$came" && some 2 "$came" || status=1
    netlab_stop "$taker"
    return $status
}
# While what connects by right cannot reach host 1, and pulls look for it: others are closed and counted.
only_others() {
    netlab_in 2 nft -f - <<END
table inet emx {
    chain out { type filter hook output priority 0; meta skuid 0 $tcp_ports drop; }
}
END
}
heard_of_nobody() { [ "$(counter 1 'drop: connection of nobody')" -gt 0 ] || lab_ended "$CLIENT"; }
nobody_connects() {
    netlab_in 2 python3 tests/netns/tcp_forger.py wrong 3 10.77.0.2:{34784..34787} && until_ok $hung heard_of_nobody &&
        none 1 "$came" && no_firewall 2 && until_ok $hung comes_by_tcp
}
tcp_forged() {
    local status=0
    both_listed && udp_agents && only_others && during "$(address_of 1 host2)" nobody_connects || status=1
    no_firewall 2 2>/dev/null
    return $status
}

move() { ip -n "${NETLAB_NS[$1]}" addr del "$2/16" dev eth0 && ip -n "${NETLAB_NS[$1]}" addr add "$3/16" dev eth0; }
at() { grep -q "is at $2:34783" "$NETLAB_TMP/omxd$1" || lab_ended "$CLIENT"; }
moved_meanwhile() { under_way moves 2 10.77.0.3 10.77.0.78; }
moves() { move "$@" && until_ok $hung at 1 "$3"; }
moved_back() { move 2 10.77.0.78 10.77.0.3; }

killed_program() { # its peer hears of it at once
    both_listed && udp_agents && server 2 -e 3 || return
    local status=0
    kill -9 "$SERVER" && lab_gone "$SERVER" && server 2 -e 3 || status=1
    [ $status = 0 ] && netlab_in 1 timeout $hung "$tools/omx_perf" -d "$(address_of 1 host2)" -r 3 --patience 100 -y -P 0 -V -N 10 -W 1 -S 1 -E 2 ||
        status=1
    netlab_stop "$SERVER"
    return $status
}
kill_agents() {
    local host
    for host in 1 2; do
        kill -9 "${AGENTS[host]}" && lab_gone "${AGENTS[host]}"
        netlab_bg "$host" "$NETLAB_TMP/omxd$host" env -u EMX_BOARDS "$EMX_OMXD" --foreground --config /nonexistent \
            --boards udp:eth0 --peers "$peers"
        AGENTS[host]=$NETLAB_PID
        tells "$NETLAB_TMP/omxd$host" ' serving ' "$NETLAB_PID" || return
    done
    until_ok $hung grep -q 'took over the open endpoints' "$NETLAB_TMP/omxd1" && ! grep -q 'all but' "$NETLAB_TMP/omxd1"
}
killed_agents() { under_way kill_agents; }

# ---- through a router ----

behind_router() {
    local router=${NETLAB_PREFIX}rt far=${NETLAB_PREFIX}far status=0
    NETLAB_NS[4]=$far NETLAB_NAME[4]=far
    NETLAB_NS[5]=$router NETLAB_NAME[5]=router # removed with the hosts
    lab_host "$router" && lab_host "$far" &&
        lab_port "$NETLAB_SWITCH" pr 1500 "$router" eth0 02:45:4d:58:01:01 && ip -n "$router" addr add 10.77.9.1/16 dev eth0 &&
        lab_pair 1400 "$router" eth1 02:45:4d:58:01:02 "$far" eth0 02:45:4d:58:01:03 &&
        ip -n "$router" addr add 10.88.0.1/24 dev eth1 && ip -n "$far" addr add 10.88.0.2/24 dev eth0 &&
        ip -n "$far" route add default via 10.88.0.1 && ip netns exec "$router" sysctl -qw net.ipv4.ip_forward=1 || return
    for host in 1 2 3; do ip -n "${NETLAB_NS[host]}" route add 10.88.0.0/24 via 10.77.9.1 || return; done
    list_of "$(netlab_ip 1) host1" "$(netlab_ip 2) host2" "10.88.0.2 far"
    agents "udp:eth0 --peers $peers" "udp:eth0 --peers $peers" - "udp:eth0 --peers $peers" && listed &&
        until_ok $hung knows 1 far && until_ok $hung knows 4 host2 &&
        talk 1 4 far "${all_lengths[@]}" && talk 4 2 host2 "${all_lengths[@]}" && some 1 "$came" && some 4 "$came" || status=1
    stop_agents
    return $status
}

NETLAB_NAMES='' netlab_make 3 1500 || exit 1
netlab_names && sed -i "s/^$(netlab_ip 1) /&name1 /; s/^$(netlab_ip 2) /&name2 /" "$NETLAB_HOSTS"
export XDG_STATE_HOME=$NETLAB_TMP # ids of boards are kept here, and not among the host's own
check "messages of all lengths, both ways, without a packet socket" by_addresses
check "the same by datagrams alone" by_datagrams
check "short synchronous messages" short_in_datagrams
check "the same by TCP, where that is asked for" short_by_tcp
check "lengths around those of frames" odd_lengths
check "messages with checksums" with_checksums
check "hosts listed by their names" by_names
check "other ports" other_ports
check "boards of one address" bound
check "frames shorter than the network's" dialect
check "boards hear of each other by beacons" by_beacons
check "a board has the same id after a restart" id_stays
check "two boards of one id are refused" same_id
check "IPv6" by_ipv6
check "beacons of IPv6" ipv6_beacons
check "a user without any capability" ordinary_user
check "two users of one host" two_users
check "two users want the same port" same_port
check "each wrong configuration has its own message" words
check "an interface without an address is refused" without_address
check "ports that another program has" port_taken
check "forged datagrams from the other host" forged 1 2
check "forged datagrams from a process of the same host" forged 1 1
check "1 % of the datagrams are lost" lossy
check "a firewall closes the ports for a while" under_way closed_for_a_while
check "omx_check says that large messages come by TCP" told 'by TCP$'
check "omx_check says why they do not" told_why_not
check "a firewall lets UDP alone pass" only_udp
check "a firewall closes the ports of TCP in the middle" under_way tcp_closed
check "ports of TCP that another program has" tcp_port_taken
check "connections of others" tcp_forged
check "the address of a host changes in the middle" moved_meanwhile
check "and back" moved_back
check "a killed program's endpoint can be opened again" killed_program
check "killed agents have successors in the middle of messages" killed_agents
check "a host behind a router, with a shorter MTU" behind_router
finish

#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# Bad input and mishaps, through the tools and small MX programs: each ends with the right exit status and
# with a text that names the remedy, and what was right before still works afterwards.
cd "$(dirname "$0")/../.." || exit 1
. tests/support/netlab.sh
netlab_begin "$PWD/tests/netns/bad_input.sh" "$@"
. tests/support/traffic.sh
calls=$plain/tests/netns/bad_calls

# host I NAME=VALUE... COMMAND...: on host I
host() {
    local i=$1
    shift
    timeout $hung ip netns exec "${NETLAB_NS[$i]}" env "$@"
}
user() { # user GROUP COMMAND...: on host 1 as an ordinary user, who is in that group if it is not empty
    local who=(--clear-groups)
    [ -z "$1" ] || who=(--groups "$1")
    shift
    timeout $hung ip netns exec "${NETLAB_NS[1]}" setpriv --reuid 65534 --regid 65534 "${who[@]}" env "$@"
}

# ---- boards that cannot be opened, in programs that start the agent themselves

bad_boards() {
    local open=("$calls" open 0 0) spec pattern
    while read -r spec pattern; do
        check "EMX_BOARDS=$spec" ends 255 "$pattern" host 1 "EMX_BOARDS=$spec" "${open[@]}"
    done <<'LIST'
eth7 interface eth7 does not exist here: correct EMX_BOARDS
lo interface lo is not an Ethernet interface: choose another one
eth0:X the dialect is W, N, or N=SIZE with a frame size of 256 to 65535
eth0: the dialect is W, N, or N=SIZE
eth0:W=9000 the dialect is W, N, or N=SIZE
eth0:N= the dialect is W, N, or N=SIZE
eth0:N=12 frame size of 256 to 65535
eth0:N=65536 frame size of 256 to 65535
eth0:N=99999999999999999999 frame size of 256 to 65535
eth0:N=-5 frame size of 256 to 65535
eth0:N=9000x frame size of 256 to 65535
:W not an interface name; write INTERFACE
a-name-of-20-letters not an interface name; write INTERFACE
,eth0 not an interface name; write INTERFACE
eth0,eth0 board eth0 is named twice
eth0:W interface eth0 has MTU 1500, but dialect W needs 4130: configure dialect N \(EMX_BOARDS=eth0:N=1500\)
eth0 but dialect W needs 4130: configure dialect N
eth0:N=9000 MTU 1500, too small for dialect N=9000: configure eth0:N=1500
LIST
    check "no board named" ends 255 'no board configured: set EMX_BOARDS=INTERFACE or name interfaces in /' host 1 "${open[@]}"
    local with=(host 1 EMX_BOARDS=eth0:N=1500)
    check "EMX_OMXD that is not there" ends 255 'EMX_OMXD names /no/omxd, which is not a program' \
        "${with[@]}" EMX_OMXD=/no/omxd "${open[@]}"
    check "EMX_PEERS that is not there" ends 255 'peers file /no/peers: No such file' \
        "${with[@]}" EMX_PEERS=/no/peers "${open[@]}"
    echo "02:00:00:00:00:01 good:0
zebra" >"$NETLAB_TMP/peers"
    check "nonsense in the peers file" ends 255 'line 2: write a line as MAC NAME, for example' \
        "${with[@]}" EMX_PEERS="$NETLAB_TMP/peers" "${open[@]}"
    check "EMX_GROUP that is not there" ends 255 'group nobodies does not exist: make it \(groupadd --system nobodies\)' \
        "${with[@]}" EMX_GROUP=nobodies "${open[@]}"
    printf '# boards\nboard = eth0\n' >"$NETLAB_TMP/conf"
    check "nonsense in ethermx.conf" ends 1 'line 2: "board = eth0" is not understood; write boards = ' host 1 "$EMX_OMXD" -f -c "$NETLAB_TMP/conf"
    sed 's/^#\(boards\|group\) = .*/\1 = root/' tools/setup/ethermx.conf >"$NETLAB_TMP/conf"
    check "the shipped ethermx.conf is understood" ends 1 'interface root does not exist here' host 1 "$EMX_OMXD" -f -c "$NETLAB_TMP/conf"
}

# ---- environment variables: every tunable that omx_info -c prints

bad_variables() {
    local name value low high
    while read -r name value; do
        low=$(ranges "$name" 1) high=$(ranges "$name" 2)
        for value in zebra -1 99999999999999999999 '' ' ' 1.5 "$((high + 1))"; do
            check "$name='$value' stops a program" ends 255 "$name=\"$value\" is not a number from $low to $high .*: correct or unset it" \
                host 1 EMX_BOARDS=eth0:N=1500 "$name=$value" "$calls" open 0 0
        done
        check "$name=zebra stops the tools" ends 255 "$name=\"zebra\" is not a number from $low to $high" \
            host 1 EMX_BOARDS=eth0:N=1500 "$name=zebra" "$tools/omx_info"
        check "omx_info -c shows it" ends 0 "^$name +zebra .*invalid +$name=\"zebra\" is not a number from $low to $high" \
            host 1 "$name=zebra" "$tools/omx_info" -c
    done < <(env -i "$tools/omx_info" -c | awk '/^EMX_/ && $1 !~ /BOARDS|PEERS|OMXD|GROUP|DEVICE|COMMANDS|BULK|TRACE$/ {print $1, $2}')
    while IFS=: read -r name words; do
        for value in zebra '' "${words%%,*}2"; do
            check "$name='$value' stops a program" ends 255 "$name=\"$value\" is not $words: correct or unset it" \
                host 1 EMX_BOARDS=eth0:N=1500 "$name=$value" "$calls" open 0 0
        done
    done <<'LIST'
EMX_DEVICE:auto, kernel or engine
EMX_COMMANDS:auto, ioctl or uring
EMX_BULK:auto, tcp, udp or raw
LIST
    check "EMX_TRACE in a folder that is not there" ends 255 "cannot make the trace file /no/such/prefix.*: No such file or directory; name a place that can be written to" \
        host 1 EMX_BOARDS=eth0:N=1500 EMX_TRACE=/no/such/prefix "$calls" open 0 0
    check "EMX_DEVICE=kernel without the module" ends 255 'the kernel module is not loaded: modprobe ethermx' \
        host 1 EMX_BOARDS=eth0:N=1500 EMX_DEVICE=kernel "$tools/omx_info"
    check "a typing error in a name" ends 0 '^EMX_WINDWO +.*unknown +no such tunable; a typing error\?' \
        host 1 EMX_WINDWO=3 "$tools/omx_info" -c
}

# The range in the text for a value far outside is the one that the table promises.
ranges() {
    host 1 "$1=zebra" "$tools/omx_info" -c | sed -nE "s/^$1 .*number from ([0-9]+) to ([0-9]+).*/\\$2/p"
}

loose_variables() { # nonsense counts as not given, or as 0; never as anything outside the range
    local name value all=()
    while read -r name; do
        all+=("$name=zebra")
        case $name in *_PREFIX | *_BINDING) # texts: with the others, below
            continue ;;
        esac
        for value in zebra -1 99999999999999999999 ''; do
            check "$name='$value' is harmless" ends 0 "^$name +([0-9,]+ .* $name |.*$name +accepted, no effect)" \
                host 1 "$name=$value" "$tools/omx_info" -c
        done
    done < <(env -i "$tools/omx_info" -c | awk '/^O?MX_/ {print $1}')
    [ ${#all[@]} -ge 10 ] || all+=(EMX_TOO_FEW=1)
    check "with all of them at once a program runs" ends 0 '^opened$' host 1 EMX_BOARDS=eth0:N=1500 "${all[@]}" "$calls" open 0 0
}

# ---- command lines

bad_commands() {
    local name
    for name in omx_attach omx_check omx_info omx_counters omx_endpoint_info omx_hostname omx_init_peers omx_perf; do
        check "$name --zebra" ends 255 "unrecognized option '--zebra'" "$tools/$name" --zebra
        check "$name -Z" ends 255 "invalid option -- 'Z'" "$tools/$name" -Z
        check "$name says where the options are" ends 255 "see $name -h" "$tools/$name" --zebra
        check "$name -h" ends 255 "^usage: $name " "$tools/$name" -h
        case $name in omx_init_peers | omx_attach) continue ;; esac
        for value in zebra -1 '' 99999999999999999999; do
            check "$name -b '$value'" ends 255 "\"$value\" is not a number from 0 to" "$tools/$name" -b "$value"
        done
        check "$name -b without a number" ends 255 "requires an argument -- 'b'" "$tools/$name" -b
        [ $name = omx_check ] || check "$name with an argument too many" ends 255 '"zebra" is no option' "$tools/$name" zebra
        [ $name = omx_perf ] || check "$name -b 32" ends 255 '"32" is not a number from 0 to 31' "$tools/$name" -b 32
    done
    check "omx_attach without an interface" ends 255 'name an interface' "$tools/omx_attach"
    check "omx_attach without the module" ends 255 'the kernel module is not loaded' "$tools/omx_attach" eth0
    check "omx_hostname -n without a name" ends 255 '--name: the text is empty' "$tools/omx_hostname" -n ''
    check "omx_perf -d without a name" ends 255 '--dest: the text is empty' "$tools/omx_perf" -d ''
    check "omx_perf -e 256" ends 255 '"256" is not a number from 0 to 255' "$tools/omx_perf" -e 256
    check "omx_perf -r 256" ends 255 '"256" is not a number from 0 to 255' "$tools/omx_perf" -d a -r 256
    check "omx_perf -N zebra" ends 255 '"zebra" is not a number' "$tools/omx_perf" -d a -N zebra
    check "omx_perf -N 0" ends 255 'measures nothing: give a number from 1' "$tools/omx_perf" -d a -N 0
    check "omx_perf -S above -E" ends 255 'the end \(-E\) must lie above the start' "$tools/omx_perf" -d a -S 8 -E 8
    check "omx_perf -M 0 -I 0" ends 255 '-M 0 needs an increment' "$tools/omx_perf" -d a -M 0
    check "omx_perf -E 5G" ends 255 '"5G" is not a number from 0 to 4294967295' "$tools/omx_perf" -d a -E 5G
    check "omx_perf -F xml" ends 255 '"xml" is none of table, csv, json' "$tools/omx_perf" -d a -F xml
    check "omx_perf -U -x" ends 255 'exclude each other' "$tools/omx_perf" -d a -U -x
    check "omx_init_peers without anything" ends 255 'nothing to do: name a file, or an address and a name' "$tools/omx_init_peers"
    check "omx_init_peers with four arguments" ends 255 'wanted a file, or an address, a name and perhaps a dialect' \
        "$tools/omx_init_peers" a b c d
    check "omx_init_peers with an unknown dialect" ends 255 'wanted an address and a name, .* a dialect, W or N=SIZE' \
        "$tools/omx_init_peers" 02:00:00:00:00:07 node7 X
    check "omx_init_peers without its file" ends 255 'peers file /no/peers: No such file' "$tools/omx_init_peers" /no/peers
    check "omx_init_peers -a -c" ends 255 'exclude each other' "$tools/omx_init_peers" -a -c
    bad_agent_commands
}

bad_agent_commands() {
    local words status pattern
    while IFS='|' read -r words status pattern; do
        # shellcheck disable=SC2086 # the words of a command line
        check "omxd $words" ends "$status" "$pattern" host 1 "$EMX_OMXD" $words
    done <<'LIST'
--zebra|2|unrecognized option '--zebra'
--boards|2|requires an argument
--endpoints 0|2|--endpoints 0: give a number from 1 to 256
--endpoints 257|2|give a number from 1 to 256
--endpoints zebra|2|give a number from 1 to 256
--linger -1|2|--linger -1: give a number of seconds
--report zebra|2|give a descriptor
zebra|2|unexpected argument zebra: see omxd --help
-f --boards eth7|1|interface eth7 does not exist here
-f --boards eth0:N=1500 --peers /no/peers|1|peers file /no/peers: No such file
-f --boards eth0:N=1500 --group nobodies|1|group nobodies does not exist: make it
-f --boards eth0:N=1500 --log /no/log|1|--log /no/log: No such file
LIST
}

# ---- numbers, keys and peers, against a running agent and server

bad_numbers() {
    local on=(host 1 EMX_BOARDS=eth0:N=1500) server=$NETLAB_TMP/server far
    far=$(netlab_mac 2 | tr -d :)
    netlab_bg 2 "$server" env EMX_BOARDS=eth0:N=1500 "$calls" serve 0 3
    local serving=$NETLAB_PID
    tells "$server" ready "$serving"
    check "board out of range" ends 255 'no such board; omx_info lists them' "${on[@]}" "$calls" open 7 0
    for name in omx_perf omx_check; do
        destination=(-d 02:45:zz:58:00:01)
        [ $name = omx_perf ] || destination=(02:45:zz:58:00:01)
        check "$name with a malformed address" ends 255 'is no MAC address: it has six octets' "${on[@]}" "$tools/$name" "${destination[@]}"
    done
    check "omx_perf's board out of range" ends 255 'no such board; omx_info lists them' "${on[@]}" "$tools/omx_perf" -b 7
    check "endpoint out of range" ends 255 'endpoint number out of range: below 32' "${on[@]}" "$calls" open 0 32
    check "endpoint busy" ends 255 "endpoint 3 of board 0 is open in process $serving \(bad_calls\)" host 2 EMX_BOARDS=eth0:N=1500 "$calls" open 0 3
    check "connected" ends 0 '^connected$' "${on[@]}" "$calls" connect "$far" 3 0x12345 5000
    check "no endpoint left" ends 255 'all 32 endpoints of board 0 are open .*write endpoints = 64 into /etc/ethermx/ethermx.conf .*by one more board; .*set EMX_ENDPOINTS=64' "${on[@]}" "$calls" crowd 0
    check "no endpoint left on any board" ends 255 'all 32 endpoints of each board are open' "${on[@]}" "$calls" crowd -1
    check "wrong key" ends 255 'mx_connect: the remote endpoint has another key' "${on[@]}" "$calls" connect "$far" 3 0x54321 5000
    check "closed endpoint, at once" ends 255 'mx_connect: nobody has that endpoint open' "${on[@]}" "$calls" connect "$far" 4 0x12345 100000
    check "no such endpoint number" ends 255 'mx_connect: the remote board has no such endpoint number' "${on[@]}" "$calls" connect "$far" 200 0x12345 5000
    check "a board that does not answer" ends 255 'mx_connect: no answer in time' "${on[@]}" "$calls" connect 020000009999 0 0x12345 300
    check "pointers that are not there" ends 0 '^0 of the calls went wrong' "${on[@]}" "$calls" pointers
    check "other boards than the agent's" ends 255 'asks for eth0:N=1400, but the running omxd serves eth0:N=1500: unset EMX_BOARDS' \
        host 1 EMX_BOARDS=eth0:N=1400 "$calls" open 0 0
    check "closing the table of peers" ends 0 '' "${on[@]}" "$tools/omx_init_peers" -d
    check "a board that is not in it, at once" ends 255 'that board is not in the peers file; add it' "${on[@]}" "$calls" connect 020000008888 0 0x12345 100000
    netlab_stop "$serving"
}

# ---- who may use the boards

rights() {
    if [ -n "${NETLAB_USERNS:-}" ]; then
        skip "other users need root" 6
        return
    fi
    local member
    member=$(getent group daemon | cut -d: -f3)
    check "no agent and no privilege" ends 255 'no CAP_NET_RAW: run as root; or start omxd as root \(sudo omxd\) and join the group ethermx; or .*unshare -Urn' \
        user "" EMX_BOARDS=eth0:N=1500 "$calls" open 0 0
    agent 1 eth0:N=1500
    check "an agent, and no such group" ends 255 'make it \(groupadd --system ethermx\), join it \(usermod -aG ethermx USER\) and log in again; or run as root|group ethermx: join it' \
        user "" "$calls" open 0 0
    GROUP=daemon agent 1 eth0:N=1500
    check "a program refuses a user that is not a member" ends 255 'members of the group daemon: join it \(usermod -aG daemon USER\) and log in again; or run as root' \
        user "" "$calls" open 0 0
    check "the tools refuse a user that is not a member" ends 255 'members of the group daemon: join it' user "" "$tools/omx_info"
    check "a member" ends 0 '^opened$' user "$member" "$calls" open 0 0
    EMX_BOARDS=eth0:N=1500 server 2
    check "a member measures" ends 0 'length +65536' user "$member" \
        "$tools/omx_perf" -d "$(netlab_mac 2)" -y -V -P 0 -S 1 -E 65537 -M 16 -N 20
    netlab_stop "$SERVER"
}

# ---- who may see the frames of others

rings() { # rings I: for each program with an endpoint on host I's interface: filtered or open
    netlab_run "$1" ss -H -0 -b -p |
        awk '/^p_raw/ { if (ring) print state; ring = /:eth0/ && !/"omxd"/; state = "open" }
             /bpf filter/ { state = "filtered" }
             END { if (ring) print state }' | sort | xargs
}

rings_are() { [ "$(rings "$1")" = "$2" ] || { rings "$1"; return 1; }; }
rings_become() { until_ok $hung rings_are "$@"; } # rings_become I WORDS

filters() {
    local first second
    GROUP=daemon agent 1 eth0:N=1500
    netlab_bg 1 "$NETLAB_TMP/first" "$tools/omx_perf" -y
    first=$NETLAB_PID
    check "the only endpoint of a board, of the agent's user, has no filter" rings_become 1 open
    netlab_bg 1 "$NETLAB_TMP/second" "$tools/omx_perf" -y -e 1
    second=$NETLAB_PID
    check "two endpoints of a board have a filter each" rings_become 1 "filtered filtered"
    netlab_stop "$second"
    check "the endpoint that is left has none again" rings_become 1 open
    netlab_stop "$first"
    netlab_bg 1 "$NETLAB_TMP/first" setpriv --reuid 65534 --regid 65534 \
        --groups "$(getent group daemon | cut -d: -f3)" "$tools/omx_perf" -y
    first=$NETLAB_PID
    check "an endpoint of another user keeps its filter" rings_become 1 filtered
    netlab_stop "$first"
}

# ---- interfaces and agents that go while messages travel

traffic() { # traffic OPTION...: a server on host 2, a client on host 1; CLIENT and its output in $NETLAB_TMP/client
    host 1 "$tools/omx_counters" -c
    EMX_BOARDS=eth0:N=1500 server 2
    netlab_bg 1 "$NETLAB_TMP/client" env EMX_BOARDS=eth0:N=1500 "$tools/omx_perf" -d "$(netlab_mac 2)" -y -S 64 -E 65 -v "$@"
    CLIENT=$NETLAB_PID
    until_ok $hung sends_or_ended
}
sends_or_ended() { tool 1 omx_counters | grep -q 'small messages sent' || lab_ended "$CLIENT"; }

ended() { # ended STATUS NAME: what that process said
    cat "$NETLAB_TMP/$2"
    return "$1"
}

agent_killed() {
    traffic -V -N 400000 -T 600000
    kill -STOP "$CLIENT" # its server lives until it has sent all
    kill -9 "${AGENTS[2]}"
    wait "${AGENTS[2]}" 2>/dev/null
    agent 2 eth0:N=1500
    check "the claim was taken over" ends 255 'endpoint 0 of board 0 is open in process' host 2 EMX_BOARDS=eth0:N=1500 "$calls" open 0 0
    kill -CONT "$CLIENT"
    wait "$CLIENT"
    check "omxd killed and started again under traffic" ends 0 'length +64' ended $? client
    netlab_stop "$SERVER"
}

interface_down() {
    netlab_link 1 down
    check "omx_info tells that the link is down" ends 0 'link Down' host 1 "$tools/omx_info"
    check "a link that is down reaches nobody" ends 255 'cannot connect to endpoint 0 of .*: mx_connect: no answer in time' \
        host 1 "$tools/omx_perf" -d "$(netlab_mac 2)" --patience 1
    netlab_link 1 up
    netlab_carrier
    check "the link is up again" ends 0 'link Up' host 1 "$tools/omx_info"
}

up_again() { [ "$(grep -c 'eth0 is up' "$NETLAB_TMP/omxd1")" -gt "$1" ]; }
interface_vanishes() {
    local far status ups
    far=$(netlab_mac 2 | tr -d :)
    netlab_bg 2 "$NETLAB_TMP/server" env EMX_BOARDS=eth0:N=1500 "$calls" serve 0 3
    local serving=$NETLAB_PID sender
    tells "$NETLAB_TMP/server" ready "$serving"
    netlab_bg 1 "$NETLAB_TMP/sender" env EMX_BOARDS=eth0:N=1500 "$calls" send "$far" 3
    sender=$NETLAB_PID
    tells "$NETLAB_TMP/sender" sending "$sender"
    traffic -N 100000000
    ip -n "${NETLAB_NS[1]}" link del eth0
    wait "$CLIENT"
    check "the interface vanishes under omx_perf" ends 255 'omx_perf: .*(gone|failed)' ended $? client
    wait "$sender"
    status=$?
    check "the interface vanishes under a program" ends 255 'send failed: the remote endpoint does not answer' ended $status sender
    check "the endpoint of a vanished interface names the remedy" ends 255 'the interface of this endpoint is gone, .*: close the endpoint and open it again' \
        ended $status sender
    check "an endpoint of a vanished interface cannot be opened" ends 255 'interface eth0 vanished: make it again, and its board can be opened again' \
        host 1 "$calls" open 0 5
    check "omx_info shows that the interface is gone" ends 0 'link Gone' host 1 "$tools/omx_info"
    netlab_stop "$SERVER"
    ups=$(grep -c 'eth0 is up' "$NETLAB_TMP/omxd1") # of before
    netlab_join 1500 && netlab_carrier
    until_ok $hung up_again "$ups"
    check "an endpoint opens after the return of its interface" ends 0 '^opened$' host 1 "$calls" open 0 5
    traffic -V -N 1000
    wait "$CLIENT"
    check "messages pass after the return of the interface" ends 0 'length +64' ended $? client
    check "a program that missed it is refused" ends 255 'nobody has that endpoint open' \
        host 1 EMX_BOARDS=eth0:N=1500 "$calls" connect "$far" 3 0x12345 5000
    netlab_stop "$SERVER"
    netlab_stop "$serving"
}

# shellcheck disable=SC2034 # read by netlab_make
NETLAB_NAMES="node1 node2" NETLAB_DIALECTS=N=1500
netlab_make 2 1500 || exit 1
bad_boards
bad_commands
rights
filters
bad_variables
loose_variables
agent 1 eth0:N=1500
agent 2 eth0:N=1500
interface_down
agent_killed
interface_vanishes
bad_numbers
finish

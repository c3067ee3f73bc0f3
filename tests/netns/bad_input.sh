#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# Bad input and mishaps, through the tools and small MX programs: each ends with the right exit status and
# with a text that names the remedy, and what was right before still works afterwards.
cd "$(dirname "$0")/../.." || exit 1
. tests/support/netlab.sh
netlab_begin "$PWD/tests/netns/bad_input.sh" "$@"
plain=${EMX_BUILD:-$PWD/build}/plain
tools=$plain/tools calls=$plain/tests/netns/bad_calls
export EMX_OMXD=$tools/omxd/omxd
passed=0 failed=0 skipped=0

# expect NAME STATUS PATTERN COMMAND...: the command ends so and prints that, within 30 s.
expect() {
    local name=$1 want=$2 pattern=$3 status
    shift 3
    if [ "$(type -t "$1")" = function ]; then
        "$@"
    else
        timeout 30 "$@"
    fi >"$NETLAB_TMP/out" 2>&1
    status=$?
    if [ $status = "$want" ] && { cat "$NETLAB_TMP/out" && echo; } | grep -qE -- "$pattern"; then
        passed=$((passed + 1))
        return
    fi
    failed=$((failed + 1))
    echo "FAILED: $name: status $status, wanted $want and /$pattern/"
    sed 's/^/    /' "$NETLAB_TMP/out"
}

# host I NAME=VALUE... COMMAND...: on host I, within 30 s.
host() {
    local i=$1
    shift
    timeout 30 ip netns exec "${NETLAB_NS[$i]}" env "$@"
}
user() { # user GROUP COMMAND...: on host 1 as an ordinary user, who is in that group if it is not empty
    local who=(--clear-groups)
    [ -z "$1" ] || who=(--groups "$1")
    shift
    timeout 30 ip netns exec "${NETLAB_NS[1]}" setpriv --reuid 65534 --regid 65534 "${who[@]}" env "$@"
}

# Agents that programs of the tests before have started linger for a while.
stop_agents() {
    local pid
    for pid in $(ip netns pids "${NETLAB_NS[$1]}"); do
        [ "$(cat "/proc/$pid/comm" 2>/dev/null)" = omxd ] || continue
        kill "$pid"
        tail --pid="$pid" -s 0.05 -f /dev/null
    done
}

start_agent() { # start_agent I OPTION...; its process id in AGENT
    local i=$1 log try
    log=$NETLAB_TMP/omxd$i
    shift
    : >"$log"
    stop_agents "$i"
    netlab_bg "$i" "$log" env -u EMX_BOARDS "$EMX_OMXD" --foreground "$@"
    AGENT=$NETLAB_PID
    for ((try = 0; try < 300; try++)); do
        grep -q ' serving ' "$log" && return
        kill -0 "$AGENT" 2>/dev/null || break
        sleep 0.02 # tidy-allow(sleep): polls the agent's log, at most 6 s
    done
    echo "omxd $* does not serve:" && cat "$log"
    return 1
}

wait_for() { # wait_for FILE PATTERN
    local try
    for ((try = 0; try < 500; try++)); do
        grep -qsE -- "$2" "$1" && return
        sleep 0.02 # tidy-allow(sleep): polls another process's output, at most 10 s
    done
    echo "no $2 in $1" && return 1
}

# ---- boards that cannot be opened, in programs that start the agent themselves

bad_boards() {
    local open=("$calls" open 0 0) spec pattern
    while read -r spec pattern; do
        expect "EMX_BOARDS=$spec" 255 "$pattern" host 1 "EMX_BOARDS=$spec" "${open[@]}"
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
    expect "no board named" 255 'no board configured: set EMX_BOARDS=INTERFACE or name interfaces in /' host 1 "${open[@]}"
    local with=(host 1 EMX_BOARDS=eth0:N=1500)
    expect "EMX_OMXD that is not there" 255 'EMX_OMXD names /no/omxd, which is not a program' \
        "${with[@]}" EMX_OMXD=/no/omxd "${open[@]}"
    expect "EMX_PEERS that is not there" 255 'peers file /no/peers: No such file' \
        "${with[@]}" EMX_PEERS=/no/peers "${open[@]}"
    echo "02:00:00:00:00:01 good:0
zebra" >"$NETLAB_TMP/peers"
    expect "nonsense in the peers file" 255 'line 2: write a line as MAC NAME, for example' \
        "${with[@]}" EMX_PEERS="$NETLAB_TMP/peers" "${open[@]}"
    expect "EMX_GROUP that is not there" 255 'group nobodies does not exist: make it \(groupadd --system nobodies\)' \
        "${with[@]}" EMX_GROUP=nobodies "${open[@]}"
    printf '# boards\nboard = eth0\n' >"$NETLAB_TMP/conf"
    expect "nonsense in ethermx.conf" 1 'line 2: "board = eth0" is not understood; write boards = ' host 1 "$EMX_OMXD" -f -c "$NETLAB_TMP/conf"
    sed 's/^#\(boards\|group\) = .*/\1 = root/' tools/setup/ethermx.conf >"$NETLAB_TMP/conf"
    expect "the shipped ethermx.conf is understood" 1 'interface root does not exist here' host 1 "$EMX_OMXD" -f -c "$NETLAB_TMP/conf"
}

# ---- environment variables: every tunable that omx_info -c prints

bad_variables() {
    local name value low high
    while read -r name value; do
        low=$(ranges "$name" 1) high=$(ranges "$name" 2)
        for value in zebra -1 99999999999999999999 '' ' ' 1.5 "$((high + 1))"; do
            expect "$name='$value' stops a program" 255 "$name=\"$value\" is not a number from $low to $high .*: correct or unset it" \
                host 1 EMX_BOARDS=eth0:N=1500 "$name=$value" "$calls" open 0 0
        done
        expect "$name=zebra stops the tools" 255 "$name=\"zebra\" is not a number from $low to $high" \
            host 1 EMX_BOARDS=eth0:N=1500 "$name=zebra" "$tools/omx_info"
        expect "omx_info -c shows it" 0 "^$name +zebra .*invalid +$name=\"zebra\" is not a number from $low to $high" \
            host 1 "$name=zebra" "$tools/omx_info" -c
    done < <(env -i "$tools/omx_info" -c | awk '/^EMX_/ && $1 !~ /BOARDS|PEERS|OMXD|GROUP|DEVICE|COMMANDS|TRACE$/ {print $1, $2}')
    for value in zebra '' kernel2; do
        expect "EMX_DEVICE='$value' stops a program" 255 "EMX_DEVICE=\"$value\" is not auto, kernel or engine: correct or unset it" \
            host 1 EMX_BOARDS=eth0:N=1500 "EMX_DEVICE=$value" "$calls" open 0 0
    done
    for value in zebra '' list; do
        expect "EMX_COMMANDS='$value' stops a program" 255 "EMX_COMMANDS=\"$value\" is not auto, ioctl or uring: correct or unset it" \
            host 1 EMX_BOARDS=eth0:N=1500 "EMX_COMMANDS=$value" "$calls" open 0 0
    done
    expect "EMX_TRACE in a folder that is not there" 255 "cannot make the trace file /no/such/prefix.*: No such file or directory; name a place that can be written to" \
        host 1 EMX_BOARDS=eth0:N=1500 EMX_TRACE=/no/such/prefix "$calls" open 0 0
    expect "EMX_DEVICE=kernel without the module" 255 'the kernel module is not loaded: modprobe ethermx' \
        host 1 EMX_BOARDS=eth0:N=1500 EMX_DEVICE=kernel "$tools/omx_info"
    expect "a typing error in a name" 0 '^EMX_WINDWO +.*unknown +no such tunable; a typing error\?' \
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
            expect "$name='$value' is harmless" 0 "^$name +([0-9,]+ .* $name |.*$name +accepted, no effect)" \
                host 1 "$name=$value" "$tools/omx_info" -c
        done
    done < <(env -i "$tools/omx_info" -c | awk '/^O?MX_/ {print $1}')
    [ ${#all[@]} -ge 10 ] || all+=(EMX_TOO_FEW=1)
    expect "with all of them at once a program runs" 0 '^opened$' host 1 EMX_BOARDS=eth0:N=1500 "${all[@]}" "$calls" open 0 0
}

# ---- command lines

bad_commands() {
    local tool
    for tool in omx_attach omx_check omx_info omx_counters omx_endpoint_info omx_hostname omx_init_peers omx_perf; do
        expect "$tool --zebra" 255 "unrecognized option '--zebra'" "$tools/$tool" --zebra
        expect "$tool -Z" 255 "invalid option -- 'Z'" "$tools/$tool" -Z
        expect "$tool says where the options are" 255 "see $tool -h" "$tools/$tool" --zebra
        expect "$tool -h" 255 "^usage: $tool " "$tools/$tool" -h
        case $tool in omx_init_peers | omx_attach) continue ;; esac
        for value in zebra -1 '' 99999999999999999999; do
            expect "$tool -b '$value'" 255 "\"$value\" is not a number from 0 to" "$tools/$tool" -b "$value"
        done
        expect "$tool -b without a number" 255 "requires an argument -- 'b'" "$tools/$tool" -b
        [ $tool = omx_check ] || expect "$tool with an argument too many" 255 '"zebra" is no option' "$tools/$tool" zebra
        [ $tool = omx_perf ] || expect "$tool -b 32" 255 '"32" is not a number from 0 to 31' "$tools/$tool" -b 32
    done
    expect "omx_attach without an interface" 255 'name an interface' "$tools/omx_attach"
    expect "omx_attach without the module" 255 'the kernel module is not loaded' "$tools/omx_attach" eth0
    expect "omx_hostname -n without a name" 255 '--name: the text is empty' "$tools/omx_hostname" -n ''
    expect "omx_perf -d without a name" 255 '--dest: the text is empty' "$tools/omx_perf" -d ''
    expect "omx_perf -e 256" 255 '"256" is not a number from 0 to 255' "$tools/omx_perf" -e 256
    expect "omx_perf -r 256" 255 '"256" is not a number from 0 to 255' "$tools/omx_perf" -d a -r 256
    expect "omx_perf -N zebra" 255 '"zebra" is not a number' "$tools/omx_perf" -d a -N zebra
    expect "omx_perf -S above -E" 255 'the end \(-E\) must lie above the start' "$tools/omx_perf" -d a -S 8 -E 8
    expect "omx_perf -M 0 -I 0" 255 '-M 0 needs an increment' "$tools/omx_perf" -d a -M 0
    expect "omx_perf -E 5G" 255 '"5G" is not a number from 0 to 4294967295' "$tools/omx_perf" -d a -E 5G
    expect "omx_perf -F xml" 255 '"xml" is none of table, csv, json' "$tools/omx_perf" -d a -F xml
    expect "omx_perf -U -x" 255 'exclude each other' "$tools/omx_perf" -d a -U -x
    expect "omx_init_peers without anything" 255 'nothing to do: name a file, or an address and a name' "$tools/omx_init_peers"
    expect "omx_init_peers with four arguments" 255 'wanted a file, or an address, a name and perhaps a dialect' \
        "$tools/omx_init_peers" a b c d
    expect "omx_init_peers with an unknown dialect" 255 'wanted an address and a name, .* a dialect, W or N=SIZE' \
        "$tools/omx_init_peers" 02:00:00:00:00:07 node7 X
    expect "omx_init_peers without its file" 255 'peers file /no/peers: No such file' "$tools/omx_init_peers" /no/peers
    expect "omx_init_peers -a -c" 255 'exclude each other' "$tools/omx_init_peers" -a -c
    bad_agent_commands
}

bad_agent_commands() {
    local words status pattern
    while IFS='|' read -r words status pattern; do
        # shellcheck disable=SC2086 # the words of a command line
        expect "omxd $words" "$status" "$pattern" host 1 "$EMX_OMXD" $words
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
    wait_for "$server" ready
    expect "board out of range" 255 'no such board; omx_info lists them' "${on[@]}" "$calls" open 7 0
    expect "omx_perf's board out of range" 255 'no such board; omx_info lists them' "${on[@]}" "$tools/omx_perf" -b 7
    expect "endpoint out of range" 255 'endpoint number out of range: below 32' "${on[@]}" "$calls" open 0 32
    expect "endpoint busy" 255 "endpoint 3 of board 0 is open in process $serving \(bad_calls\)" host 2 EMX_BOARDS=eth0:N=1500 "$calls" open 0 3
    expect "connected" 0 '^connected$' "${on[@]}" "$calls" connect "$far" 3 0x12345 5000
    expect "wrong key" 255 'mx_connect: the remote endpoint has another key' "${on[@]}" "$calls" connect "$far" 3 0x54321 5000
    expect "closed endpoint, at once" 255 'mx_connect: nobody has that endpoint open' "${on[@]}" timeout 3 "$calls" connect "$far" 4 0x12345 20000
    expect "no such endpoint number" 255 'mx_connect: the remote board has no such endpoint number' "${on[@]}" "$calls" connect "$far" 200 0x12345 5000
    expect "a board that does not answer" 255 'mx_connect: no answer in time' "${on[@]}" "$calls" connect 020000009999 0 0x12345 300
    expect "pointers that are not there" 0 '^0 of the calls went wrong' "${on[@]}" "$calls" pointers
    expect "other boards than the agent's" 255 'asks for eth0:N=1400, but the running omxd serves eth0:N=1500: unset EMX_BOARDS' \
        host 1 EMX_BOARDS=eth0:N=1400 "$calls" open 0 0
    expect "closing the table of peers" 0 '^$' "${on[@]}" "$tools/omx_init_peers" -d
    expect "a board that is not in it, at once" 255 'that board is not in the peers file; add it' "${on[@]}" timeout 3 "$calls" connect 020000008888 0 0x12345 20000
    netlab_stop "$serving"
}

# ---- who may use the boards

rights() {
    if [ -n "${NETLAB_USERNS:-}" ]; then
        echo "skipped: other users need root"
        skipped=$((skipped + 6))
        return
    fi
    local member
    member=$(getent group daemon | cut -d: -f3)
    expect "no agent and no privilege" 255 'no CAP_NET_RAW: run as root; or start omxd as root \(sudo omxd\) and join the group ethermx; or .*unshare -Urn' \
        user "" EMX_BOARDS=eth0:N=1500 "$calls" open 0 0
    start_agent 1 --boards eth0:N=1500
    expect "an agent, and no such group" 255 'make it \(groupadd --system ethermx\), join it \(usermod -aG ethermx USER\) and log in again; or run as root|group ethermx: join it' \
        user "" "$calls" open 0 0
    netlab_stop "$AGENT"
    start_agent 1 --boards eth0:N=1500 --group daemon
    expect "not a member" 255 'members of the group daemon: join it \(usermod -aG daemon USER\) and log in again; or run as root' \
        user "" "$calls" open 0 0
    expect "nor for the tools" 255 'members of the group daemon: join it' user "" "$tools/omx_info"
    expect "a member" 0 '^opened$' user "$member" "$calls" open 0 0
    netlab_bg 2 "$NETLAB_TMP/perf" env EMX_BOARDS=eth0:N=1500 timeout 30 "$tools/omx_perf" -y
    local server=$NETLAB_PID
    expect "a member measures" 0 'length +65536' user "$member" \
        "$tools/omx_perf" -d "$(netlab_mac 2)" -y -V -P 0 -S 1 -E 65537 -M 16 -N 20
    netlab_stop "$server"
    netlab_stop "$AGENT"
}

# ---- who may see the frames of others

rings() { # rings I: for each program with an endpoint on host I's interface: filtered or open
    netlab_run "$1" ss -H -0 -b -p |
        awk '/^p_raw/ { if (ring) print state; ring = /:eth0/ && !/"omxd"/; state = "open" }
             /bpf filter/ { state = "filtered" }
             END { if (ring) print state }' | sort | xargs
}

rings_become() { # rings_become I WORDS
    local try
    for ((try = 0; try < 250; try++)); do
        [ "$(rings "$1")" = "$2" ] && return
        sleep 0.02 # tidy-allow(sleep): polls the kernel's list of sockets, at most 5 s
    done
    echo "\"$(rings "$1")\" instead of \"$2\""
    return 1
}

filters() {
    local first second
    start_agent 1 --boards eth0:N=1500 --group daemon
    netlab_bg 1 "$NETLAB_TMP/first" "$tools/omx_perf" -y
    first=$NETLAB_PID
    expect "the only endpoint of a board, of the agent's user, has no filter" 0 '' rings_become 1 open
    netlab_bg 1 "$NETLAB_TMP/second" "$tools/omx_perf" -y -e 1
    second=$NETLAB_PID
    expect "of two, each has one" 0 '' rings_become 1 "filtered filtered"
    netlab_stop "$second"
    expect "the one that is left has none again" 0 '' rings_become 1 open
    netlab_stop "$first"
    netlab_bg 1 "$NETLAB_TMP/first" setpriv --reuid 65534 --regid 65534 \
        --groups "$(getent group daemon | cut -d: -f3)" "$tools/omx_perf" -y
    first=$NETLAB_PID
    expect "another user keeps it" 0 '' rings_become 1 filtered
    netlab_stop "$first"
    netlab_stop "$AGENT"
}

# ---- interfaces and agents that go while messages travel

traffic() { # traffic OPTION...: a server on host 2, a client on host 1; CLIENT and its output in $NETLAB_TMP/client
    host 1 "$tools/omx_counters" -c
    netlab_bg 2 "$NETLAB_TMP/perf" env EMX_BOARDS=eth0:N=1500 timeout 60 "$tools/omx_perf" -y
    SERVER=$NETLAB_PID
    netlab_bg 1 "$NETLAB_TMP/client" env EMX_BOARDS=eth0:N=1500 timeout 60 "$tools/omx_perf" -d "$(netlab_mac 2)" -y -S 64 -E 65 -v "$@"
    CLIENT=$NETLAB_PID
    until host 1 "$tools/omx_counters" 2>/dev/null | grep -q 'small messages sent'; do
        kill -0 "$CLIENT" || break
    done
}

agent_killed() {
    traffic -V -N 100000000 -T 4000
    kill -9 "$FAR"
    wait "$FAR" 2>/dev/null
    start_agent 2 --boards eth0:N=1500
    FAR=$AGENT
    expect "the claim was taken over" 255 'endpoint 0 of board 0 is open in process' host 2 EMX_BOARDS=eth0:N=1500 "$calls" open 0 0
    wait "$CLIENT"
    expect "omxd killed and started again under traffic" 0 'length +64' sh -c "cat '$NETLAB_TMP/client'; exit $?"
    netlab_stop "$SERVER"
}

interface_down() {
    netlab_link 1 down
    expect "omx_info tells that the link is down" 0 'link Down' host 1 "$tools/omx_info"
    expect "nobody is reached" 255 'cannot connect to endpoint 0 of .*: mx_connect: no answer in time' \
        host 1 "$tools/omx_perf" -d "$(netlab_mac 2)" --patience 1
    netlab_link 1 up
    netlab_carrier
    expect "up again" 0 'link Up' host 1 "$tools/omx_info"
}

interface_vanishes() {
    local far status
    far=$(netlab_mac 2 | tr -d :)
    netlab_bg 2 "$NETLAB_TMP/server" env EMX_BOARDS=eth0:N=1500 "$calls" serve 0 3
    local serving=$NETLAB_PID sender
    wait_for "$NETLAB_TMP/server" ready
    netlab_bg 1 "$NETLAB_TMP/sender" env EMX_BOARDS=eth0:N=1500 timeout 60 "$calls" send "$far" 3
    sender=$NETLAB_PID
    wait_for "$NETLAB_TMP/sender" sending
    traffic -N 100000000
    ip -n "${NETLAB_NS[1]}" link del eth0
    wait "$CLIENT"
    expect "the interface vanishes under omx_perf" 255 'omx_perf: .*(gone|failed)' sh -c "cat '$NETLAB_TMP/client'; exit $?"
    wait "$sender"
    status=$?
    expect "and under a program" 255 'send failed: the remote endpoint does not answer' sh -c "cat '$NETLAB_TMP/sender'; exit $status"
    expect "whose endpoint then says what to do" 255 'the interface of this endpoint is gone, .*: close the endpoint and open it again' \
        sh -c "cat '$NETLAB_TMP/sender'; exit $status"
    expect "opening it meanwhile" 255 'interface eth0 vanished: make it again, and its board can be opened again' \
        host 1 "$calls" open 0 5
    expect "omx_info meanwhile" 0 'link Gone' host 1 "$tools/omx_info"
    netlab_stop "$SERVER"
    netlab_make_pair 1500 && netlab_carrier
    wait_for "$NETLAB_TMP/omxd1" 'eth0 is up'
    expect "after its return it opens" 0 '^opened$' host 1 "$calls" open 0 5
    traffic -V -N 1000
    wait "$CLIENT"
    expect "and messages pass" 0 'length +64' sh -c "cat '$NETLAB_TMP/client'; exit $?"
    expect "a program that missed it is refused" 255 'nobody has that endpoint open' \
        host 1 EMX_BOARDS=eth0:N=1500 "$calls" connect "$far" 3 0x12345 5000
    netlab_stop "$SERVER"
    netlab_stop "$serving"
}

# shellcheck disable=SC2034 # read by netlab_make
NETLAB_NAMES="node1 node2" NETLAB_WATCH=$plain/tests/watch/wirewatch NETLAB_DIALECTS=N=1500
netlab_make 2 1500 || exit 1
bad_boards
bad_commands
rights
filters
bad_variables
loose_variables
start_agent 1 --boards eth0:N=1500
start_agent 2 --boards eth0:N=1500
FAR=$AGENT
interface_down
agent_killed
interface_vanishes
bad_numbers
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" = 0 ]

#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# Users of one host who do not trust each other: the rules of docs/SECURITY.md that need several users.
cd "$(dirname "$0")/../.." || exit 1
. tests/support/netlab.sh
netlab_begin "$PWD/tests/netns/trust.sh" "$@"
. tests/support/traffic.sh
stranger=65534 public=$NETLAB_TMP/public caught=$NETLAB_TMP/public/caught open=("$plain/tests/netns/calls_alone" open 0 0)

# as UID NAME=VALUE... COMMAND...: on host 1 as that user, in no group, with no agent named
as() {
    local who=$1
    shift
    timeout $hung ip netns exec "${NETLAB_NS[1]}" setpriv --reuid "$who" --regid "$who" --clear-groups env -u EMX_OMXD "$@"
}

# configured LINE COMMAND...: on host 1, where the configuration file has this line only
configured() {
    printf '%s\n' "$1" >"$NETLAB_TMP/conf"
    shift
    # shellcheck disable=SC2016 # of the inner shell
    netlab_in 1 timeout "$hung" unshare -m sh -c '
        cp /etc/group /etc/passwd "$0" && mount -t tmpfs tmpfs /etc && cp "$0/group" "$0/passwd" /etc && mkdir /etc/ethermx &&
        cp "$0/conf" /etc/ethermx/ethermx.conf && exec "$@"' "$NETLAB_TMP" "$@"
}

# ends_by_itself PID: a killed agent would leave its path
ends_by_itself() {
    kill "$1" && lab_gone "$1"
    netlab_stop "$1"
}

# ---- programs that run with another user's privileges

# A folder in which everybody may write: programs of root, set-user-ID and not, and around them what a stranger planted.
plant() {
    local place
    mkdir -p "$public"/{bin,sbin,tools/omxd,secure,usual} && chmod 711 "$NETLAB_TMP" && chmod 777 "$public" "$public"/*
    install -m 755 "${open[0]}" "$tools/omx_info" "$public/usual"
    install -m 4755 "${open[0]}" "$tools/omx_info" "$public/secure"
    # shellcheck disable=SC2016 # of that program
    printf '#!/bin/sh\necho "$0" run by "$(id -u)" >>%s\n' "$caught" >"$NETLAB_TMP/omxd"
    for place in "$public" "$public"/{bin,sbin,tools/omxd}; do
        install -m 755 -o $stranger "$NETLAB_TMP/omxd" "$place/omxd"
    done
    install -m 644 -o $stranger "$tools/omxd/build-stamp" "$public/tools/omxd"
    mkdir -p "$NETLAB_TMP/like/tools/omxd"
    install -m 755 "${open[0]}" "$NETLAB_TMP/like/tools" && install -m 755 "$NETLAB_TMP/omxd" "$NETLAB_TMP/like/tools/omxd"
}

# ran PATTERN COMMAND...: the command fails, and what was planted has run meanwhile: that, or nothing for ""
ran() {
    local pattern=$1
    shift
    rm -f "$caught"
    refuses '' "$@" || return
    cat "$caught" 2>/dev/null
    if [ -n "$pattern" ]; then grep -qsE -- "$pattern" "$caught"; else [ ! -e "$caught" ]; fi
}

# taken LOW HIGH COMMAND...: of all variables that omx_info -c knows and one more, so many are taken from the caller
taken() {
    local low=$1 high=$2 all rows
    shift 2
    mapfile -t all < <(env -i "$tools/omx_info" -c | awk '{ print $1 "=7" }')
    says '^EMX_BOARDS ' "${@:1:2}" "${all[@]}" EMX_ZEBRA=7 "${@:3}" -c || return
    rows=$(awk 'substr($0, 56, 7) != "default"' "$said" | tee "$NETLAB_TMP/taken" | wc -l)
    cat "$NETLAB_TMP/taken"
    [ "$rows" -ge "$low" ] && [ "$rows" -le "$high" ]
}

traces() { # traces NUMBER COMMAND...: it opens an endpoint and leaves so many files
    local number=$1
    shift
    says '^opened$' "$@" && [ "$(find "$public" -name 'trace*' -print -delete | tee "$said" | wc -l)" = "$number" ]
}

privileged_programs() {
    local usual=("$public/usual/calls_alone" open 0 0) secure=("$public/secure/calls_alone" open 0 0)
    plant
    check "EMX_OMXD names the agent of an ordinary program" ran "public/bin/omxd run by $stranger" as $stranger EMX_OMXD="$public/bin/omxd" "${usual[@]}"
    check "EMX_OMXD names no agent of a set-user-ID program" ran '' as $stranger EMX_OMXD="$public/bin/omxd" "${secure[@]}"
    check "a set-user-ID program says where it looks for the agent" refuses 'omxd, the board agent, was not found: install it as /.*/omxd, where alone set-user-ID programs look for it, or start it before' \
        as $stranger "${secure[@]}"
    check "an ordinary program looks along PATH at last" ran "public/bin/omxd run by $stranger" as $stranger PATH="bin:$public/bin:$PATH" "${usual[@]}"
    check "a set-user-ID program never looks along PATH" ran '' as $stranger PATH="$public/bin:$PATH" "${secure[@]}"
    check "an omxd above root's program, in a folder that all may write, does not run" ran '' as 0 "${usual[@]}"
    check "an omxd in a tree without a stamp does not run, though root put it there" ran '' as 0 "$NETLAB_TMP/like/tools/calls_alone" open 0 0
    check "an omxd in such a folder does not run for a set-user-ID program" ran '' as $stranger "${secure[@]}"
    check "an ordinary program takes variables" taken 40 1000 as $stranger "$public/usual/omx_info"
    check "a set-user-ID program takes no variables" taken 0 0 as $stranger "$public/secure/omx_info"
    agent 1 eth0:N=1500
    check "the boards of an ordinary program are checked" refuses 'asks for eth0:N=1400' as 0 EMX_BOARDS=eth0:N=1400 "${usual[@]}"
    check "the boards of a set-user-ID program's caller are not asked for" says '^opened$' as $stranger EMX_BOARDS=eth0:N=1400 "${secure[@]}"
    check "EMX_TRACE writes the trace of an ordinary program" traces 1 as 0 EMX_TRACE="$public/trace" "${usual[@]}"
    check "EMX_TRACE writes nothing in a set-user-ID program" traces 0 as $stranger EMX_TRACE="$public/trace" "${secure[@]}"
    stop_agents 1
    check "a program in the build finds the agent of the build" says '^opened$' as 0 EMX_BOARDS=eth0:N=1500 "${open[@]}"
    stop_agents 1
}

# The agent that a set-user-ID program starts, where it is installed: it has nothing of the program's caller.
installed_agent() {
    local where
    where=$(as $stranger "$public/secure/calls_alone" open 0 0 2>&1 | sed -n 's|.*install it as \(/[^,]*\),.*|\1|p')
    [ -d "${where%/*}" ] || { skip "no folder ${where%/*}" 3; return; }
    # shellcheck disable=SC2016 # of the inner shell
    check "a set-user-ID program starts the agent that is installed" says '^opened$' configured "boards = eth0:N=1500" \
        sh -c 'mount -t tmpfs tmpfs "${0%/*}" && cp "$1" "$0" && shift && exec "$@"' "$where" "$EMX_OMXD" \
        setpriv --reuid $stranger --regid $stranger --clear-groups env -u EMX_OMXD "$public/secure/calls_alone" open 0 0
    local pid
    pid=$(ip netns pids "${NETLAB_NS[1]}" | head -n 1)
    check "the agent that it starts is root's alone" grep -qE '^Uid:\s+0\s+0\s+0\s+0$' "/proc/$pid/status"
    check "the agent that it starts has no environment" [ "$(wc -c <"/proc/$pid/environ")" = 0 ]
    stop_agents 1
}

# ---- who poses as the agent

# squat UID [full]: from now on that user holds the abstract name of the agent on host 1, and answers nothing, or takes no
# connection; SQUATTER
squat() {
    netlab_bg 1 "$NETLAB_TMP/squatter" python3 -uc '
import os, signal, socket, sys
os.setuid(int(sys.argv[1]))
s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
s.bind("\0ethermx-omxd")
s.listen(0 if len(sys.argv) > 2 else 64)
waiting = []
try:
    while len(sys.argv) > 2:
        waiting.append(socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET))
        waiting[-1].setblocking(False)
        waiting[-1].connect("\0ethermx-omxd")
except BlockingIOError:
    pass
print("squats")
signal.pause()' "$@"
    SQUATTER=$NETLAB_PID
    tells "$NETLAB_TMP/squatter" squats "$SQUATTER"
}

squatters() {
    local info=("$tools/omx_info") path other=1234
    squat $stranger
    check "a tool does not believe a stranger that answers" refuses "user $stranger \(process $SQUATTER\) answers in the name of omxd.*: end that process, or have root start omxd \(sudo omxd\)" \
        as 0 "${info[@]}"
    check "a program does not believe a stranger that answers" refuses "user $stranger \(process $SQUATTER\) answers in the name of omxd" as 0 EMX_BOARDS=eth0:N=1500 "${open[@]}"
    check "an ordinary user cannot start an agent beside a stranger" ends 1 "user $stranger \(process $SQUATTER\) holds the name of omxd in this network namespace: end that process, or have root start omxd" \
        as $other "$EMX_OMXD" -f -b eth0:N=1500
    check "root can start an agent beside a stranger" agent 1 eth0:N=1500 --user root
    check "root's agent tells of the stranger" grep -q "user $stranger (process $SQUATTER) holds the name .*: programs come by /run/ethermx/" "$NETLAB_TMP/omxd1"
    check "tools reach root's agent" says 'board #0 name eth0' as 0 "${info[@]}"
    check "programs reach root's agent" says '^opened$' as 0 "${open[@]}"
    check "a network namespace has one agent" ends 1 'another omxd serves this network namespace' as 0 "$EMX_OMXD" -f -b eth0:N=1500
    kill -9 "${AGENTS[1]}"
    wait "${AGENTS[1]}" 2>/dev/null
    check "a new agent takes the path of one that was killed" agent 1 eth0:N=1500 --user root
    check "tools reach the new agent" says 'board #0 name eth0' as 0 "${info[@]}"
    path=$(grep -o '/run/ethermx/.*' "$NETLAB_TMP/omxd1")
    check "only root and the group may connect to its path" [ "$(stat -c '%F %a %u' "$path")" = "socket 600 0" ]
    ends_by_itself "${AGENTS[1]}"
    check "the path goes with the agent" [ ! -e "$path" ]
    netlab_stop "$SQUATTER"
    squat 0
    check "a tool does not wait for a stranger that answers nothing" refuses 'omxd, the board agent, does not answer' as 0 "${info[@]}"
    netlab_stop "$SQUATTER"
    squat $stranger full
    check "a tool does not wait for a stranger that takes no connection" refuses 'omxd, the board agent, does not take connections: .*ss -xlp' as 0 "${info[@]}"
    check "a stranger that takes no connection does not keep root's agent from its path" agent 1 eth0:N=1500
    check "root's agent serves beside that stranger" says '^opened$' as 0 "${open[@]}"
    stop_agents 1
    netlab_stop "$SQUATTER"
}

# The agent of an ordinary user, who has the right to it by a capability.
users_agent() {
    local user=1234 info=("$tools/omx_info")
    netlab_bg 1 "$NETLAB_TMP/theirs" setpriv --reuid $user --regid $user --clear-groups --inh-caps +net_raw --ambient-caps +net_raw \
        "$EMX_OMXD" -f -b eth0:N=1500 -c /nonexistent
    local theirs=$NETLAB_PID
    tells "$NETLAB_TMP/theirs" ' serving ' "$theirs"
    check "a user's own agent serves its user" says '^opened$' as $user "${open[@]}"
    check "a user's own agent serves no other user" refuses "user $user \(process $theirs\) answers in the name of omxd" as $stranger "${open[@]}"
    check "a user's own agent does not serve root" refuses "user $user \(process $theirs\) answers in the name of omxd" as 0 "${info[@]}"
    check "root believes a user's agent if ethermx.conf names that user" says 'board #0 name eth0' configured "user = $user" "${info[@]}"
    check "root does not believe it if ethermx.conf names another user" refuses "user $user .*answers in the name of omxd" configured "user = nobody" "${info[@]}"
    netlab_stop "$theirs"
}

# ---- the agent's own rights

# status PID FIELD VALUE: what /proc says of that process
status() { grep -qE "^$2:\s+$3\s*\$" "/proc/$1/status" || { cat "/proc/$1/status"; return 1; }; }

# An omxd, here "named", for which /etc/passwd has no user ethermx but that of a line, or none.
name_user() {
    grep -v '^ethermx:' /etc/passwd >"$NETLAB_TMP/passwd"
    printf '%s' "$1" >>"$NETLAB_TMP/passwd"
    # shellcheck disable=SC2016 # of that program
    printf '#!/bin/sh\nexec unshare -m sh -c '\''mount --bind %s /etc/passwd && exec %s "$@"'\'' omxd "$@"\n' \
        "$NETLAB_TMP/passwd" "$EMX_OMXD" >"$NETLAB_TMP/named" && chmod 755 "$NETLAB_TMP/named"
}

service_user() {
    local other=1234 user=4711 who pid path folder capabilities='0000000000003000|0000000000002000' confined=2 field
    ldd "$EMX_OMXD" | grep -q libseccomp || confined=0
    name_user "ethermx:x:$user:$user::/:/bin/false
"
    check "root's agent becomes the user ethermx" env_agent "$NETLAB_TMP/named"
    pid=${AGENTS[1]}
    check "root's agent says which user it is" grep -q ' runs as user ethermx with CAP_NET_RAW' "$NETLAB_TMP/omxd1"
    for field in Uid Gid; do check "$field" status "$pid" $field "$user\s+$user\s+$user\s+$user"; done
    check "it is in no group" status "$pid" Groups ''
    for field in Prm Eff Bnd; do check "Cap$field: it keeps CAP_NET_RAW, and CAP_NET_ADMIN at most" status "$pid" Cap$field "$capabilities"; done
    for field in Inh Amb; do check "Cap$field" status "$pid" Cap$field '0+'; done
    check "it gains nothing by execution" status "$pid" NoNewPrivs 1
    check "it executes nothing: its system calls are filtered" status "$pid" Seccomp $confined
    check "nobody of its user looks into it" refuses 'Permission denied' as $user ls "/proc/$pid/fd/"
    check "root finds it" says 'board #0 name eth0' as 0 "$tools/omx_info"
    check "members of the group reach it" says '^opened$' as_member $other "${open[@]}"
    check "strangers reach it, and are told to join the group" refuses 'omxd serves root and members' as $other "${open[@]}"
    check "root administers it" says '' as 0 "$tools/omx_hostname" -n "renamed:0"
    check "its own user does not administer it" refuses 'changed by root and by the user that started omxd' as_member $user "$tools/omx_hostname" -n "planted:0"
    check "it follows an interface that goes down and changes its address" bounce
    server 1
    kill -9 "$pid"
    wait "$pid" 2>/dev/null
    check "an agent that was killed has a successor" env_agent "$NETLAB_TMP/named"
    check "the successor goes on with the board file" until_ok $hung grep -q 'took over the open endpoints of the agent before$' "$NETLAB_TMP/omxd1"
    check "the successor keeps names" says '^renamed:0$' as 0 "$tools/omx_hostname"
    check "the successor keeps claims" says "open by pid $SERVER " as 0 "$tools/omx_endpoint_info"
    path=$(netlab_in 1 ss -Hxl | grep -o "/run/ethermx/[0-9]*") # of this network namespace
    netlab_stop "$SERVER"
    # Root's agents of all network namespaces share the folder: one that starts now would sweep the path.
    exec {folder}</run/ethermx/lock && flock "$folder"
    netlab_stop "${AGENTS[1]}"
    check "the path stays when the agent ends" [ -S "$path" ]
    exec {folder}<&-
    name_user ''
    check "without that user root's agent stays root" env_agent "$NETLAB_TMP/named"
    check "it says that it stays root, and how to make the user" grep -q ' stays root: there is no user ethermx (useradd --system .* makes it)' "$NETLAB_TMP/omxd1"
    check "its system calls are filtered, too" status "${AGENTS[1]}" Seccomp $confined
    check "it takes the path of the agent before" says '^opened$' as 0 "${open[@]}"
    ends_by_itself "${AGENTS[1]}"
    check "the path goes with an agent of root" [ ! -e "$path" ]
    check "omxd refuses a user that does not exist" ends 1 'user zebra does not exist: make it \(useradd .*\) or name another by --user or by run-as in' as 0 "$EMX_OMXD" -f -b eth0:N=1500 -u zebra
    check "omxd refuses a user of the configuration that does not exist" ends 1 'user zebra does not exist' configured 'run-as = zebra' "$EMX_OMXD" -f -b eth0:N=1500
    check "no ordinary user becomes another" ends 1 '--user daemon: only root can become another user' \
        as $other "$EMX_OMXD" -f -b eth0:N=1500 -u daemon
    name_user "ethermx:x:$user:$user::/:/bin/false
"
    # shellcheck disable=SC2016 # of the inner shell
    check "in a user namespace of one uid it stays root" says \
        ' stays root: it cannot become user ethermx: this user namespace does not have that user' timeout $hung unshare -Urn sh -c \
        'ip link set lo up && ip link add eth0 type veth && ip link set eth0 up && exec "$0" -f -c /none -b eth0:N=1400 -l 0' "$NETLAB_TMP/named"
}
env_agent() { EMX_OMXD=$1 GROUP=daemon agent 1 eth0:N=1500; }
bounce() {
    netlab_in 1 ip link set eth0 down && netlab_in 1 ip link set eth0 address 02:00:00:00:00:77 &&
        until_ok $hung says '02:00:00:00:00:77' as 0 "$tools/omx_info" && netlab_in 1 ip link set eth0 address "$(netlab_mac 1)" &&
        netlab_in 1 ip link set eth0 up && until_ok $hung says "$(netlab_mac 1)" as 0 "$tools/omx_info"
}

# ---- floods

# flood UID: from now on that user connects to the abstract name on host 1, again and again; FLOODS
flood() {
    netlab_bg 1 "$NETLAB_TMP/flood" python3 -uc '
import os, socket, sys
os.setuid(int(sys.argv[1]))
print("floods")
while True:
    s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    s.connect("\0ethermx-omxd")
    s.close()' "$1"
    FLOODS+=("$NETLAB_PID")
    tells "$NETLAB_TMP/flood" floods "$NETLAB_PID"
}

# asleep PID: ten looks in a row find that it waits for something
asleep() {
    local i
    for i in 1 2 3 4 5 6 7 8 9 10; do
        grep -q '^State:.S' "/proc/$1/status" || return
    done
}

as_member() { # as_member UID COMMAND...
    local who=$1
    shift
    timeout $hung ip netns exec "${NETLAB_NS[1]}" setpriv --reuid "$who" --regid "$who" --groups "$(getent group daemon | cut -d: -f3)" "$@"
}

# connections UID NUMBER: that member of the group, or root, has so many of them on host 1, as far as the agent likes it; MEMBER
connections() {
    netlab_bg 1 "$NETLAB_TMP/connections" setpriv --reuid "$1" --regid "$1" --groups "$(getent group daemon | cut -d: -f3)" \
        "$plain/tests/netns/member" connect "$2"
    MEMBER=$NETLAB_PID
    tells "$NETLAB_TMP/connections" '^served' "$MEMBER"
}

limited_agent() { # limited_agent DESCRIPTORS: on host 1, for the group daemon
    local program=$EMX_OMXD
    # shellcheck disable=SC2016 # of that program
    printf '#!/bin/sh\nulimit -n %s\nexec %s "$@"\n' "$1" "$program" >"$NETLAB_TMP/limited" && chmod 755 "$NETLAB_TMP/limited"
    EMX_OMXD=$NETLAB_TMP/limited GROUP=daemon agent 1 eth0:N=1500
}

floods() {
    local i other=1234
    FLOODS=()
    GROUP=daemon agent 1 eth0:N=1500
    for i in 1 2 3; do flood $stranger; done
    for i in 1 2 3; do check "root is served beside a flood of strangers, $i" says '^opened$' as 0 "${open[@]}"; done
    check "members of the group are served beside a flood" says '^opened$' as_member $other "${open[@]}"
    check "strangers are told why they are not served" refuses 'omxd serves root and members of the group daemon: join it' as $other "${open[@]}"
    for i in "${FLOODS[@]}"; do netlab_stop "$i"; done
    check "the agent sleeps after the flood" until_ok $hung asleep "${AGENTS[1]}"

    limited_agent 256
    check "a member of the group asks for too many connections" connections $stranger 100
    check "that member is told of its limit" grep -qE "^served 32, refused 68: user $stranger has as many connections to omxd as one user may" "$NETLAB_TMP/connections"
    check "other members still get connections" says '^opened$' as_member $other "${open[@]}"
    netlab_stop "$MEMBER"

    limited_agent 64
    check "root's programs take all descriptors" connections 0 100
    check "the agent says that it has no descriptors left" grep -qE '^served [1-9][0-9]*, refused [0-9]+: omxd has no descriptors left \(its limit is 64\): end programs, or start it with' "$NETLAB_TMP/connections"
    check "programs hear that the agent has no descriptors left" refuses 'omxd has no descriptors left \(its limit is 64\)' as 0 "${open[@]}"
    check "the agent without descriptors sleeps" until_ok $hung asleep "${AGENTS[1]}"
    netlab_in 1 ip link set eth0 down
    netlab_in 1 ip link set eth0 up
    netlab_stop "$MEMBER"
    check "the agent serves again when descriptors are free" until_ok $hung says '^opened$' as 0 "${open[@]}"
    check "it has the same board as before" says 'board #0 name eth0' as 0 "$tools/omx_info"
    check "it never took the interface for gone" refuses '' grep 'eth0 is gone' "$NETLAB_TMP/omxd1"
    stop_agents
}

# A member of the group writes into all that the agent and its clients let it write, beside the traffic of another user.
members() {
    local writes=100000 group member
    group=$(getent group daemon | cut -d: -f3)
    [ -z "${EMX_FULL:-}" ] || writes=1000000
    GROUP=daemon agent 1 eth0:N=1500 --user daemon
    agent 2 eth0:N=1500
    netlab_bg 1 "$NETLAB_TMP/member" setpriv --reuid $stranger --regid $stranger --groups "$group" "$plain/tests/netns/member" $writes
    member=$NETLAB_PID
    check "messages of another user" messages 1 2 -S 1 -E 100000 -N 100 -v
    check "a hostile member of the group writes wherever it may" tells "$NETLAB_TMP/member" "^$writes writes" "$member"
    cat "$NETLAB_TMP/member"
    wait "$member"
    check "a hostile member gets nothing that others have" [ $? = 0 ]
    check "the agent lives" kill -0 "${AGENTS[1]}"
    check "the agent serves" says '^opened$' as 0 "${open[@]}"
    check "messages pass after the hostile member" messages 1 2 -S 1 -E 100000 -N 100 -v
    stop_agents
}

# ---- names that forge

# plain_text WORDS COMMAND...: it prints these words (none for ""), whatever its status, and else printable ASCII alone, on lines that
# nobody forges
plain_text() {
    local words=$1
    shift
    "$@" >"$said" 2>&1
    cat -v "$said"
    ! LC_ALL=C grep -qP '[^\t\x20-\x7e]' "$said" && ! grep -q '^forged' "$said" && grep -qF -- "$words" "$said"
}

# odd_host NAME: an omxd, here "renamed", of a host with that name
odd_host() {
    # shellcheck disable=SC2016 # of that program
    printf '#!/bin/sh\nexec python3 -c '\''import os, socket, sys
socket.sethostname(os.fsencode(sys.argv[1]))
os.execv(sys.argv[2], ["omxd"] + sys.argv[3:])'\'' '\''%s'\'' %s "$@"\n' "$1" "$EMX_OMXD" >"$NETLAB_TMP/renamed" && chmod 755 "$NETLAB_TMP/renamed"
}

# From now on a stack on host 2 answers queries for its name with one that our hosts would not tell, though they take it; ANOTHER
another_stack() {
    netlab_bg 2 "$NETLAB_TMP/another" python3 -uc '
import socket
s = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(0x86df))
s.bind(("eth0", 0x86df))
own, name = s.getsockname()[4], b"n\x9b31m\x85:0\0"
print("answers")
while True:
    q = s.recv(2048)
    if q[:6] == own and q[16] == 3:
        s.send((q[6:12] + own + q[12:14] + q[18:20] + bytes([4, len(name), 0, 0]) + bytes(4) + q[24:28] + bytes(4) + name).ljust(60, b"\0"))'
    ANOTHER=$NETLAB_PID
    tells "$NETLAB_TMP/another" answers "$ANOTHER"
}

# Names with control characters, of hosts, an interface and a process: all that shows names shows them without.
forgers() {
    local odd=$'e\e[3m\x7f\x9b' shown='e\x1b[3m\x7f\x9b' holder=$'x\e[3m\x9b\nforged' command='x\x1b[3m\x9b\x0aforged'
    local name='n\x9b31m\x85:0' trace=$NETLAB_TMP/forged tool
    install -m 755 "${open[0]}" "$NETLAB_TMP/$holder" && mkdir -p "$NETLAB_TMP/mx" "$trace"
    for tool in info endpoint_info counters; do ln -sf "$tools/omx_$tool" "$NETLAB_TMP/mx/mx_$tool"; done
    netlab_in 1 ip link add "$odd" type veth && netlab_in 1 ip link set "$odd" up
    odd_host $'h\e[3m\x7f\nforged'
    EMX_OMXD=$NETLAB_TMP/renamed agent 1 "eth0:N=1500,$odd:N=1400"
    netlab_bg 1 "$NETLAB_TMP/holder" env EMX_TRACE="$trace/t" EMX_VERBOSE=1 "$NETLAB_TMP/$holder" serve 0 3
    holder=$NETLAB_PID
    check "a process with control characters in its name has an endpoint" tells "$NETLAB_TMP/holder" ready "$holder"
    another_stack
    tool 1 omx_init_peers "$(netlab_mac 2)" node2:0
    tool 1 omx_hostname -c
    check "another host's board tells its name" until_ok $hung says "$(netlab_mac 2) n[^o]" as 0 "$tools/omx_info"
    check "omx_info shows that name without control characters" plain_text "$(netlab_mac 2) $name" as 0 "$tools/omx_info"
    check "the name of this host shows without control characters" plain_text '/h_[3m__forged:0' as 0 sh -c "echo /\$('$tools/omx_hostname')"
    check "the name of the interface shows without control characters" plain_text "name $shown addr" as 0 "$tools/omx_info" -q
    check "the name of the process shows without control characters" plain_text "open by pid $holder ($command)" as 0 "$tools/omx_endpoint_info"
    check "the process itself prints no control characters" plain_text ready cat "$NETLAB_TMP/holder"
    for tool in "omx_info -v" "omx_endpoint_info -v" "omx_endpoint_info -a" omx_hostname "omx_hostname -v" omx_counters "omx_counters -b 1" \
        "omx_check $(netlab_mac 2)" "omx_check -b 1 $(netlab_mac 2)"; do
        # shellcheck disable=SC2086 # words
        check "$tool" plain_text '' as 0 "$tools/"$tool
    done
    for tool in info endpoint_info counters; do check "mx_$tool" plain_text '' as 0 "$NETLAB_TMP/mx/mx_$tool"; done
    check "a refused program names the holder without control characters" plain_text "is open in process $holder ($command)" as 0 "${open[@]:0:2}" 0 3
    check "a program with other boards names the interface without control characters" plain_text "$shown" as 0 EMX_BOARDS="$odd:N=1500" "${open[@]}"
    check "omx_info -c shows tunables without control characters" plain_text "$shown" as 0 EMX_BOARDS="$odd:N=1500" "$tools/omx_info" -c
    check "a failing tool prints no control characters" plain_text "$shown" as 0 "$tools/omx_hostname" "$odd"
    check "a failing agent prints no control characters" plain_text "$shown" netlab_in 2 "$EMX_OMXD" -f -b "$odd:Z"
    check "omx_perf prints no control characters" plain_text "$shown" as 0 "$tools/omx_perf" -d "$odd" -P 0
    netlab_stop "$holder"
    netlab_stop "$ANOTHER"
    for tool in text csv json; do check "omx_trace, $tool" plain_text '' "$tools/omx_trace" -F $tool "$trace"/*; done
    check "omx_trace shows the process without control characters" plain_text "$command" "$tools/omx_trace" "$trace"/*
    netlab_in 1 ip link del "$odd"
    check "the agent's log tells of the interface" until_ok $hung grep -q 'gone$' "$NETLAB_TMP/omxd1"
    check "the agent's log tells of the process" plain_text "process $holder ($command)" cat "$NETLAB_TMP/omxd1"
    stop_agents
}

# Programs in a user namespace see root of the host as the user who stands for all whom their namespace does not have.
user_namespaces() {
    local map
    agent 1 eth0:N=1500
    for map in -Ur -U; do
        check "unshare $map: the host's root is nobody" refuses 'a user whom this user namespace does not have .*answers in the name of omxd' \
            as $stranger unshare $map "${open[@]}"
        check "unshare $map: unless nobody is named" refuses 'omxd serves root and members of the group' \
            configured "user = 65534" setpriv --reuid $stranger --regid $stranger --clear-groups unshare $map "${open[@]}"
    done
    stop_agents 1
}

# shellcheck disable=SC2034 # read by netlab_make
NETLAB_NAMES="node1 node2" NETLAB_DIALECTS=N=1500
netlab_make 2 1500 || exit 1
if [ -n "${NETLAB_USERNS:-}" ]; then
    skip "other users need root"
else
    privileged_programs
    installed_agent
    squatters
    users_agent
    service_user
    floods
    members
    user_namespaces
    netlab_unwatch # another stack is not judged, nor what is asked of it
    forgers
fi
finish

# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# shellcheck shell=bash
# Hosts made of network namespaces, for tests and benchmarks. Source it from bash.
#
#   two hosts                     more hosts
#   +-------+        +-------+    +-------+   +-------+   +-------+
#   | host 1|        | host 2|    | host 1|   | host 2|   | host 3|
#   | eth0  |--veth--| eth0  |    | eth0  |   | eth0  |   | eth0  |
#   +-------+        +-------+    +---+---+   +---+---+   +---+---+
#                                     +------ bridge -----+     (a namespace of its own)
#
#   netlab_begin                       becomes root in a user namespace for an ordinary user
#   netlab_allowed                     or says why that cannot be, and what to do
#   netlab_make N [MTU]                N hosts (1 to 200), default MTU 9000
#   netlab_in I COMMAND...             runs COMMAND in host I, under its own host name
#   netlab_run I COMMAND...            the same without input; a signal to the script ends it at once
#   netlab_attach I COMMAND...         the same with the script's input, for people at a terminal
#   netlab_bg I LOG COMMAND...         the same in the background; its process id in NETLAB_PID
#   netlab_stop PID                    ends a process of netlab_bg (TERM, after 2 s KILL), reaps it
#   netlab_offloads on|off             TCP offloads of all hosts
#   netlab_link I up|down              interface of host I
#   netlab_mtu MTU                     of every interface
#   netlab_loss I PERMILLE [DIRECTION] random loss of MXoE frames (ingress, the default, or egress)
#   netlab_loss_longer I BYTES [DIRECTION]  from now on only frames longer than that
#   netlab_loss_off I
#   netlab_names                       makes host names resolve inside the hosts
#   netlab_boards DIALECT BUILD        eth0 of every host is a board, and all know all names: of the engine, by
#                                      what is in the environment then; with EMX_DEVICE=kernel, of the module
#   netlab_end                         removes everything, background jobs too; runs by itself on exit
#                                      and on signals. Fails, and so does the script, if a host has sent what it
#                                      must not
#
# Host I: namespace ${NETLAB_NS[I]}, host name ${NETLAB_NAME[I]}, MAC $(netlab_mac I), IPv4
# address $(netlab_ip I)/16 on eth0. Every run has a prefix of its own, so runs do not meet.
# NETLAB_NAMES="a b c" before netlab_make sets the host names; they default to the namespaces'.
# NETLAB_WATCH=PROGRAM before netlab_make has that program, tests/watch/wirewatch of a build, judge every frame that
# hosts send; EMX_WATCH=PROGRAM in the environment does so to scripts that do not set it. With
# NETLAB_DIALECTS="W N=9000" those are the dialects of their boards, and NETLAB_WATCH_OPTIONS are further options of it,
# as "--not 02:00:00:00:00:01" for a sender that does wrong on purpose.

PATH=$PATH:/usr/sbin:/sbin # an ordinary user's lacks ethtool and others
NETLAB_DIR=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=tests/support/check.sh
. "$NETLAB_DIR/check.sh"
# shellcheck source=tests/support/lab.sh
. "$NETLAB_DIR/lab.sh"
NETLAB_PREFIX="emx$$"
NETLAB_NS=()
NETLAB_NAME=()
NETLAB_SWITCH=
NETLAB_TMP=
NETLAB_WATCH=${EMX_WATCH:-}
NETLAB_WATCHERS=() # their processes
NETLAB_FORBIDDEN=

netlab_fail() {
    echo "netlab: $*" >&2
    return 1
}

netlab_allowed() {
    [ "$(id -u)" = 0 ] || unshare -Urnm true 2>/dev/null && return
    netlab_fail "this kernel lets no ordinary user make network namespaces; run as root," \
                "or allow user namespaces (sysctl user.max_user_namespaces, kernel.apparmor_restrict_unprivileged_userns)"
}

# Also before netlab_begin, for a script that starts background jobs earlier.
netlab_traps() {
    trap 'netlab_end || exit $?' EXIT # in a trap "exit" alone is that of before
    trap 'exit 130' INT
    trap 'exit 143' TERM HUP
}

# Call first, with the script's own arguments: netlab_begin "$0" "$@". An ordinary user is run
# again as root of a user namespace, where networks can be made but no eBPF program loaded. It stays
# the same process, so that signals to it reach the traps.
netlab_begin() {
    netlab_allowed || exit 1
    [ "$(id -u)" = 0 ] || NETLAB_USERNS=1 exec unshare -Urnm bash "$@"
    if [ -n "${NETLAB_USERNS:-}" ]; then # the real /run is not ours to write to
        mount -t tmpfs tmpfs /run || netlab_fail "cannot mount a private /run"
    fi
    netlab_traps
    NETLAB_TMP=$(mktemp -d "${TMPDIR:-/tmp}/emx-netlab.XXXXXX")
    check_dir "$NETLAB_TMP"
}

netlab_mac() {
    printf '02:45:4d:58:%02x:%02x' $(($1 / 256)) $(($1 % 256))
}

netlab_ip() {
    printf '10.77.%d.%d' $(($1 / 250)) $(($1 % 250 + 1))
}

netlab_make() {
    local n=$1 mtu=${2:-9000} i names
    read -r -a names <<<"${NETLAB_NAMES:-}"
    [ -n "$NETLAB_TMP" ] || netlab_fail "call netlab_begin first" || return
    for ((i = 1; i <= n; i++)); do
        NETLAB_NS[i]=${NETLAB_PREFIX}h$i
        NETLAB_NAME[i]=${names[i - 1]:-${NETLAB_NS[i]}}
        lab_host "${NETLAB_NS[i]}" || return
    done
    netlab_watch && netlab_join "$mtu" || return
    for ((i = 1; i <= n; i++)); do
        netlab_neighbours "$i" || return
    done
    netlab_carrier
}

# The links; with two hosts again after one was deleted.
netlab_join() {
    local mtu=$1 i
    if [ ${#NETLAB_NS[@]} = 2 ]; then
        lab_pair "$mtu" "${NETLAB_NS[1]}" eth0 "$(netlab_mac 1)" "${NETLAB_NS[2]}" eth0 "$(netlab_mac 2)" || return
    else
        NETLAB_SWITCH=${NETLAB_PREFIX}sw
        lab_switch "$NETLAB_SWITCH" "$mtu" || return
        for i in "${!NETLAB_NS[@]}"; do
            lab_port "$NETLAB_SWITCH" "p$i" "$mtu" "${NETLAB_NS[i]}" eth0 "$(netlab_mac "$i")" || return
        done
    fi
    for i in "${!NETLAB_NS[@]}"; do
        ip -n "${NETLAB_NS[i]}" addr add "$(netlab_ip "$i")/16" dev eth0 || return
    done
}

# Fixed neighbour entries: ARP would show up as a slow first TCP packet.
netlab_neighbours() {
    local j
    for j in "${!NETLAB_NS[@]}"; do
        [ "$j" = "$1" ] || echo "neigh replace $(netlab_ip "$j") lladdr $(netlab_mac "$j") dev eth0 nud permanent"
    done | ip -n "${NETLAB_NS[$1]}" -batch -
}

netlab_carrier() {
    local i
    for i in "${!NETLAB_NS[@]}"; do
        lab_carrier "${NETLAB_NS[i]}" eth0 || return
    done
}

# Judges what the hosts send from now on.
netlab_watch() {
    local ns word report=$NETLAB_TMP/watch${#NETLAB_WATCHERS[@]} arguments=()
    [ -n "$NETLAB_WATCH" ] || return 0
    for word in ${NETLAB_DIALECTS:-}; do
        arguments+=(--dialect "$word")
    done
    for ns in "${NETLAB_NS[@]}"; do
        arguments+=("/run/netns/$ns")
    done
    # shellcheck disable=SC2086 # words
    lab_watch "$NETLAB_WATCH" "$report" ${NETLAB_WATCH_OPTIONS:-} "${arguments[@]}" && NETLAB_WATCHERS+=("$report")
}

# Ends that, once all that was sent is judged; what comes then is not.
netlab_unwatch() {
    local report
    for report in "${NETLAB_WATCHERS[@]}"; do
        lab_unwatch "$report" >"$report.verdict" || { NETLAB_FORBIDDEN=1 && echo "FAILED: what the hosts have sent"; }
        cat "$report.verdict"
    done
    NETLAB_WATCHERS=()
}

# The words that make a command run in host I: NETLAB_IN. The shell inside replaces itself, so the process id
# seen outside is the command's.
netlab_into() {
    # shellcheck disable=SC2016 # $0 and $@ belong to the inner shell; the mount is seen in there only
    NETLAB_IN=(ip netns exec "${NETLAB_NS[$1]}" unshare --uts sh -c \
               'hostname "$0" && { [ -z "${NETLAB_HOSTS:-}" ] || mount --bind "$NETLAB_HOSTS" /etc/hosts; } && exec "$@"' \
               "${NETLAB_NAME[$1]}")
}

# NETLAB_HOSTS is in the form of /etc/hosts; the last name of a line is the namespace, for on_host.
netlab_names() {
    local i
    export NETLAB_HOSTS=$NETLAB_TMP/hosts
    echo "127.0.0.1 localhost" >"$NETLAB_HOSTS" || return
    for i in "${!NETLAB_NS[@]}"; do
        echo "$(netlab_ip "$i") ${NETLAB_NAME[i]} ${NETLAB_NS[i]}" >>"$NETLAB_HOSTS" || return
    done
}

netlab_boards() {
    local i tools=$2/tools
    export EMX_PEERS=$NETLAB_TMP/peers
    : >"$EMX_PEERS" || return
    for i in "${!NETLAB_NS[@]}"; do
        echo "$(netlab_mac "$i") ${NETLAB_NAME[i]}:0" >>"$EMX_PEERS" || return
    done
    if [ "${EMX_DEVICE:-}" != kernel ]; then
        export EMX_BOARDS=eth0:$1 EMX_OMXD=$tools/omxd/omxd
        return
    fi
    for i in "${!NETLAB_NS[@]}"; do
        netlab_in "$i" "$tools/omx_attach" "eth0:$1" && netlab_in "$i" "$tools/omx_init_peers" "$EMX_PEERS" || return
    done
}

netlab_in() {
    netlab_into "$1"
    shift
    "${NETLAB_IN[@]}" "$@"
}

# A shell runs its traps while it waits for a job, but not while a command in the foreground runs.
netlab_run() {
    netlab_into "$1"
    shift
    "${NETLAB_IN[@]}" "$@" </dev/null &
    wait $!
}

# A command in the background of a script ignores Ctrl-C, unless told otherwise.
netlab_attach() {
    netlab_into "$1"
    shift
    env --default-signal=INT,QUIT "${NETLAB_IN[@]}" "$@" <&0 &
    wait $!
}

netlab_bg() {
    local log=$2
    netlab_into "$1"
    shift 2
    : >"$log" || return # the child opens it later; who looks before must not find what another said
    "${NETLAB_IN[@]}" "$@" >>"$log" 2>&1 </dev/null &
    # shellcheck disable=SC2034 # for the caller
    NETLAB_PID=$!
}

netlab_stop() {
    kill "$1" 2>/dev/null
    until_ok 2 lab_ended "$1" >/dev/null || kill -9 "$1" 2>/dev/null
    wait "$1" 2>/dev/null
    return 0
}

netlab_offloads() {
    local i
    for i in "${!NETLAB_NS[@]}"; do
        ip netns exec "${NETLAB_NS[i]}" ethtool -K eth0 tso "$1" gso "$1" gro "$1" >/dev/null || return
    done
}

netlab_link() {
    ip -n "${NETLAB_NS[$1]}" link set eth0 "$2"
}

netlab_mtu() {
    local i
    for i in "${!NETLAB_NS[@]}"; do
        ip -n "${NETLAB_NS[i]}" link set eth0 mtu "$1" || return
    done
    [ -z "$NETLAB_SWITCH" ] && return
    for i in "${!NETLAB_NS[@]}"; do
        ip -n "$NETLAB_SWITCH" link set "p$i" mtu "$1" || return
    done
    ip -n "$NETLAB_SWITCH" link set br0 mtu "$1"
}

netlab_build_drop() {
    [ -f "$NETLAB_TMP/drop.o" ] && return
    clang -O2 -g -Wall -Werror -target bpf -I"/usr/include/$(uname -m)-linux-gnu" \
        -c "$NETLAB_DIR/drop.bpf.c" -o "$NETLAB_TMP/drop.o"
}

# The rate lives in the program's map and may be changed while it runs; the map is found through
# the program, since a namespace of ip netns does not see the file system of pinned objects.
netlab_loss() {
    local i=$1 rate=$2 direction=${3:-ingress} ns=${NETLAB_NS[$1]} map
    [ "$rate" -ge 0 ] && [ "$rate" -le 1000 ] || netlab_fail "loss is 0 to 1000 per mille, not $rate" || return
    if ! tc -n "$ns" filter show dev eth0 "$direction" 2>/dev/null | grep -q drop.o; then
        netlab_build_drop || return
        tc -n "$ns" qdisc replace dev eth0 clsact || return
        tc -n "$ns" filter add dev eth0 "$direction" bpf da obj "$NETLAB_TMP/drop.o" sec tc || return
    fi
    map=$(netlab_loss_map "$i" "$direction") || return
    bpftool map update id "$map" key 0 0 0 0 value $((rate % 256)) $((rate / 256)) 0 0 0 0 0 0
}

netlab_loss_longer() {
    local map
    map=$(netlab_loss_map "$1" "${3:-ingress}") || return
    bpftool map update id "$map" key 2 0 0 0 value $(($2 % 256)) $(($2 / 256)) 0 0 0 0 0 0
}

netlab_loss_map() {
    local prog map
    prog=$(tc -n "${NETLAB_NS[$1]}" filter show dev eth0 "$2" | sed -n 's/.* id \([0-9]*\).*/\1/p' | head -n 1)
    map=$(bpftool prog show id "${prog:-0}" 2>/dev/null | sed -n 's/.*map_ids \([0-9]*\).*/\1/p' | head -n 1)
    [ -n "$map" ] && echo "$map" || netlab_fail "host $1 has no loss program at its $2"
}

# Frames that the program of host I has dropped so far.
netlab_lost() {
    local map
    map=$(netlab_loss_map "$1" "${2:-ingress}") || return
    bpftool -j map lookup id "$map" key 1 0 0 0 | python3 -c '
import json, sys
print(int.from_bytes(bytes(int(b, 16) for b in json.load(sys.stdin)["value"]), "little"))'
}

netlab_loss_off() {
    tc -n "${NETLAB_NS[$1]}" qdisc del dev eth0 clsact
}

netlab_end() {
    local status=$?
    trap '' INT TERM HUP
    netlab_remove 2>/dev/null # or the shell would report each process that is killed
    [ -n "$NETLAB_TMP" ] && rm -rf "$NETLAB_TMP"
    NETLAB_TMP=''
    trap - EXIT INT TERM HUP
    [ -z "$NETLAB_FORBIDDEN" ] || [ $status != 0 ] || status=1
    return $status
}

netlab_remove() {
    local pid
    for pid in $(jobs -rp); do
        kill "$pid"
    done
    # Whatever still lives in our namespaces (a lingering board agent) came from this run.
    lab_remove "${NETLAB_NS[@]}" $NETLAB_SWITCH
    netlab_unwatch
    wait
    NETLAB_NS=() NETLAB_NAME=() NETLAB_SWITCH=''
}

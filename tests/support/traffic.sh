# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# shellcheck shell=bash
# For suites over netlab.sh, sourced behind netlab_begin in the top folder: the build, agents of boards, and messages.
#
#   tool HOST NAME ARGUMENT...      one of our tools there
#   agent HOST BOARDS OPTION...     omxd instead of that before; its process id is AGENTS[HOST]
#   agents BOARDS...                host I serves the I-th, which may have options of omxd behind it; none for "-"
#   stop_agents [HOST...]           those and those that programs have started, of all hosts or of these
#   messages FROM TO OPTION...      a server of omx_perf there, and a client here with these options, whose status counts
#   server HOST OPTION...           the former alone, once its endpoint is open; its process id is SERVER
#   tells FILE PATTERN PID          waits until that process has written so; false if it ends without
#   shown HOST                      its table of peers, lines "ADDRESS NAME"
#   counter HOST LABEL              since the last time that counters were cleared
#   some HOST LABEL [NUMBER]        true if that counter is more than the number (0)
#   none HOST LABEL                 true if it is none
#   during ADDRESS COMMAND...       that, while checked messages of TRAFFIC go from host 1 to the board of host 2 with that
#                                   address, and back: they move before and after, and stop when we say so (their
#                                   process id is CLIENT; the counter MOVED of host 1 tells that they move)
#   begin_traffic ADDRESS, end_traffic     the two ends of that alone
# shellcheck disable=SC2034 # read by netlab.sh and the suites
plain=${EMX_BUILD:-$PWD/build}/plain
tools=$plain/tools NETLAB_WATCH=$plain/tests/watch/wirewatch AGENTS=() SERVER=''
export EMX_OMXD=$tools/omxd/omxd
hung=200 # seconds that nothing takes which works
waits='waiting for a client' # says a server of omx_perf once its endpoint is open

tool() {
    local host=$1 name=$2
    shift 2
    netlab_in "$host" "$tools/$name" "$@"
}

heard_or_ended() { grep -qsE -- "$2" "$1" || lab_ended "$3"; }
tells() {
    until_ok $hung heard_or_ended "$@" && grep -qE -- "$2" "$1" && return
    cat "$1"
    return 1
}

stop_agents() {
    local host pid
    [ $# -gt 0 ] || set -- "${!NETLAB_NS[@]}"
    for host in "$@"; do
        for pid in $(ip netns pids "${NETLAB_NS[host]}"); do
            [ "$(cat "/proc/$pid/comm" 2>/dev/null)" != omxd ] || { kill "$pid" && lab_gone "$pid"; }
        done
    done
}

agent() {
    local host=$1 boards=$2 log=$NETLAB_TMP/omxd$1
    shift 2
    stop_agents "$host"
    netlab_bg "$host" "$log" env -u EMX_BOARDS "$EMX_OMXD" --foreground --config /nonexistent --boards "$boards" \
        ${GROUP:+--group "$GROUP"} "$@"
    AGENTS[host]=$NETLAB_PID
    tells "$log" ' serving ' "$NETLAB_PID"
}

agents() {
    local i boards
    for ((i = 1; i <= $#; i++)); do
        read -r -a boards <<<"${!i}"
        if [ "${!i}" = - ]; then stop_agents $i; else agent $i "${boards[@]}" || return; fi
    done
}

server() {
    local host=$1
    shift
    netlab_bg "$host" "$NETLAB_TMP/server" "$tools/omx_perf" -y "$@"
    SERVER=$NETLAB_PID
    tells "$NETLAB_TMP/server" "$waits" "$SERVER"
}

messages() {
    local from=$1 to=$2 status=0 server
    shift 2
    netlab_bg "$to" "$NETLAB_TMP/server" "$tools/omx_perf" -y
    server=$NETLAB_PID
    tells "$NETLAB_TMP/server" "$waits" "$server" || { netlab_stop "$server"; return 1; }
    netlab_in "$from" timeout $hung "$tools/omx_perf" -d "$(netlab_mac "$to")" --patience 100 -y -P 0 "$@" || status=$?
    [ $status != 0 ] || until_ok $hung lab_ended "$server" || status=1 # by itself, with all acknowledged
    netlab_stop "$server"
    cat "$NETLAB_TMP/server"
    return $status
}

counter() { tool "$1" omx_counters | sed -n "s/^[0-9]*: *\([0-9]*\) $2\$/\1/p" | grep . || echo 0; }
some() {
    local n
    n=$(counter "$1" "$2")
    [ "$n" -le "${3:-0}" ] || return 0
    echo "host $1: $n $2"
    tool "$1" omx_counters | grep -v ': *0 '
    return 1
}
none() {
    some "$1" "$2" >"$NETLAB_TMP/some" || return 0
    echo "host $1: $(counter "$1" "$2") $2"
    tool "$1" omx_counters | grep -v ': *0 '
    return 1
}

# A number of messages would have an end, which a fast machine reaches before the command begins.
TRAFFIC=(-S 2000001 -E 2000002) MOVED='x data frames received' CLIENT=''
moved_to() { [ "$(counter 1 "$MOVED")" -gt "$1" ] || lab_ended "$CLIENT"; }
begin_traffic() {
    server 2 || return
    netlab_bg 1 "$NETLAB_TMP/client" "$tools/omx_perf" -d "$1" --patience 100 -y -P 0 -V "${TRAFFIC[@]}" -N 100000000 -T 100000
    CLIENT=$NETLAB_PID
}
end_traffic() {
    netlab_stop "$CLIENT"
    netlab_stop "$SERVER"
}
during() {
    local status=0
    begin_traffic "$1" || return
    shift
    until_ok $hung moved_to 500 && "$@" && until_ok $hung moved_to $(($(counter 1 "$MOVED") + 500)) || status=1
    lab_ended "$CLIENT" && status=1
    end_traffic
    [ $status = 0 ] || cat "$NETLAB_TMP/client" "$NETLAB_TMP/server"
    return $status
}

# met HOST...: each of these hosts knows the names of the others, which come some moments after their agents have begun
met() {
    local one other
    for one in "$@"; do
        for other in "$@"; do
            [ "$one" = "$other" ] || until_ok $hung knows_name "$one" "${NETLAB_NAME[other]}:0" || { echo "host $one does not know $other"; return 1; }
        done
    done
}
knows_name() { shown "$1" | grep -q " $2\$"; }

shown() { tool "$1" omx_info | sed -n 's/^ *[0-9]*) //p'; }

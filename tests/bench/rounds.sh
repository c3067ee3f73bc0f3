# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# shellcheck shell=bash
# One measured program at a time between two hosts of netlab, or within one; for the scripts of tests/bench and the
# quickstart. Source it after netlab.sh, with BENCH_BUILD set to a build folder.
#
#   bench_check SPEC           is that a configuration?
#   bench_config SPEC          "9000:N=9000" (interface MTU : dialect); makes the two hosts
#   bench_one WHAT CSV         measures; WHAT is a row of bench_whats
#   BENCH_TIME (ms per length) BENCH_FROM BENCH_TO (lengths) BENCH_FACTOR (from one length to the next)

# The targets to build; the whole tree takes several times as long.
# shellcheck disable=SC2034 # tests/bench/run and the quickstart build these
BENCH_TARGETS=(tools/omx_perf tools/omx_info tools/omx_init_peers tools/omxd/omxd
               tests/bench/floor_pingpong tests/bench/tcp_pingpong tests/bench/udp_floor)
BENCH_TIME=${BENCH_TIME:-50}
BENCH_FROM=${BENCH_FROM:-0}
BENCH_TO=${BENCH_TO:-4194305}
BENCH_FACTOR=${BENCH_FACTOR:-2}
# The two processes spin; where the scheduler puts them must not differ from round to round.
BENCH_CPUS=(0 $(($(nproc) > 1)))

bench_check() {
    [[ $1 =~ ^[1-9][0-9]{2,4}:(W|N=[1-9][0-9]{2,4})$ ]] && return
    echo "a configuration is MTU:W or MTU:N=SIZE, not \"$1\"" >&2
    return 1
}

bench_config() {
    local mtu=${1%%:*}
    bench_check "$1" || return
    BENCH_DIALECT=${1#*:}
    BENCH_SIZE=0
    [ "$BENCH_DIALECT" = W ] || BENCH_SIZE=${BENCH_DIALECT#N=}
    export EMX_BOARDS=eth0:$BENCH_DIALECT EMX_OMXD=$BENCH_BUILD/tools/omxd/omxd
    NETLAB_DIALECTS=$BENCH_DIALECT netlab_make 2 "$mtu"
}

# Ends the boards' agents and the hosts, so that another configuration may follow.
bench_config_end() {
    local ns pid
    for ns in "${NETLAB_NS[@]}"; do
        for pid in $(ip netns pids "$ns"); do
            kill "$pid" 2>/dev/null
        done
    done
    for ns in "${NETLAB_NS[@]}"; do
        ip netns del "$ns"
    done
    netlab_unwatch
    NETLAB_NS=()
}

# bench_pair CSV SERVER... -- CLIENT...: server on host 2 or $BENCH_SERVER, client on host 1.
bench_pair() {
    local csv=$1 server=() status
    shift
    while [ "$1" != -- ]; do
        server+=("$1")
        shift
    done
    shift
    netlab_bg "${BENCH_SERVER:-2}" "$csv.server" taskset -c "${BENCH_CPUS[1]}" "${server[@]}"
    # stderr stays the terminal's when there is one: omx_perf shows its progress there
    if [ -t 2 ]; then
        netlab_run 1 taskset -c "${BENCH_CPUS[0]}" "$@" >"$csv"
    else
        netlab_run 1 taskset -c "${BENCH_CPUS[0]}" "$@" >"$csv" 2>"$csv.client"
    fi
    status=$?
    netlab_stop "$NETLAB_PID"
    [ $status = 0 ] && return
    echo "failed: $* (status $status)" >&2
    tail -n 3 "$csv.server" "$csv.client" >&2 2>/dev/null
    rm -f "$csv"
    return 1
}

# bench_perf CSV HOST OPTION...: omx_perf with its server on HOST; in bench_one, for its lengths. The server takes another endpoint
# each time, since an agent that gets no processor holds the last one's for a moment.
bench_perf() {
    local csv=$1 host=$2 perf=$BENCH_BUILD/tools/omx_perf
    shift 2
    BENCH_ENDPOINT=$((8 + (BENCH_ENDPOINT + 1) % 8))
    BENCH_SERVER=$host bench_pair "$csv" "$perf" -e $BENCH_ENDPOINT -- \
        "$perf" -r $BENCH_ENDPOINT -d "$(netlab_mac "$host")" -P 0 --patience 60 "${lengths[@]}" "$@"
}

bench_one() {
    local csv=$2 lengths=(-S "$BENCH_FROM" -E "$BENCH_TO" -T "$BENCH_TIME" -F csv) bin=$BENCH_BUILD/tests/bench
    [ "$BENCH_FACTOR" = 2 ] || lengths+=(-M "$BENCH_FACTOR")
    case $1 in
    floor-ring) bench_pair "$csv" "$bin/floor_pingpong" -m "$BENCH_SIZE" -- \
        "$bin/floor_pingpong" -m "$BENCH_SIZE" -d "$(netlab_mac 2)" "${lengths[@]}" ;;
    floor-bulk) bench_pair "$csv" "$bin/floor_pingpong" -B -m "$BENCH_SIZE" -- \
        "$bin/floor_pingpong" -B -m "$BENCH_SIZE" -d "$(netlab_mac 2)" "${lengths[@]}" ;;
    floor-udp) netlab_offloads on && bench_pair "$csv" "$bin/udp_floor" -- \
        "$bin/udp_floor" -d "$(netlab_ip 2)" "${lengths[@]}" ;;
    tcp) netlab_offloads off && bench_tcp "$csv" ;;
    tcp-offloads) netlab_offloads on && bench_tcp "$csv" ;;
    emx) netlab_offloads on && bench_perf "$csv" 2 ;;
    emx-datagrams) netlab_offloads on && EMX_BULK=udp bench_perf "$csv" 2 ;;
    emx-tcp) netlab_offloads on && EMX_BULK=tcp bench_perf "$csv" 2 ;;
    emx-raw) netlab_offloads on && EMX_BULK=raw bench_perf "$csv" 2 ;;
    emx-stream) netlab_offloads on && bench_perf "$csv" 2 -U ;;
    emx-within) bench_perf "$csv" 1 ;;
    emx-within-stream) bench_perf "$csv" 1 -U ;;
    emx-dialect) EMX_EXTENSION=0 bench_perf "$csv" 2 ;;
    emx-lossy-stream) bench_lossy bench_perf "$csv" 2 -U ;;
    emx-raw-stream) EMX_BULK=raw bench_perf "$csv" 2 -U ;;
    emx-raw-lossy-stream) EMX_BULK=raw bench_lossy bench_perf "$csv" 2 -U ;;
    emx-datagrams-stream) EMX_BULK=udp bench_cut bench_perf "$csv" 2 -U ;;
    emx-datagrams-lossy-stream) EMX_BULK=udp bench_cut bench_lossy bench_perf "$csv" 2 -U ;;
    emx-tcp-stream) EMX_BULK=tcp bench_segments bench_perf "$csv" 2 -U ;;
    emx-tcp-lossy-stream) EMX_BULK=tcp bench_segments bench_lossy bench_perf "$csv" 2 -U ;;
    emx-dialect-lossy-stream) EMX_EXTENSION=0 bench_lossy bench_perf "$csv" 2 -U ;;
    *) echo "nothing is called \"$1\" here" >&2; return 1 ;;
    esac
}

# bench_lossy COMMAND...: while one frame in a hundred is lost each way
bench_lossy() {
    local status host
    for host in 1 2; do
        netlab_loss "$host" 10 || return
    done
    "$@"
    status=$?
    for host in 1 2; do
        netlab_loss_off "$host" || return
    done
    return $status
}

# bench_cut COMMAND...: while datagrams are cut before they leave a host, as a card does it, so that each can be lost
# alone; a virtual link carries them in one piece otherwise
bench_cut() {
    local status
    bench_segmentation off || return
    "$@"
    status=$?
    bench_segmentation on || return
    return $status
}
bench_segmentation() {
    local ns
    for ns in "${NETLAB_NS[@]}"; do
        ip netns exec "$ns" ethtool -K eth0 tx-udp-segmentation "$1" >/dev/null || return
    done
}

# bench_segments COMMAND...: without offloads, so that each segment of TCP can be lost alone
bench_segments() {
    local status
    netlab_offloads off || return
    "$@"
    status=$?
    netlab_offloads on || return
    return $status
}

bench_tcp() {
    bench_pair "$1" "$BENCH_BUILD/tests/bench/tcp_pingpong" -- \
        "$BENCH_BUILD/tests/bench/tcp_pingpong" -d "$(netlab_ip 2)" "${lengths[@]}"
}

# bench_command NAME ARGUMENT...: what the notebook says how to repeat it
bench_command() {
    local word
    BENCH_COMMAND=$1
    for word in "${@:2}"; do
        [[ $word != *' '* ]] || word="'$word'"
        BENCH_COMMAND+=" $word"
    done
}

# Facts about this machine and run, one a line: date, commit, command if given, and others.
bench_settings() {
    date -u +'%Y-%m-%d %H:%M UTC'
    echo "commit $(git describe --always --dirty 2>/dev/null || echo unknown)"
    [ -z "${BENCH_COMMAND:-}" ] || echo "\`$BENCH_COMMAND\`"
    echo "Linux $(uname -r), $(nproc) CPUs, $(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1)"
    echo "two namespaces, one veth pair; client on CPU ${BENCH_CPUS[0]}, server on CPU ${BENCH_CPUS[1]}, spinning"
    echo "$BENCH_TIME ms per length and round; TCP reno, TCP_NODELAY"
}

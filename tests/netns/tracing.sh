#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# The scripts of docs/examples/tracing that look at the library, with bpftrace: what they count is what was sent, repeated
# and dropped. Those that look at the kernel module: tests/qemu/guest/bpftrace.sh.
#
#   tests/netns/tracing.sh
cd "$(dirname "$0")/../.." || exit 1
. tests/support/netlab.sh
netlab_begin "$PWD/tests/netns/tracing.sh" "$@"
. tests/support/traffic.sh
. tests/support/packages.sh
scripts=docs/examples/tracing
library=$plain/libmx/install/libmyriexpress.so

# In epoll_wait(2) it waits for events: all is attached.
is_attached() { grep -qsE '^(232|281|22) ' "/proc/$1/syscall"; }
attached_or_ended() { is_attached "$1" || lab_ended "$1"; }

# trace SCRIPT COMMAND...: meanwhile; its maps are in $traced, a line of JSON each
trace() {
    local script=$1 status=0 tracer
    shift
    traced=$NETLAB_TMP/traced
    # Where nobody has mounted tracefs, it cannot take its probes away again.
    unshare -m sh -c "mount -t tracefs tracefs /sys/kernel/tracing; exec bpftrace -f json $scripts/$script $library" >"$traced" 2>"$traced.err" &
    tracer=$!
    # Once it is attached it waits and wakes by turns: that it has not ended is all that a second look can say.
    if until_ok $hung attached_or_ended $tracer && ! lab_ended $tracer; then
        "$@" || status=$?
    else
        status=1
    fi
    kill -INT $tracer 2>/dev/null
    until_ok $hung lab_ended $tracer && wait $tracer || status=1
    [ $status = 0 ] || cat "$traced" "$traced.err"
    return $status
}

# sum_of MAP [PATTERN]: of a map's counts, or those of a histogram; with a pattern, of the keys like that
sum_of() {
    python3 - "$traced" "$@" <<-'END'
		import json, re, sys
		def total(value):
		    if isinstance(value, list):
		        return sum(one['count'] for one in value)
		    return sum(map(total, value.values())) if isinstance(value, dict) else value
		sum_ = 0
		for line in open(sys.argv[1]):
		    data = json.loads(line).get('data') if line.startswith('{') else None
		    value = data.get(sys.argv[2]) if isinstance(data, dict) else None
		    if isinstance(value, dict) and len(sys.argv) > 3:
		        value = {key: one for key, one in value.items() if re.search(sys.argv[3], key)}
		    sum_ += total(value) if value is not None else 0
		print(sum_)
	END
}

equal() { # WHAT SEEN WANTED
    echo "$1: $2 seen, $3 wanted"
    [ "$2" = "$3" ]
}

pingpong() { # BYTES
    local server status=0
    netlab_bg 1 "$NETLAB_TMP/server" timeout $hung "$plain/docs/examples/mx_pingpong"
    server=$NETLAB_PID
    netlab_in 2 timeout $hung "$plain/docs/examples/mx_pingpong" "${NETLAB_NAME[1]}:0" "$1" || status=1
    wait "$server" || status=1
    return $status
}

# 1000 rounds, and the first message, which tells the length; both programs are seen.
latency() { # BYTES RENDEZVOUS
    trace latency.bt pingpong "$1" || return
    equal sends "$(sum_of @send_us)" 2001 && equal receives "$(sum_of @receive_us)" 2001 &&
        equal rendezvous "$(sum_of @rendezvous_us)" "$2" && equal failures "$(sum_of @failed)" 0
}

counted() { # LABEL: of both hosts
    { tool 1 omx_counters -q && tool 2 omx_counters -q; } | sed -n "s/^ *[0-9]*: *\([0-9]*\) $1\$/\1/p" | awk '{ sum += $1 } END { print sum + 0 }'
}

# Without the extension a receiver is sent again what it has.
lossy() {
    local n
    for ((n = 1; n <= 50; n++)); do
        EMX_EXTENSION=0 messages 1 2 -x -S 1000 -E 60000 -T 0 -N 20 -M 7 -W 1 || return
        [ "$(counted 'drop: outside the window')" = 0 ] || return 0
    done
    echo 'nothing was sent twice'
    return 1
}

# The agents count, too, what they drop; with no strangers about they drop nothing.
drops() {
    tool 1 omx_counters -c >/dev/null && tool 2 omx_counters -c >/dev/null && trace drops.bt lossy || return
    equal repeats "$(sum_of @repeated)" "$(counted 'messages repeated')" &&
        equal 'outside the window' "$(sum_of @dropped ',drop: outside the window$')" "$(counted 'drop: outside the window')" &&
        equal 'all drops' "$(sum_of @dropped)" "$(counted 'drop: .*')"
}

# The first packets of a channel go as frames, until its receiver has taken it.
leaves_memory() {
    local seen
    trace drops.bt messages 1 1 -S 100 -E 101 -T 0 -N 100 -W 1 || return
    seen=$(sum_of @frames_instead_of_memory ',no channel yet$')
    echo "$seen packets as frames, $(tool 1 omx_counters -q | grep 'through shared memory')"
    [ "$seen" -gt 0 ]
}

if [ -n "${NETLAB_USERNS:-}" ]; then
    skip 'an ordinary user may load no eBPF program: run as root' 4
    finish
fi
if ! need_packages tests/netns/tracing.packages; then
    skip 'no bpftrace: apt-get install bpftrace' 4
    finish
fi
netlab_make 2 9000 N=9000 || exit 1
agents eth0:N=9000 eth0:N=9000 || exit 1
check 'all short messages are seen, and none twice' latency 100 0
check 'all long messages are seen as such' latency 100000 2000
check 'packets that leave shared memory are seen' leaves_memory
netlab_loss 1 30 && netlab_loss 2 30 || exit 1
check 'what is repeated and dropped is seen as it is counted' drops
finish

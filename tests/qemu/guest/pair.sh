# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# shellcheck shell=sh
# shellcheck disable=SC2154 # cards.sh sets $peer and $other
# One of the two hosts of cards.sh. Both run this with the same steps; arguments: a or b, the card, and "stock" for a
# distribution's kernel, which has probes. Messages are verified; those that leave as pages and those that have to be
# copied are told apart by the module's account of memory, and what the network stack copies behind its back by a probe.
failed=0
. /check.sh
. /hosts.sh
me=$1
card=$2
kernel=$3
. /cards.sh
PATH=/emx/tools:$PATH
tracing=/sys/kernel/debug/tracing

# ---- both hosts together

waiting=
# shellcheck disable=SC2086 # nothing, or an option
client() { timeout $HUNG omx_perf $waiting -d "$peer" --patience $HUNG -V -P 0 "$@"; }
# shellcheck disable=SC2086
server() { timeout $HUNG omx_perf $waiting >/tmp/server 2>&1 || { cat /tmp/server; return 1; }; }

# One host is the client, then the other.
perf() { # OPTIONS OF omx_perf
	case $me in
	a) client "$@" && server ;;
	b) server && client "$@" ;;
	esac
}

# ---- what is copied

paged() { account 'reply payloads sent as pages'; }
copied() { account 'reply payloads copied'; }

# The network stack makes a frame into one piece when its card wants that: a copy that the module does not see.
watch_stack() {
	[ "$kernel" = stock ] || return 0
	mount -t tracefs tracefs $tracing 2>/dev/null
	echo 'p:emx_linear __pskb_pull_tail bytes=%si:s32' >$tracing/kprobe_events &&
		echo 'bytes > 512' >$tracing/events/kprobes/emx_linear/filter &&
		echo 1 >$tracing/events/kprobes/emx_linear/enable
}
copied_by_stack() { [ "$kernel" != stock ] || grep -c emx_linear: $tracing/trace; }

large() { perf -S 65536 -E 4194305 -M 4 -T 0 -N 4 -W 1; }

# moves PAGED COPIED COMMAND...: each "some" or "none"
moves() {
	wanted="$1 $2"
	before_paged=$(paged) before_copied=$(copied) before_stack=$(copied_by_stack)
	shift 2
	"$@" || return
	some() { if [ "$1" -gt "$2" ]; then echo some; else echo none; fi; }
	found="$(some "$(paged)" "$before_paged") $(some "$(copied)" "$before_copied")"
	[ "$found" = "$wanted" ] && [ "$(copied_by_stack)" = "$before_stack" ] && return
	echo "sent as pages, copied: $found; by the network stack: $(copied_by_stack), before: $before_stack"
	show_memory
	return 1
}

counter() { omx_counters -a | sed -n "s/^[0-9]*: *\([0-9]*\) $1\$/\1/p"; }

by_extension() {
	[ "$(counter 'x data frames sent')" -gt 0 ] && [ "$(counter 'x data frames received')" -gt 0 ] &&
		[ "$(counter 'pull replies sent')" = 0 ] && return
	omx_counters
	return 1
}

# Between cards as they are no sum is wrong.
fragments() { # COMMAND...: eager messages go by the extension
	before=$(counter 'x medium fragments sent')
	"$@" && [ "$(counter 'x medium fragments sent')" -gt "$before" ] && [ "$(counter 'x medium fragments received')" -gt 0 ] &&
		[ "$(counter 'drop: wrong checksum')" = 0 ] && return
	omx_counters
	return 1
}

summed() { # COMMAND...: none goes as a short one does
	tiny=$(counter 'tiny messages sent')
	export EMX_CHECKSUM=1
	fragments "$@"
	status=$?
	unset EMX_CHECKSUM
	[ "$(counter 'tiny messages sent')" = "$tiny" ] && return $status
	omx_counters
	return 1
}

# ---- waiting

polls() { counter 'busy polls'; }
found() { counter 'busy polls that found frames'; }

# Messages of one byte, by programs that spin; each host is the client once, the other one does as it does.
latency() { # MICROSECONDS of a busy poll
	export EMX_BUSY_POLL_US="$1"
	perf -S 1 -E 2 -T 0 -N 200 -W 20 >/tmp/latency
	status=$?
	unset EMX_BUSY_POLL_US
	grep -o 'length .*' /tmp/latency
	return $status
}
microseconds() { sed -n 's/.*length .*: *\([0-9.]*\) us .*/\1/p' /tmp/latency; }

# Interrupts win some of the races: where all is emulated, and slow, most. A module that polled none would count none.
spinning_polls() {
	before=$(found) came=$(counter 'tiny messages received')
	latency 10 || return 1
	with=$(microseconds)
	polled=$(($(found) - before)) came=$(($(counter 'tiny messages received') - came))
	echo "$came messages came, $polled busy polls found frames"
	[ $polled -gt 0 ] && return
	omx_counters
	return 1
}

never_polls() { # COMMAND...
	before=$(polls)
	"$@" && [ "$(polls)" = "$before" ] && return
	omx_counters
	return 1
}

without_polling() { never_polls latency 0 && without=$(microseconds); }

forbidden() {
	parameter=/sys/module/ethermx/parameters/busy_poll_max_us
	allowed=$(cat $parameter)
	echo 0 >$parameter
	never_polls latency 10
	status=$?
	meet
	echo "$allowed" >$parameter
	return $status
}

blocked() {
	waiting=-w
	export EMX_SPIN_US=0
	never_polls perf -S 1 -E 2 -T 0 -N 100 -W 10
	status=$?
	unset EMX_SPIN_US
	waiting=
	return $status
}

switches() { sed -n 's/^voluntary_ctxt_switches:[^0-9]*//p' "/proc/$1/status"; }

five_is_open() { grep -q '^5 process' /sys/kernel/debug/ethermx/eth0/endpoints; }

# A message for others does not wake a sleeper.
sleeps_on() {
	omx_perf -w -e 5 >/tmp/sleeper 2>&1 &
	sleeper=$!
	until_ok five_is_open || return 1
	meet
	before=$(switches $sleeper)
	perf -S 1 -E 2 -T 0 -N 200 -W 10
	status=$?
	woken=$(($(switches $sleeper) - before))
	kill $sleeper
	wait $sleeper
	echo "woken $woken times by 400 messages for others"
	[ $status = 0 ] && [ "$woken" -lt 100 ]
}

# ---- the card

gathers() { ethtool -k eth0 | grep -q '^scatter-gather: on'; }

stays_open() {
	omx_perf -e 5 >/dev/null 2>&1 &
	until_ok five_is_open
}

hostname "host-$me"
export EMX_DEVICE=kernel
check "card" load_card
check "interface" start_card
check "module loads" insmod /ethermx.ko
check "probe" watch_stack
check "attach" omx_attach eth0:N=9000
[ $failed = 0 ] || exit 1
check "the other host is there" meet
[ $failed = 0 ] || exit 1

check "short messages" perf -T 0 -N 20 -E 32769 -M 4 -W 2
check "the other host's name" until_ok says "$peer host-$other:0" omx_info
if gathers; then
	check "large messages leave as pages" moves some none large
	check "large messages leave as pages both ways at once" moves some none perf -x -S 262144 -E 1048577 -M 4 -T 0 -N 8 -W 1
	check "scatter/gather off" ethtool -K eth0 sg off
fi
check "no scatter/gather: large messages are copied, once" moves none some large
if [ "$card" = e1000 ]; then
	check "scatter/gather on" ethtool -K eth0 sg on
	check "pages again" moves some none large
fi
check "a spinning program polls the card" spinning_polls
check "a spinning program does not poll if told so" without_polling
check "a spinning program polls again" spinning_polls
check "all large messages went by the extension" by_extension
echo "latency with busy polls / without: $with / $without us = $(echo "$with $without" | awk '{ printf "%.2f", $1 / $2 }')"
check "a spinning program does not poll if the administrator forbids it" forbidden
check "a blocking program does not poll" blocked
check "a blocking program sleeps while others get messages" sleeps_on
check "both are here" meet
check "detach" omx_attach -d eth0
check "attach, wide dialect" omx_attach eth0:W
check "both are back" meet
check "messages, wide dialect" perf -T 0 -N 2 -M 16 -W 1
check "messages of several fragments by the extension, wide dialect" fragments perf -S 5000 -E 32769 -M 2 -T 0 -N 6 -W 1
check "messages with checksums, wide dialect" summed perf -T 0 -N 2 -M 16 -W 1
check "nothing pinned" nothing_pinned
check "both have finished" meet
show_memory
ethtool -S eth0 | grep -E 'errors|drop' | grep -v ': 0$'
case $me in
a)
	check "detach again" omx_attach -d eth0
	check "unload" rmmod ethermx
	;;
b) check "stays open, also when the power goes" stays_open ;;
esac
exit $failed

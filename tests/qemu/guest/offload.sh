# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# shellcheck shell=sh
# Copies by a DMA engine: a slow one, one that fails, one that refuses, one that stops; processes that end meanwhile.
# Messages are verified, so a copy that came too late or not at all is seen.
failed=0
. /check.sh
. /hosts.sh

by_dma() { account 'bytes of pulls copied by a DMA engine'; }
by_processor() { account 'bytes of pulls copied by the processor'; }
failures() { account 'frames that a DMA engine failed to copy'; }

engine() { # PARAMETER VALUE
	echo "$2" >"/sys/module/softdma/parameters/$1"
}

large() { perf -S 256K -E 1048577 -M 4 -T 0 -N 2 -W 1; }

# more WHAT COMMAND...: after the command the number is larger
more() {
	number=$1 before=$("$1")
	shift
	"$@" || return
	[ "$("$number")" -gt "$before" ] && return
	show_memory
	return 1
}

same() { # the opposite
	number=$1 before=$("$1")
	shift
	"$@" && [ "$("$number")" = "$before" ]
}

with() { # PARAMETER VALUE COMMAND...: the command with an engine like that
	parameter=$1 old=$(cat "/sys/module/softdma/parameters/$1")
	engine "$1" "$2"
	shift 2
	"$@"
	status=$?
	engine "$parameter" "$old"
	return $status
}

engine_has_work() { [ "$(cat /sys/module/softdma/parameters/waiting)" -gt 0 ]; }
# A receiver that would not wait is gone at once.
waits_for_copies() { cat "/proc/$receiver"/task/*/stack | grep -q "\[ethermx\]"; }

# A receiver is killed while the engine holds copies into its memory: that stays pinned until the engine is done with it.
killed_with_copies() {
	/bin/ip netns exec b /emx/tools/omx_perf >/tmp/server 2>&1 &
	server=$!
	/bin/ip netns exec a timeout $HUNG /emx/tools/omx_perf -d 02:00:00:00:00:0b --patience $HUNG -U -S 1M -T 100000 -N 100000 >/tmp/client 2>&1 &
	client=$!
	until_ok something_is_pinned || return 1
	engine stopped Y
	until_ok engine_has_work || return 1
	receiver=$(pid_of_endpoint b 0)
	kill -9 "$receiver" "$(pid_of_endpoint a 0)"
	until_ok waits_for_copies || return 1
	held=$(account 'pages pinned')
	engine stopped N
	wait "$client" "$server"
	echo "$held pages pinned while the engine stood still"
	nothing_pinned && [ "$held" -gt 0 ]
}

within_a() { perf_between a kernel a kernel -e 1 -S 256K -E 1048577 -M 4 -T 0 -N 2 -W 1; }

# Neither may read the other's memory.
two_users() {
	# shellcheck disable=SC2034 # perf_between reads it
	as_client='/bin/setpriv --reuid 1000 --regid 1000 --clear-groups --inh-caps=-all --bounding-set=-all'
	more by_dma within_a
	status=$?
	# shellcheck disable=SC2034 # perf_between reads it
	as_client=
	return $status
}

hostname emxguest
export EMX_DEVICE=kernel
load veth
check "hosts" make_hosts
check "all frames sent are watched" watch --both /run/netns/a --dialect N=9000
check "a DMA engine" insmod /softdma.ko
check "module loads" insmod /ethermx.ko
check "attach" attach eth0:N=9000
[ $failed = 0 ] || exit 1

check "the engine copies large messages" more by_dma large
check "the processor copies small messages" same by_dma perf -S 4K -E 60000 -M 4 -T 0 -N 6 -W 1
check "the engine copies none between two processes of a user, which share memory" same by_dma within_a
check "the engine copies messages between two users of a host" two_users
check "a slow engine" with delay_us 20000 more by_dma large
check "an engine that fails" with fail_every 7 more failures large
check "an engine that refuses" with refuse_every 5 more failures large
check "an engine that always fails" with fail_every 1 same by_dma large
check "streams both ways, failing" with fail_every 11 perf -x -S 1M -E 1048577 -T 0 -N 4 -W 1
check "a higher limit for messages" eval 'echo 8388608 >/sys/module/ethermx/parameters/dma_message_min; same by_dma large'
echo 65536 >/sys/module/ethermx/parameters/dma_message_min
check "processes killed while the engine copies" killed_with_copies
check "nothing pinned" nothing_pinned
show_memory
check "nothing forbidden was sent" nothing_forbidden
check "detach" detach
check "unload" rmmod ethermx
check "the engine unloads" rmmod softdma
check "hosts go" hosts_go
exit $failed

# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# shellcheck shell=sh
# shellcheck disable=SC2154 # root.sh sets $root
# The scripts of docs/examples/tracing that look at the kernel module, with the bpftrace of this machine, against the
# module's counters. Those that look at the library: tests/netns/tracing.sh.
failed=0
. /check.sh
. /hosts.sh
. /root.sh

traced=/tmp/traced
is_attached() { grep -qsE '^232 ' "/proc/$(pidof bpftrace)/syscall"; } # in epoll_wait(2): all is attached
is_over() { ! pidof bpftrace >/dev/null; }
# Told once, it has been seen to go on; told twice at once, it ends before it has printed all. Its maps are judged, not its status.
ends_when_told() {
	is_over && return
	looks=$((looks + 1))
	[ $((looks % 300)) != 1 ] || kill -INT "$(pidof bpftrace)"
	false
}
attached_or_over() { is_attached || is_over; }
tracer_begun() { ! is_over || grep -q ERROR $traced; }

# A script that is not done with when its test is keeps the module and the files of the machine outside.
end_tracer() {
	looks=0
	until_ok ends_when_told || kill -KILL "$(pidof bpftrace)"
	wait $tracer
}

# trace SCRIPT COMMAND...: meanwhile; its maps are in $traced, a line of JSON each. Once it is attached it waits and
# wakes by turns: that it has not ended is all that a second look can say.
trace() {
	in_root bpftrace -f json "docs/examples/tracing/$1" >$traced 2>&1 &
	tracer=$!
	shift
	status=1
	if until_ok tracer_begun && until_ok attached_or_over && ! is_over; then
		"$@"
		status=$?
	fi
	end_tracer
	cat $traced
	return $status
}

# The sum of a map's values, or of its key.
sum_of() { # MAP [KEY]
	grep "\"$1\": {" $traced | sed "s/.*\"$1\": {//" | grep -oE "\"${2:-[^\"]*}\": [0-9]+" | awk '{ sum += $NF } END { print sum + 0 }'
}
histogram() { # MAP: how many are in all its histograms
	grep "\"$1\": {" $traced | grep -oE '"count": [0-9]+' | awk '{ sum += $2 } END { print sum + 0 }'
}

same() { # WHAT SEEN COUNTED
	echo "$1: $2 seen, $3 counted"
	[ "$2" = "$3" ] && [ "$2" != 0 ]
}

counted_drops() { sed -n 's/^\([1-9][0-9]*\) drop: .*/\1/p' /sys/kernel/debug/ethermx/emx0/counters | awk '{ sum += $1 } END { print sum + 0 }'; }
by_processor() { account 'bytes of pulls copied by the processor'; }

drops_are_seen() {
	before=$(counted_drops)
	trace module-drops.bt /frames emx1 answers &&
		same drops "$(sum_of @dropped)" $(($(counted_drops) - before)) &&
		same 'short frames' "$(sum_of @dropped '0,drop: frame too short,[^"]*')" 2
}

pulls_are_seen() {
	before=$(by_processor)
	trace module-pulls.bt perf -S 256K -E 1048577 -T 0 -N 2 -W 1 -M 4 &&
		same 'bytes copied by the processor' "$(sum_of @copied_bytes 0)" $(($(by_processor) - before)) &&
		same 'whole pulls' "$(sum_of @status 0)" "$(histogram @pull_us)"
}

make_stranger() {
	/bin/ip link add emx0 mtu 9000 address 02:00:00:00:00:0b type veth peer name emx1 mtu 9000 address 02:00:00:00:00:0a &&
		/bin/ip link set emx0 up && /bin/ip link set emx1 up
}

export EMX_DEVICE=kernel
load veth
check "the machine outside" mount_root
[ $failed = 0 ] || exit 1
mkdir -p $root/sys/kernel/tracing
check "tracefs" mount -t tracefs tracefs $root/sys/kernel/tracing
check "hosts" make_hosts
check "a stranger on the wire" make_stranger
check "module loads" insmod /ethermx.ko
check "attach" attach eth0:N=9000
check "the stranger's board" /emx/tools/omx_attach emx0:W
[ $failed = 0 ] || exit 1

check "drops are seen as they are counted" drops_are_seen
check "pulls and their copies are seen as they are counted" pulls_are_seen

check "detach the stranger's board" /emx/tools/omx_attach -d emx0
check "the wire goes" /bin/ip link del emx0
check "detach" detach
check "unload" rmmod ethermx
check "hosts go" hosts_go
check "tracefs goes" umount $root/sys/kernel/tracing
check "the machine outside goes" unmount_root
exit $failed

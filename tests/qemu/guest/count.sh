# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# shellcheck shell=sh
# A ping-pong over the module, both sides blocking, between the marks that the plugin of QEMU counts between; for
# tests/bench/instructions. Arguments: the device, a length, and how many iterations; then twice as many, so that the
# difference is theirs alone. After "maps": where both programs' files are mapped;
# after "symbols": the functions of the kernel, in base64 of gzip.
failed=0
. /check.sh
. /hosts.sh
device=$1 length=$2 iterations=$3

attach_both() {
	in_host a omx_attach eth0:N=9000 && in_host b omx_attach eth0:N=9000
}
serve() {
	/bin/ip netns exec b omx_perf -w --patience $HUNG >/tmp/server 2>&1 &
	server=$!
}
ping_pong() { # ITERATIONS
	serve
	in_host a omx_perf -d 02:00:00:00:00:0b -w --patience $HUNG -P 0 -S "$length" -E $((length + 1)) -T 600000 -N "$1" -F csv >/tmp/csv 2>&1 &&
		wait "$server" && return
	cat /tmp/csv /tmp/server
	return 1
}
mapped() {
	serve
	# The library is mapped long before its endpoint is open.
	until grep -q libmyriexpress "/proc/$server/maps"; do
		[ -d "/proc/$server" ] || { cat /tmp/server; return 1; }
		# tidy-allow(sleep): between two looks at what the program has mapped
		usleep 10000
	done
	echo maps
	grep r-xp "/proc/$server/maps"
	kill "$server"
	wait "$server" || true
}

PATH=/emx/tools:$PATH
export EMX_DEVICE="$device" EMX_SPIN_US=0
echo 0 >/proc/sys/kernel/randomize_va_space
check "veth loads" load veth
check "hosts" make_hosts
[ "$device" = engine ] || {
	check "module loads" insmod /ethermx.ko
	check "attach" attach_both
}
check "programs are mapped" mapped
check "warm" ping_pong 100
for n in "$iterations" $((2 * iterations)); do
	/mark begin
	check "counted, $n iterations" ping_pong "$n"
	/mark end
done
cat /tmp/csv
echo symbols
grep -i ' t ' /proc/kallsyms | gzip -9 | base64
echo end
[ "$device" = engine ] || check "unload" rmmod ethermx
check "hosts go" hosts_go
exit $failed

# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# shellcheck shell=sh
# The module over a veth pair:
#
#     frames (raw socket) -- emx1 ======= emx0 -- ethermx
#     02:00:00:00:00:0a                           02:00:00:00:00:0b
#
# Answers byte for byte, loading and unloading under traffic, refused parameters, and an interface
# that vanishes while attached.

failed=0
. /check.sh
. /watch.sh

refuses() { # PATTERN INSMOD-ARGUMENTS...: loading fails and the log tells why
	pattern=$1
	shift
	dmesg -c >/dev/null
	if insmod /ethermx.ko "$@" 2>/dev/null; then
		rmmod ethermx
		echo "loaded with $*"
		return 1
	fi
	dmesg | grep -q "$pattern" || {
		echo "no message like '$pattern' but:"
		dmesg
		return 1
	}
}


make_pair() {
	/bin/ip link add emx0 mtu 9000 address 02:00:00:00:00:0b type veth \
		peer name emx1 mtu 9000 address 02:00:00:00:00:0a &&
		/bin/ip link set emx0 up && /bin/ip link set emx1 up
}

gone() { [ ! -e "/sys/kernel/debug/ethermx/$1" ]; }

# The module leaves while frames pour in, and comes back.
unload_under_traffic() {
	/frames emx1 flood &
	flood=$!
	n=0
	while [ "$n" -lt 5 ]; do
		rmmod ethermx && insmod /ethermx.ko ifnames=emx0 || return 1
		/frames emx1 answered || return 1
		n=$((n + 1))
	done
	kill "$flood"
	wait "$flood"
	return 0
}

hostname emxguest
check "veth loads" load veth
check "pair" make_pair
check "all frames sent are watched" watch --not 02:00:00:00:00:0a --not 03:00:00:00:00:0a --dialect W --dialect N=1500 /proc/self/ns/net
[ $failed = 0 ] || exit 1

for round in 1 2 3; do
	check "load, round $round" insmod /ethermx.ko ifnames=emx0 selftest=1
	check "frames, round $round" /frames emx1 answers
	check "unload, round $round" rmmod ethermx
done

insmod /ethermx.ko ifnames=emx0
check "unload under traffic" unload_under_traffic
rmmod ethermx

check "unknown interface" refuses "nosuch0: no such interface" ifnames=nosuch0
check "interface twice" refuses "emx0: attached already" ifnames=emx0,emx0
check "endpoints out of range" refuses "endpoints=257: give 1 to 256" endpoints=257
check "frame size out of range" refuses "frame_size=12: give 0, or" ifnames=emx0 frame_size=12
/bin/ip link set emx0 mtu 1500
check "MTU too small" refuses "emx0: its MTU of 1500 is below 4130" ifnames=emx0
check "dialect N fits" insmod /ethermx.ko ifnames=emx0 frame_size=1500
check "unload" rmmod ethermx
/bin/ip link set emx0 mtu 9000

insmod /ethermx.ko ifnames=emx0
/frames emx1 flood 2>/dev/null &
check "interface vanishes" /bin/ip link del emx0
check "board detached" gone emx0
check "unload without board" rmmod ethermx
wait

check "attach nothing" insmod /ethermx.ko
check "unload last" rmmod ethermx
check "nothing forbidden was sent" nothing_forbidden
exit $failed

# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# shellcheck shell=sh
# Tests that a user without privileges cannot do with the device what it must not. trespass.c says who is who.
#
#     trespass (raw socket) -- emx1 ======= emx0 -- ethermx
failed=0
. /check.sh
. /hosts.sh

make_pair() {
	/bin/ip link add emx0 mtu 9000 address 02:00:00:00:00:0b type veth \
		peer name emx1 mtu 9000 address 02:00:00:00:00:0a &&
		/bin/ip link set emx0 up && /bin/ip link set emx1 up
}

load_dummy() { [ -d /sys/module/dummy ] || insmod /dummy.ko numdummies=0; }

hostname emxguest
check "veth loads" load veth
check "dummy loads" load_dummy
check "pair" make_pair
check "all frames sent are watched" watch --dangers --not 02:00:00:00:00:0a --dialect N=9000 /proc/self/ns/net
# Nothing stays pinned: what a user has pinned at each point is exact.
check "module loads" insmod /ethermx.ko ifnames=emx0 frame_size=9000 keep_ms=0
[ $failed = 0 ] || exit 1

# Before others fill the table with newcomers, who would all be asked for their names before the one of this test.
check "no memory of others waits for page faults that nobody serves" /stuck emx1
check "no frames from an endpoint of others" /trespass send emx1
check "no look into the slots of others" /trespass slots emx1
check "no more pinned than the limit" /trespass pin emx1
check "no memory outside of the own" /trespass memory emx1
check "no more by user namespaces than others have" /namespaces
check "nothing that root decides" /trespass rights emx1
check "nobody sleeps in endpoints of others" /sleeps emx1
check "no frames from an endpoint of others, by io_uring" /trespass send emx1 uring
check "no more pinned than the limit, by io_uring" /trespass pin emx1 uring
check "no memory outside of the own, by io_uring" /trespass memory emx1 uring
check "nothing but commands by io_uring" /trespass uring emx1
check "nothing pinned" nothing_is_pinned
check "nothing forbidden was sent" nothing_forbidden
# A file that io_uring held is given back by a thread of the kernel.
check "unload" until_ok rmmod ethermx
check "interfaces go" /bin/ip link del emx0
check "random requests from user namespaces harm nobody" sh /storm.sh 8000
exit $failed

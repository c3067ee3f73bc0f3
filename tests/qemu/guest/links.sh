# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# shellcheck shell=sh
# Interfaces that are smaller than their boards' frames, and that vanish while large messages stream between the two hosts
# of hosts.sh: what can go on does, the rest ends, nothing is left. A board whose interface comes back is one again.
# Those that go down, are renamed and too small for a while are in faults.sh.
failed=0
. /check.sh
. /hosts.sh

# A stream of messages of 1 MiB in the background, until somebody ends it.
stream() { # OPTION...: of the client
	/bin/ip netns exec b timeout $HUNG /emx/tools/omx_perf >/tmp/server 2>&1 &
	server=$!
	/bin/ip netns exec a timeout $HUNG /emx/tools/omx_perf -d 02:00:00:00:00:0b --patience $HUNG -V -S 1M -E 1048577 \
		-T 0 -N 100000 -W 1 -P 0 "$@" >/tmp/client 2>&1 &
	client=$!
	until_ok something_is_pinned
}

data_frames() { counted b 'x data frames received'; }
more_data() { [ "$(data_frames)" -gt "$1" ]; }
stream_goes_on() { until_ok more_data $(($(data_frames) + 300)); }

stream_ends_badly() {
	wait $client
	status=$?
	wait $server
	cat /tmp/server /tmp/client
	[ $status != 0 ] && [ $status != 124 ]
}

# Frames are as long as the interfaces take when a message is asked for: those of the dialect would be lost.
both_smaller() {
	/bin/ip -n a link set eth0 mtu 4200 && /bin/ip -n b link set eth0 mtu 4200 &&
		pulls_by extension perf -S 256K -E 1048577 -M 4 -T 0 -N 1 -W 1
	status=$?
	/bin/ip -n a link set eth0 mtu 9000 && /bin/ip -n b link set eth0 mtu 9000 && return $status
}

# One is smaller when the programs begin, and larger than they know later. One way: the client has messages under way
# whenever its server dies.
grows_later() {
	/bin/ip -n a link set eth0 mtu 4200 && stream -U && /bin/ip -n a link set eth0 mtu 9000 && stream_goes_on || return
	kill -9 "$(pid_of_endpoint b 0)"
	stream_ends_badly && grep -qE 'closed|gone' /tmp/client
}

vanishes() {
	stream || return 1
	/bin/ip -n a link del eth0
	stream_ends_badly
}

no_board_is_left() { [ "$(find /sys/kernel/debug/ethermx -name counters | wc -l)" = 0 ]; }

# An interface of that name, but too small for the frames.
comes_back_small() {
	/bin/ip -n a link add eth0 mtu 1500 address 02:00:00:00:00:0a type veth \
		peer name eth0 netns b mtu 1500 address 02:00:00:00:00:0b &&
		/bin/ip -n a link set eth0 up && /bin/ip -n b link set eth0 up && no_board_is_left
}

two_boards() { [ "$(find /sys/kernel/debug/ethermx -name counters | wc -l)" = 2 ]; }
grows() { /bin/ip -n a link set eth0 mtu 9000 && /bin/ip -n b link set eth0 mtu 9000 && two_boards; }
gone_for_good() { /bin/ip -n a link del eth0 && until_ok no_board_is_left && detach; }

# The server stays inside, the name goes.
namespace_deleted() {
	stream || return 1
	holder=$(pid_of_endpoint b 0)
	/bin/ip netns del b
	kill -9 "$holder"
	stream_ends_badly
}

# A board of host b in a VLAN of its own: what it tells everybody is for nobody on host a, whose board counts it.
add_vlan() { # HOST
	/bin/ip -n "$1" link add link eth0 name vlan5 type vlan id 5 && /bin/ip -n "$1" link set vlan5 up
}
attach_vlan() { # HOST
	in_host "$1" /emx/tools/omx_attach -d eth0 && in_host "$1" /emx/tools/omx_attach vlan5:N=9000
}
others_come() { [ "$(counted a 'drop: for another host')" -gt 0 ]; }
of_another_vlan() {
	attach eth0:N=9000 && add_vlan b && attach_vlan b && until_ok others_come
}

# With a board in it on either host it is a network like others.
of_one_vlan() { add_vlan a && attach_vlan a && perf -T 0 -N 4 -M 64 -W 1; }
vlan_goes() {
	for host in a b; do
		in_host $host /emx/tools/omx_attach -d vlan5 && /bin/ip -n $host link del vlan5 || return
	done
}

hostname emxguest
export EMX_DEVICE=kernel
check "veth loads" load veth
check "hosts" make_hosts
check "module loads" insmod /ethermx.ko
check "VLANs" load llc stp garp mrp 8021q
check "frames of another VLAN are counted" of_another_vlan
check "messages by one VLAN" of_one_vlan
check "the VLAN goes" vlan_goes
check "all frames sent are watched" watch --both /run/netns/a --dialect N=9000
check "attach" attach eth0:N=9000
[ $failed = 0 ] || exit 1
check "both smaller: large messages by shorter frames" both_smaller
check "one smaller at first" grows_later
check "a name" in_host a /emx/tools/omx_hostname -n kept:0
check "vanishes" vanishes
check "boards went with it" no_board_is_left
check "nothing pinned" nothing_pinned
check "another interface of that name is no board while it is too small" comes_back_small
check "that interface is a board when it is large enough" grows
check "the board has the name that it had" says 'kept:0' in_host a /emx/tools/omx_info
check "messages" perf -T 0 -N 4 -M 64 -W 1
check "vanishes, and is detached" gone_for_good
check "detached once more" refuses 'not attached' in_host a /emx/tools/omx_attach -d eth0
check "comes back" make_link
check "a detached interface that comes back is no board" no_board_is_left
check "attach it" attach eth0:N=9000
check "namespace deleted" namespace_deleted
check "boards went with it" until_ok no_board_is_left
check "nothing forbidden was sent" nothing_forbidden
check "nothing pinned in the end" nothing_pinned
check "unload" rmmod ethermx
check "the other host goes" /bin/ip netns del a
exit $failed

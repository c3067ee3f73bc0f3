# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# shellcheck shell=sh
# The library and its tools over the module, between two hosts made of network namespaces:
#
#     a: eth0 02:00:00:00:00:0a ======= b: eth0 02:00:00:00:00:0b
#
# Messages of every class arrive unaltered, refusals come, processes die, nothing is left behind.
failed=0
. /check.sh
. /hosts.sh

# The server dies in the middle of a stream of large messages; its client hears of it soon.
killed_server() {
	yielding /bin/ip netns exec b /emx/tools/omx_perf >/tmp/server 2>&1 &
	yielding /bin/ip netns exec a timeout $HUNG /emx/tools/omx_perf -d 02:00:00:00:00:0b --patience $HUNG -S 1M -T 100000 \
		-N 100000 >/tmp/client 2>&1 &
	client=$!
	until_ok something_is_pinned || return 1
	kill -9 "$(pid_of_endpoint b 0)"
	wait "$client"
	status=$?
	cat /tmp/client
	[ $status != 0 ] && [ $status != 124 ] && [ $status != 143 ]
}

nobody_answers() {
	refuses 'nobody has that endpoint open' in_host a timeout $HUNG /emx/tools/omx_perf -d 02:00:00:00:00:0b -r 7 --patience 1
}

rmmod_while_open() {
	/bin/ip netns exec b /emx/tools/omx_perf >/tmp/server 2>&1 &
	server=$!
	until_ok endpoint_is_open b 0 || return 1
	rmmod ethermx 2>/dev/null && return 1
	refuses 'endpoints are open' in_host b /emx/tools/omx_attach -d eth0 || return 1
	kill -9 "$(pid_of_endpoint b 0)"
	wait "$server"
	return 0
}

loose_regions() { sed -n 's/ regions that could not be pinned//p' /sys/kernel/debug/ethermx/memory; }

# An ordinary user who may lock no more than 1 MiB: what is longer travels another way.
# shellcheck disable=SC2034 # hosts.sh reads $as
little_memory() {
	before=$(loose_regions)
	cat >/tmp/as_user <<-'EOF'
		#!/bin/sh
		ulimit -l 1024
		exec setpriv --reuid 1000 --regid 1000 --clear-groups --inh-caps=-all --bounding-set=-all "$@"
	EOF
	chmod +x /tmp/as_user
	as=/tmp/as_user
	perf -T 0 -N 5 -M 16 -W 1 && perf -x -S 1M -T 0 -N 2 -W 1
	status=$?
	unset as
	[ "$(loose_regions)" -gt "$before" ] && return $status
}

nothing_copied() { [ "$(account 'reply payloads copied')" = 0 ] && [ "$(account 'reply payloads sent as pages')" -gt 0 ]; }

without_extension() {
	export EMX_EXTENSION=0
	pulls_by dialect perf -S 100000 -E 1000001 -T 0 -N 5 -M 4 -W 1
	status=$?
	unset EMX_EXTENSION
	return $status
}

# Messages that no longer fit a fragment of the wide dialect.
several_fragments() { fragments_by extension "$@" -S 5000 -E 32769 -M 2 -T 0 -N 5 -W 1; }

fragments_without_extension() {
	export EMX_EXTENSION=0
	fragments_by dialect perf -S 5000 -E 32769 -M 2 -T 0 -N 5 -W 1
	status=$?
	unset EMX_EXTENSION
	return $status
}

wrong_sums() { counted "$1" 'drop: wrong checksum'; }

# Messages of every class: no short one goes as such.
summed() { # COMMAND...
	export EMX_CHECKSUM=1
	before=$(wrong_sums b)
	only_by 'x medium fragments' 'tiny messages' "$@" -T 0 -N 5 -M 16 -W 1
	status=$?
	unset EMX_CHECKSUM
	[ "$(wrong_sums b)" = "$before" ] && return $status
	echo 'sums are wrong that nobody has altered'
	return 1
}

# altered HOSTS COMMAND...: what comes to those of the module is altered now and then, and each of them drops and
# counts some; messages arrive as they were.
altered() {
	hosts=$1
	shift
	for host in $hosts; do
		alter "$host" 11 || return
		wrong_sums "$host" >/tmp/wrong."$host"
	done
	export EMX_CHECKSUM=1
	"$@" -S 500 -T 0 -N 10 -M 16 -W 1
	status=$?
	unset EMX_CHECKSUM
	for host in $hosts; do
		echo "host $host: $(cat /tmp/wrong."$host") wrong sums before, $(wrong_sums "$host") after"
		alter_no_more "$host" && [ "$(wrong_sums "$host")" -gt "$(cat /tmp/wrong."$host")" ] || status=1
	done
	return $status
}

# Altered data arrives altered where nobody sums up: the alteration is one.
arrives_altered() {
	alter b 11 || return
	perf -S 5000 -E 32769 -M 2 -T 0 -N 30 -W 0 >/tmp/altered 2>&1
	status=$?
	alter_no_more b || return
	cat /tmp/altered
	[ $status != 0 ] && grep -q 'messages arrived altered' /tmp/altered
}

spinning() { # COMMAND...
	# shellcheck disable=SC2034 # hosts.sh reads it
	waiting=
	"$@"
	status=$?
	# shellcheck disable=SC2034
	waiting=-w
	return $status
}

by_uring() { account 'commands by io_uring'; }

# Messages of every class, so many of each length, by that way; no fewer commands of io_uring than so many, and no more.
commands_by() { # WAY AT-LEAST AT-MOST MESSAGES
	before=$(by_uring)
	export EMX_COMMANDS="$1"
	perf -x -T 0 -N "$4" -M 16 -E 300000 -W 1
	status=$?
	unset EMX_COMMANDS
	used=$(($(by_uring) - before))
	echo "$used commands by io_uring"
	[ $used -ge "$2" ] && [ $used -le "$3" ] && return $status
}

# shellcheck disable=SC2034 # hosts.sh reads $as
uring_forbidden() {
	as=/no_uring
	commands_by uring 0 0 3
	status=$?
	unset as
	return $status
}

other_dialect_came() { [ "$(counted b 'drop: medium of the other dialect')" -gt 0 ]; }

# Counters and a test of the path name the fault.
other_dialect() {
	in_host a /emx/tools/omx_attach eth0:N=9000 && in_host b /emx/tools/omx_attach eth0:W || return
	/bin/ip netns exec b /emx/tools/omx_perf >/tmp/server 2>&1 &
	server=$!
	/bin/ip netns exec a /emx/tools/omx_perf -d 02:00:00:00:00:0b --patience $HUNG -S 1000 -E 1001 -N 2 >/tmp/client 2>&1 &
	client=$!
	until_ok other_dialect_came
	kill "$server" "$client"
	wait "$server" "$client"
	says 'diagnosis: dialect mismatch: [0-9]+ frames? of dialect N came here' in_host b /emx/tools/omx_counters &&
		refuses 'WRONG: dialect mismatch: that host speaks W, this one N=9000' in_host a /emx/tools/omx_check 02:00:00:00:00:0b
}

path_is_good() {
	/bin/ip netns exec b /emx/tools/omx_check -s >/tmp/server 2>&1 &
	server=$!
	until_ok endpoint_is_open b 30 || return
	says '^OK$' in_host a timeout $HUNG /emx/tools/omx_check -N 10 02:00:00:00:00:0b
	status=$?
	kill -9 "$(pid_of_endpoint b 30)"
	wait "$server"
	return $status
}

# Streams and whole messages of two nodes, one on each host, two threads each.
fast_messages() {
	in_host b /emx/tools/omx_hostname -n other:0 && in_host a /emx/tools/omx_init_peers 02:00:00:00:00:0b other:0 &&
		in_host b /emx/tools/omx_init_peers 02:00:00:00:00:0a elsewhere:0 || return 1
	job=elsewhere:0:20,other:0:20
	in_host b env FM_HOSTS=$job FM_NODE=1 timeout $HUNG /emx/tests/fm/fm_node >/tmp/fm_node 2>&1 &
	other=$!
	says '^node 0 of 2: 300 streams, 300 whole, 0 wrong' in_host a env FM_HOSTS=$job FM_NODE=0 timeout $HUNG /emx/tests/fm/fm_node
	said=$?
	cat /tmp/fm_node
	wait $other && return $said
}

# Messages, broadcasts and barriers of three nodes on two hosts, six threads each. Host names are those of fast_messages.
gamma() {
	job=elsewhere:0:20,other:0:20,other:0:21
	for node in 1 2; do
		in_host b env GAMMA_HOSTS=$job GAMMA_NODE=$node timeout $HUNG /emx/tests/gamma/gamma_node short >/tmp/gamma_$node 2>&1 &
		eval "gamma_$node=$!"
	done
	says '^node 0 of 3: 60 messages, 40 broadcasts, 0 wrong' in_host a env GAMMA_HOSTS=$job GAMMA_NODE=0 \
		timeout $HUNG /emx/tests/gamma/gamma_node short
	said=$?
	# shellcheck disable=SC2154 # set by eval
	wait "$gamma_1" && wait "$gamma_2" || said=1
	cat /tmp/gamma_1 /tmp/gamma_2
	return $said
}

by_frames_to_groups() { [ "$(counted a 'x group frames sent')" -gt 0 ] && [ "$(counted b 'x group frames received')" -gt 0 ]; }

# The interface of the host takes frames to a group.
is_in_group() { in_host "$1" grep -q '0345[0-9a-f]\{8\}$' /proc/net/dev_mcast; }
no_host_is_in_a_group() { ! is_in_group a && ! is_in_group b; }

# Each in the middle of its messages.
members_killed() {
	job=elsewhere:0:20,other:0:20,other:0:21
	for node in 0 1 2; do
		host=b
		[ $node != 0 ] || host=a
		yielding /bin/ip netns exec $host env GAMMA_HOSTS=$job GAMMA_NODE=$node timeout $HUNG /emx/tests/gamma/gamma_node >/tmp/gamma_$node 2>&1 &
		eval "gamma_$node=$!"
	done
	until_ok is_in_group a && until_ok is_in_group b
	joined=$?
	kill -9 "$(pid_of_endpoint a 20)" "$(pid_of_endpoint b 20)" "$(pid_of_endpoint b 21)" || joined=1
	# shellcheck disable=SC2154 # set by eval
	wait "$gamma_0" "$gamma_1" "$gamma_2"
	[ $joined = 0 ] && until_ok no_host_is_in_a_group
}

# Short messages and longer ones, many at once. The frames that carry several go to and come from the module.
share_frames() { # FIRST LAST
	sent=$(counted a 'x packs sent') received=$(counted b 'x packs received')
	perf -U --stretch -S "$1" -E "$(($2 + 1))" -M 4 -T 0 -N 2000 -W 1 &&
		[ "$(counted a 'x packs sent')" -gt "$sent" ] && [ "$(counted b 'x packs received')" -gt "$received" ]
}

hostname emxguest
export EMX_OMXD=/emx/tools/omxd/omxd
check "veth loads" load veth
check "hosts" make_hosts
check "all frames sent are watched" watch --both /run/netns/a --dialect N=9000 --dialect W --spare 255
check "module loads" insmod /ethermx.ko
check "frames may be altered" may_alter
[ $failed = 0 ] || exit 1

export EMX_DEVICE=kernel
check "no board: the library says so" refuses 'no board in this network namespace' in_host a /emx/tools/omx_perf
check "attach" attach eth0:N=9000
check "attach twice" refuses 'attached already' in_host a /emx/tools/omx_attach eth0:N=9000
check "messages, 0 B to 4 MiB" pulls_by extension perf -E 4194305 -T 0 -N 5 -M 4 -W 1
check "sent from their own pages" nothing_copied
check "without the extension" without_extension
check "nothing pinned" nothing_pinned
check "synchronous messages" perf -Y -T 0 -N 5 -M 16 -E 100000 -W 1
check "streams both ways" perf -x -T 0 -N 5 -M 16 -E 100000 -W 1
check "streams of short messages share frames" share_frames 1 128
check "streams of longer ones, too" share_frames 129 2048
check "a program that spins" spinning perf -T 0 -N 5 -M 64 -W 1
check "commands by io_uring" commands_by uring 100 1000000 20
check "where io_uring is forbidden" uring_forbidden
check "commands by an ioctl each" commands_by ioctl 0 0 3
check "ordinary users, beyond the limit of locked memory" little_memory
check "nobody there" nobody_answers
check "omx_info" says 'kernel module ethermx' in_host a /emx/tools/omx_info -v
check "omx_info by itself" says 'eth0 addr 02:00:00:00:00:0b' in_host b env -u EMX_DEVICE /emx/tools/omx_info
check "omx_info shows the peer's name" says '02:00:00:00:00:0b emxguest:0' in_host a /emx/tools/omx_info
check "omx_counters" says 'tiny messages received' in_host a /emx/tools/omx_counters
check "omx_check" path_is_good
check "omx_hostname" says 'elsewhere:0' in_host a /emx/tools/omx_hostname -v -n elsewhere:0
check "omx_init_peers" in_host a /emx/tools/omx_init_peers 02:00:00:00:00:0c third:0
# A build without Boost.Context has none.
[ ! -e /emx/tests/fm/fm_node ] || check "Fast Messages" fast_messages
if [ -e /emx/tests/gamma/gamma_node ]; then
	check "GAMMA" gamma
	check "broadcasts went by frames to the group" by_frames_to_groups
	check "groups are left" until_ok no_host_is_in_a_group
	check "members of a group are killed" members_killed
fi
check "Fast Messages: the peer" says '02:00:00:00:00:0c third:0' in_host a /emx/tools/omx_info
check "the server is killed" killed_server
check "nothing pinned after kill -9" nothing_pinned
check "the engine refuses an interface of the module" refuses 'kernel module ethermx has interface eth0' \
	in_host a env EMX_DEVICE=engine EMX_BOARDS=eth0:N=9000 /emx/tools/omx_info
check "in use: neither unloaded nor detached" rmmod_while_open
check "detach" detach
check "board agent" start_agent
check "the module refuses an interface of the agent" refuses 'in use by omxd' in_host a /emx/tools/omx_attach eth0:N=9000
check "module on the other host" in_host b /emx/tools/omx_attach eth0:N=9000
check "engine against module" pulls_by extension perf_between a engine b kernel -T 0 -N 5 -M 16 -W 1
check "module against engine" pulls_by extension perf_between b kernel a engine -T 0 -N 5 -M 16 -W 1
check "agent ends" stop_agent
check "detach the other" in_host b /emx/tools/omx_attach -d eth0
check "board agent, wide dialect" start_agent eth0:W
check "module on the other host, wide dialect" in_host b /emx/tools/omx_attach eth0:W
check "engine against module, fragments by the extension" several_fragments perf_between a engine b kernel
check "module against engine, likewise" several_fragments perf_between b kernel a engine
check "engine against module, with checksums" summed perf_between a engine b kernel
check "module against engine, with checksums" summed perf_between b kernel a engine
check "engine against module, frames altered" altered b perf_between a engine b kernel
check "module against engine, frames altered" altered b perf_between b kernel a engine
check "agent ends" stop_agent
check "detach the other again" in_host b /emx/tools/omx_attach -d eth0
check "attach, wide dialect" attach eth0:W
check "messages, wide dialect" pulls_by extension perf -T 0 -N 5 -M 16 -W 1
check "fragments by the extension" several_fragments perf
check "fragments without the extension" fragments_without_extension
check "with checksums" summed perf
check "frames altered: repaired" altered 'a b' perf
check "without checksums: seen by the program" arrives_altered
check "detach again" detach
check "two dialects" other_dialect
check "detach once more" detach
check "nothing forbidden was sent" nothing_forbidden
check "a forbidden frame is found" planted_is_found
check "nothing pinned in the end" nothing_pinned
cat /sys/kernel/debug/ethermx/memory
echo 1 >/proc/sys/vm/stat_refresh
grep nr_foll_pin /proc/vmstat
check "unload" rmmod ethermx
check "hosts go" hosts_go
exit $failed

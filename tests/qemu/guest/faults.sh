# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# shellcheck shell=sh
# kernel: slub_debug=U,kmalloc-*
# Faults while small, medium and large messages stream between the two hosts of hosts.sh: processes killed, the
# module unloaded, interfaces down, renamed and too small, a network namespace deleted, memory unmapped, forked and
# left by exec, memory scarce and moved about. What can go on does; after each nothing is held that was not before.
# links.sh has more on interfaces.
failed=0
. /check.sh
. /hosts.sh
. /held.sh

# ---- what is held ----

# Each of them is more than it was. Between two messages nothing may be pinned.
all_grown() {
	held >/tmp/now
	[ "$(cat /tmp/held /tmp/now | awk '($2 in was) { grown += $1 + 0 > was[$2] } { was[$2] = $1 + 0 } END { print grown + 0 }')" = 4 ]
}

# Endpoints in use must show in each of them: else nothing_lost could not fail.
account_sees() {
	stream large || return 1
	until_ok all_grown
	seen=$?
	cat /tmp/now
	stop_stream large && return $seen
}

# ---- streams ----

endpoint_of() { case $1 in small) echo 8 ;; medium) echo 9 ;; large) echo 10 ;; esac; }
length_of() { case $1 in small) echo 100 ;; medium) echo 20000 ;; large) echo 262144 ;; esac; }
label_of() {
	case $1 in
	small) echo 'small messages received' ;;
	medium) echo 'medium fragments received' ;;
	large) echo 'x data frames received' ;;
	esac
}

# Counters of all boards.
received() { # KIND
	awk -v label="$(label_of "$1")" 'substr($0, index($0, " ") + 1) == label { n += $1 } END { print n + 0 }' \
		/sys/kernel/debug/ethermx/*/counters
}

more_than() { [ "$(received "$2")" -gt "$1" ]; }
goes_on() { until_ok more_than $(($(received "$1") + ${2:-0})) "$1"; } # KIND [FRAMES]
all_go_on() { goes_on small && goes_on medium && goes_on large; }

# One way: whatever happens to the server, the client has messages under way, whose errors it must get. One that only
# receives may wait for ever for one that is gone. No time is set: how many messages fit into one would be guessed from
# the first, which may take a second on an emulated machine.
verify=-V
client() { # KIND
	# shellcheck disable=SC2086 # no word when it is empty
	yielding /bin/ip netns exec a timeout $HUNG /emx/tools/omx_perf -d 02:00:00:00:00:0b -r "$(endpoint_of "$1")" --patience $HUNG \
		-U $verify -w -P 0 -W 1 -T 0 -N 1000000000 -S "$(length_of "$1")" -E $(($(length_of "$1") + 1)) >"/tmp/client_$1" 2>&1
}

# Until somebody ends it. The first message is the client's warm-up; after it both sides prepare for the others, and
# nothing is under way.
stream() { # KIND
	yielding /bin/ip netns exec b /emx/tools/omx_perf -w --patience $HUNG -e "$(endpoint_of "$1")" >"/tmp/server_$1" 2>&1 &
	eval "server_$1=$!"
	client "$1" &
	eval "client_$1=$!"
	goes_on "$1" 200
}

# Kills what the kernel says has that endpoint; who waits for it takes the rest.
kill_holder() { # HOST NUMBER
	holder=$(pid_of_endpoint "$1" "$2")
	[ -n "$holder" ] && kill -9 "$holder"
}

ends_badly() { # KIND PATTERN: the client, which says that
	eval "wait \$client_$1"
	ended=$?
	cat "/tmp/client_$1"
	[ $ended != 0 ] && [ $ended != 124 ] && [ $ended != 143 ] && grep -qE "$2" "/tmp/client_$1"
}

stop_stream() { # KIND
	kill_holder b "$(endpoint_of "$1")" && ends_badly "$1" 'closed|gone'
}

all_streams() { stream small && stream medium && stream large; }

# ---- processes ----

server_killed() {
	kill_holder b "$(endpoint_of large)" && ends_badly large 'closed|gone' && goes_on small && goes_on medium
}

pid_of_client() { # KIND: of host a's endpoints the one that talks to it
	for process in $(sed -n 's/^[0-9]* process \([0-9]*\) .*/\1/p' "/sys/kernel/debug/ethermx/$(directory_of a)/endpoints"); do
		tr '\0' ' ' <"/proc/$process/cmdline" | grep -q -- "-r $(endpoint_of "$1") " && echo "$process"
	done
}

server_has_ended() { ! endpoint_is_open b "$(endpoint_of "$1")"; }

kill_client() { # KIND
	kill -9 "$(pid_of_client "$1")" || return 1
	eval "wait \$client_$1"
	nothing_pinned
}

# Count of announcements of large messages that came to host b.
announced() { counted b 'rendezvous received'; }
more_announced() { [ "$(announced)" -gt "$1" ]; }
is_stopped() { ! grep -h '^State:' /proc/"$1"/task/*/status | grep -qv 'T (stopped)'; }

# Stops the server of large messages so that one lies in its ring which it has not looked at. It may happen to stop
# when all that is under way has come already; then it goes on for a while.
stop_before_message() { # PROCESS
	stops=0
	while [ $stops -lt 200 ]; do
		kill -STOP "$1" && until_ok is_stopped "$1" || return 1
		before=$(announced)
		# tidy-allow(sleep): another attempt is made where none comes meanwhile
		sleep 1
		more_announced "$before" && return
		kill -CONT "$1"
		goes_on large || return 1
		stops=$((stops + 1))
	done
	return 1
}

# The message that the server wants to fetch then fails.
fetched_from_killed() {
	verify=
	stream large
	streams=$?
	verify=-V
	server=$(pid_of_endpoint b "$(endpoint_of large)")
	[ $streams = 0 ] && stop_before_message "$server" || return 1
	kill_client large || return 1
	kill -CONT "$server"
	until_ok server_has_ended large
	ended=$?
	# shellcheck disable=SC2154 # set by eval
	[ $ended != 0 ] || wait "$server_large" # which tells more behind its endpoint
	cat /tmp/server_large
	[ $ended = 0 ] && grep -qE 'closed|gone' /tmp/server_large
}

# Its server may have nothing under way: then it asks.
client_killed() { # KIND
	kill_client "$1" || return 1
	until_ok server_has_ended "$1" && goes_on small && stream "$1"
}

large_client_killed() {
	stream large && client_killed large && stop_stream large
}

stop_others() { stop_stream small && stop_stream medium; }

unload_refused() { ! rmmod ethermx 2>/dev/null && goes_on small; }

# ---- interfaces ----

set_a() { /bin/ip -n a link set "$@"; }
down_and_up() { set_a eth0 down && something_is_missed && set_a eth0 up && all_go_on; }
too_small() { set_a eth0 mtu 1000 && goes_on small && set_a eth0 mtu 9000 && all_go_on; }
renamed() {
	set_a eth0 down && set_a eth0 name other0 && set_a other0 up && all_go_on || return 1
	set_a other0 down && set_a other0 name eth0 && set_a eth0 up && all_go_on
}

# The servers are inside and keep it alive; when they are gone so is it, and with it both ends of the link.
namespace_deleted() {
	all_streams || return 1
	/bin/ip netns del b
	all_go_on || return 1
	for kind in small medium large; do
		kill_server "$kind"
	done
	for kind in small medium large; do
		ends_badly "$kind" 'closed|does not answer|gone' || return 1
	done
}

kill_server() { # KIND
	eval "kill -9 \$server_$1 && wait \$server_$1"
	return 0
}

host_returns() {
	until_ok interface_is_gone && /bin/ip netns add b && make_link && /bin/ip -n b link set lo up &&
		in_host b /emx/tools/omx_attach eth0:N=9000
}
no_interface_is_held() { /bin/ip netns del a && /bin/ip netns del b && timeout $HUNG rmmod veth; }
interface_is_gone() { ! /bin/ip -n a link show eth0 >/dev/null 2>&1; }

# ---- memory ----

available() { sed -n 's/^MemAvailable: *\([0-9]*\) kB/\1/p' /proc/meminfo; }

# All but so many MiB is taken by a file, and there is nowhere to swap to.
fill_memory() { # MIB
	mkdir -p /full && mount -t tmpfs -o size=95% tmpfs /full &&
		dd if=/dev/zero of=/full/file bs=1M count=$(($(available) / 1024 - $1)) 2>/dev/null
	echo "$(($(available) / 1024)) MiB available"
}

# Pages that can be moved are; pinned ones must not be.
move_memory() {
	echo 4 >/proc/sys/vm/drop_caches # no line in the log for each of the others
	while :; do
		echo 1 >/proc/sys/vm/compact_memory
		echo 3 >/proc/sys/vm/drop_caches
	done
}

scarce_memory() {
	fill_memory 128
	move_memory &
	mover=$!
	perf -w -T 0 -N 2 -M 16 -W 1
	sent=$?
	kill $mover
	wait $mover
	umount /full
	return $sent
}

make_third() {
	/bin/ip link add emx0 mtu 9000 address 02:00:00:00:00:0d type veth \
		peer name emx1 mtu 9000 address 02:00:00:00:00:0c &&
		/bin/ip link set emx0 up && /bin/ip link set emx1 up && /emx/tools/omx_attach emx0:N=9000
}

hostname emxguest
export EMX_DEVICE=kernel
check "veth loads" load veth
check "hosts" make_hosts
check "module loads" insmod /ethermx.ko
check "attach" attach eth0:N=9000
check "another board" make_third
# The third board sends what users of the bare driver let it send, which connect to nobody.
check "all frames sent are watched" watch --both /run/netns/a --not 02:00:00:00:00:0c --not 02:00:00:00:00:0d --dialect N=9000 \
	/proc/self/ns/net
check "messages" perf -w -T 0 -N 2 -M 64 -W 1
check "no endpoint is left" until_ok no_endpoint_is_left
[ $failed = 0 ] || exit 1
check "the account of held memory is taken" remember
check "an open endpoint shows in the account" account_sees
check "nothing lost" nothing_lost

# Nothing stays pinned after a message but where that is the matter.
keep() { echo "$1" >/sys/module/ethermx/parameters/keep_ms; }
keep 0
for extension in '' extension; do
	# shellcheck disable=SC2086 # nothing, or a word
	check "memory unmapped${extension:+, by the extension}" /regions unmap emx1 $extension
	# shellcheck disable=SC2086
	check "fork${extension:+, by the extension}" /regions fork emx1 $extension
	# shellcheck disable=SC2086
	check "exec${extension:+, by the extension}" /regions exec emx1 $extension
done
keep 3600000
check "memory that stays pinned changes" /idle changes emx1
check "memory that stays pinned changes at random" /idle random emx1
check "memory that stays pinned is bounded" /idle limit emx1
keep 100
check "memory that stays pinned is let go of" /idle ends emx1
keep 1000
check "nothing lost" nothing_lost

check "streams" all_streams
check "the module cannot be unloaded" unload_refused
check "interface down and up" down_and_up
check "interface too small for a while" too_small
check "interface renamed" renamed
check "server killed" server_killed
check "client killed while its large message waits for the server" fetched_from_killed
check "client killed" client_killed medium
check "client of large messages killed at any point" large_client_killed
check "the others end" stop_others
check "nothing lost" nothing_lost

check "namespace deleted" namespace_deleted
check "the deleted namespace returns" host_returns
check "messages" perf -w -T 0 -N 2 -M 64 -W 1
check "nothing lost" nothing_lost

check "scarce memory" scarce_memory
check "nothing lost" nothing_lost

check "nothing forbidden was sent" nothing_forbidden
check "detach" detach
check "detach the third" /emx/tools/omx_attach -d emx0
check "interfaces go" timeout $HUNG /bin/ip link del emx0
check "unload" rmmod ethermx
# Deleting waits for the last reference on an interface and on a network namespace.
check "no interface is held" no_interface_is_held
exit $failed

# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# shellcheck shell=sh
# The module's tracepoints (driver/linux/trace.h) against its counters: as many frames of each type as were received, as many
# drops of each reason, copies as many as were counted, and no pull or endpoint that begins without an end.
failed=0
. /check.sh
. /hosts.sh
tracing=/sys/kernel/tracing

# ---- events

mount_tracing() {
	mount -t tracefs tracefs $tracing && echo 16384 >$tracing/buffer_size_kb
}
all_events_exist() {
	(cd $tracing/events/ethermx && echo emx_*) >/tmp/events
	cat /tmp/events
	[ "$(cat /tmp/events)" = "emx_endpoint_closed emx_endpoint_opened emx_frame_copied emx_frame_dropped emx_frame_received emx_pull_ended emx_pull_started" ]
}
events_on() { echo >$tracing/trace && echo 1 >$tracing/events/ethermx/enable; }
# Leaves them in /tmp/trace: every one, since none was overwritten.
events_off() {
	echo 0 >$tracing/events/ethermx/enable && grep ': emx_' $tracing/trace >/tmp/trace || return
	for event in endpoint_opened frame_received frame_dropped pull_started frame_copied pull_ended endpoint_closed; do
		grep -m 1 ": emx_$event: " /tmp/trace
	done
	wc -l </tmp/trace
	! grep -E -h '^(overrun|dropped events): [^0]' $tracing/per_cpu/cpu*/stats
}
nothing_is_recorded() { # COMMAND...
	"$@" && ! grep ': emx_' $tracing/trace
}

events() { # EVENT PATTERN: their lines
	grep -E ": emx_$1: .*$2" /tmp/trace
}
count_of() { events "$@" | wc -l; }
sum_of() { # FIELD EVENT PATTERN
	field=$1
	shift
	events "$@" | sed "s/.* $field=\([0-9]*\).*/\1/" | awk '{ sum += $1 } END { print sum + 0 }'
}
of_host() { echo "mac=02:00:00:00:00:0$1 .*"; }

same() { # WHAT EVENTS COUNTER
	[ "$2" = "$3" ] && return
	echo "$1: $2 in events, $3 in counters"
	return 1
}

# ---- what they are compared with; counters of boards that were attached after the events went on

# Lines "HOST TYPE FRAMES" of all types that came. A frame with a wrong checksum, or one more than wait for a thread, is right in
# all that the core looks at, and dropped before it is counted as received. Without beacons (RAW): one
# may come after the events are off.
received() {
	awk '
		{ at = index($0, ": emx_"); event = substr($0, at + 2); sub(/:.*/, "", event) }
		event != "emx_frame_received" && event != "emx_frame_dropped" { next }
		{
			host = type = $0
			sub(/.* mac=02:00:00:00:00:0/, "", host); sub(/ .*/, "", host)
			sub(/.* type=/, "", type); sub(/ .*/, "", type)
		}
		type == "RAW" { next }
		event == "emx_frame_received" { frames[host " " type]++; next }
		/wrong checksum$/ || (/event queue full$/ && type ~ /^(X_DATA|PULL_REPLY)$/) { frames[host " " type]-- }
		END { for (key in frames) print key, frames[key] }' /tmp/trace | sort
}
# The same lines as the counters have them.
counted_types() { # HOST...
	for host; do
		sed -n '/ raw frames /d; s/^\([1-9][0-9]*\) \(.*\) received$/\2:\1/p' "/sys/kernel/debug/ethermx/$(directory_of "$host")/counters" |
			sed "s/^tiny messages/TINY/; s/^small messages/SMALL/; s/^medium fragments/MEDIUM/; s/^rendezvous/RNDV/
				s/^notifies/NOTIFY/; s/^explicit acks/TRUC/; s/^connect packets/CONNECT/; s/^pull requests/PULL/
				s/^pull replies/PULL_REPLY/; s/^host queries/HOST_QUERY/; s/^host replies/HOST_REPLY/
				s/^lib nacks/NACK_LIB/; s/^mcp nacks/NACK_MCP/; s/^x medium fragments/X_MEDIUM/; s/^x reports/X_REPORT/
				s/^x pull requests/X_PULL/; s/^x data frames/X_DATA/; s/:/ /; s/^/$host /"
	done | sort
}
received_as_counted() { # TYPES HOST...: of at least so many types
	least=$1
	shift
	received >/tmp/received
	counted_types "$@" >/tmp/counted
	cat /tmp/received
	diff /tmp/received /tmp/counted && [ "$(cut -d' ' -f2 /tmp/received | sort -u | wc -l)" -ge "$least" ]
}

# The library's own drops are in its page, and none of the module's.
of_library='no such partner|outside the window|contradicting fragments'

# In COUNTERS, a file of debugfs, as in the events of that board; with at least so many reasons.
dropped_as_counted() { # REASONS COUNTERS MAC
	events frame_dropped "mac=$3 " | sed 's/.* reason=[0-9]* //' | sort | uniq -c | sed 's/^ *//' >/tmp/dropped
	grep '^[1-9][0-9]* drop: ' "$2" | grep -vE "$of_library" | sort -k 2 >/tmp/counted
	wc -l </tmp/dropped
	[ "$(wc -l </tmp/dropped)" -ge "$1" ] && sort -k 2 /tmp/dropped | diff - /tmp/counted
}
hosts_drop_as_counted() { # REASONS HOST...
	least=$1
	shift
	for host; do
		dropped_as_counted "$least" "/sys/kernel/debug/ethermx/$(directory_of "$host")/counters" "02:00:00:00:00:0$host" || return
	done
}

# Each has begun and ended once, in that order.
pairs() { # BEGIN END FIELDS-OF-ITS-NAME
	awk -v begin="emx_$1:" -v end="emx_$2:" -v fields="$3" '
		{
			at = index($0, "emx_")
			split(substr($0, at), word, " ")
			if (word[1] != begin && word[1] != end)
				next
			split(fields, wanted, ",")
			name = ""
			for (i in wanted)
				for (w in word)
					if (index(word[w], wanted[i] "=") == 1)
						name = name " " word[w]
			if (word[1] == begin) {
				began++
				if (name in open) print "began twice:" name
				open[name] = 1
			} else {
				ended++
				if (!(name in open)) print "ended, and never began:" name
				delete open[name]
			}
		}
		END {
			for (name in open) print "never ended:" name
			printf "%d began, %d ended\n", began, ended
		}' /tmp/trace >/tmp/pairs
	cat /tmp/pairs
	[ "$(wc -l </tmp/pairs)" = 1 ] && ! grep -q '^0 ' /tmp/pairs
}
pulls_are_pairs() {
	pairs pull_started pull_ended mac,endpoint,handle && same "bytes" "$(sum_of received pull_ended status=OK)" "$(sum_of length pull_ended status=OK)"
}
endpoints_are_pairs() { pairs endpoint_opened endpoint_closed mac,endpoint,session; }

by_processor() { account 'bytes of pulls copied by the processor'; }
by_dma() { account 'bytes of pulls copied by a DMA engine'; }
copied_as_counted() {
	for host in a b; do
		same "host $host" "$(count_of frame_copied "$(of_host $host)")" "$(counted $host 'pull replies placed by the kernel')" || return
	done
	same "by the processor" "$(sum_of length frame_copied by=processor)" $(($(by_processor) - processor)) &&
		same "by the DMA engine" "$(sum_of length frame_copied by=dma)" $(($(by_dma) - dma)) || return
	for copier in processor dma thread; do
		echo "$(count_of frame_copied by=$copier) by $copier"
		[ "$(count_of frame_copied by=$copier)" -gt 0 ] || return
	done
}
remember_copied() { processor=$(by_processor) dma=$(by_dma); }

# Each large message is a pull of so many bytes, and all of these are copied by somebody.
copies_are_whole() { same "bytes" "$(sum_of length frame_copied by=)" "$(sum_of received pull_ended '')"; }

# ---- traffic

# An ordinary user who may lock no more than 1 MiB: what is longer is copied by a thread.
# shellcheck disable=SC2034 # hosts.sh reads $as
little_memory() {
	cat >/tmp/as_user <<-'END'
		#!/bin/sh
		ulimit -l 1024
		exec setpriv --reuid 1000 --regid 1000 --clear-groups --inh-caps=-all --bounding-set=-all "$@"
	END
	chmod +x /tmp/as_user
	as=/tmp/as_user
	perf -S 1M -T 0 -N 1 -W 1
	status=$?
	unset as
	return $status
}

altered() {
	alter b 7 || return
	export EMX_CHECKSUM=1
	perf -S 500 -T 0 -N 2 -M 16 -W 1
	status=$?
	unset EMX_CHECKSUM
	alter_no_more b && return $status
}

without_extension() {
	export EMX_EXTENSION=0
	perf -S 5000 -E 200000 -T 0 -N 1 -M 4 -W 1
	status=$?
	unset EMX_EXTENSION
	return $status
}

killed_server() {
	/bin/ip netns exec b /emx/tools/omx_perf >/tmp/server 2>&1 &
	server=$!
	until_ok endpoint_is_open b 0 || return
	kill -9 "$server"
	wait "$server"
	return 0
}

make_stranger() {
	/bin/ip link add emx0 mtu 9000 address 02:00:00:00:00:0b type veth peer name emx1 mtu 9000 address 02:00:00:00:00:0a &&
		/bin/ip link set emx0 up && /bin/ip link set emx1 up
}

export EMX_DEVICE=kernel
load veth
check "hosts" make_hosts
check "all frames sent are watched" watch --both /run/netns/a --dialect N=9000
check "frames may be altered" may_alter
check "a DMA engine" insmod /softdma.ko
check "module loads" insmod /ethermx.ko
check "tracefs" mount_tracing
check "the tracepoints are there" all_events_exist
check "attach" attach eth0:N=9000
[ $failed = 0 ] || exit 1

check "off, they record nothing" nothing_is_recorded perf -S 100 -T 0 -N 1 -M 16 -E 70000 -W 0
check "detach" detach
remember_copied
check "on" events_on
check "attach again" attach eth0:N=9000
check "messages, 0 B to 1 MiB" perf -T 0 -N 2 -M 4 -W 1
check "an ordinary user with little memory" little_memory
check "frames altered" altered
check "without the extension" without_extension
check "a program is killed" killed_server
check "off again" events_off
check "as many frames of each type as were received" received_as_counted 11 a b
check "as many drops of each reason as were counted, host a" hosts_drop_as_counted 0 a
check "as many drops of each reason as were counted, host b" hosts_drop_as_counted 1 b
check "each pull that starts ends" pulls_are_pairs
check "each endpoint that opens closes" endpoints_are_pairs
check "as many copies as were counted, by all three" copied_as_counted
check "all bytes of pulls were copied" copies_are_whole
check "nothing pinned" nothing_pinned
check "nothing forbidden was sent" nothing_forbidden
check "detach once more" detach
check "hosts go" hosts_go

check "a stranger on the wire" make_stranger
check "unload" rmmod ethermx
check "module loads again" insmod /ethermx.ko
check "on again" events_on
check "the stranger's board" /emx/tools/omx_attach emx0:W
check "frames of a stranger" /frames emx1 answers
check "off at last" events_off
check "as many drops of each reason of the stranger's as were counted" \
	dropped_as_counted 5 /sys/kernel/debug/ethermx/emx0/counters 02:00:00:00:00:0b
check "detach the stranger's board" /emx/tools/omx_attach -d emx0
check "the wire goes" /bin/ip link del emx0
check "tracefs goes" umount $tracing
check "unload last" rmmod ethermx
check "the engine unloads" rmmod softdma
exit $failed

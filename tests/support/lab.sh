# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# shellcheck shell=dash
# Hosts made of network namespaces and what joins them: the one description, for bash, dash and busybox. Source it behind
# check.sh, whose until_ok it uses. netlab.sh makes whole networks of it.
#
#   lab_host NS                            a namespace with lo, without IPv6
#   lab_pair MTU NS IF MAC NS IF MAC       two interfaces joined by a cable, both up
#   lab_switch NS MTU                      a bridge, br0, in a namespace of its own
#   lab_port SWITCH PORT MTU NS IF MAC     an interface that is plugged into the bridge
#   lab_carrier NS IF                      waits until its link is up
#   lab_watch PROGRAM REPORT OPTION...     wirewatch judges frames from now on; what it says goes to the file REPORT
#   lab_unwatch REPORT                     until now; true if none was forbidden
#   lab_gone PID...                        waits until these processes have ended
#   lab_remove NS...                       ends what runs there and removes them

lab_host() {
	ip netns add "$1" || return
	# Before any interface comes up: IPv6 would send router solicitations into the measurement.
	ip netns exec "$1" sh -c 'for f in /proc/sys/net/ipv6/conf/*/disable_ipv6; do [ ! -e "$f" ] || echo 1 >"$f"; done
		echo reno >/proc/sys/net/ipv4/tcp_congestion_control
		ip link set lo up'
}

lab_pair() {
	ip -n "$2" link add "$3" mtu "$1" address "$4" type veth peer name "$6" netns "$5" mtu "$1" address "$7" &&
		ip -n "$2" link set "$3" up && ip -n "$5" link set "$6" up
}

lab_switch() {
	lab_host "$1" && ip -n "$1" link add br0 mtu "$2" type bridge forward_delay 0 mcast_snooping 0 &&
		ip -n "$1" link set br0 mtu "$2" up
}

lab_port() {
	ip -n "$4" link add "$5" mtu "$3" address "$6" type veth peer name "$2" netns "$1" mtu "$3" &&
		ip -n "$1" link set "$2" master br0 up && ip -n "$4" link set "$5" up
}

lab_is_up() { ip netns exec "$1" grep -qx up "/sys/class/net/$2/operstate"; }
lab_carrier() { until_ok 60 lab_is_up "$@"; }

# The watcher is no job of the script, none of whose "wait" shall wait for it. It gets what processor time the hosts
# leave: its ring is patient, and a host that cannot run in time repeats what is not lost.
lab_watch() {
	local program report
	program=$1 report=$2
	shift 2
	[ -x "$program" ] || { echo "no program $program: build it" >&2; return 1; }
	: >"$report"
	(chrt -i 0 "$program" --while $$ "$@" >"$report" 2>&1 </dev/null & echo $! >"$report.pid")
	until_ok 60 grep -qE '^(watching|wirewatch:)' "$report"
	grep -q '^watching' "$report" || { echo "nobody watches the frames: $(cat "$report")" >&2; return 1; }
}

lab_unwatch() {
	local pid
	pid=$(cat "$1.pid")
	kill "$pid" 2>/dev/null
	until_ok 120 grep -q '^wirewatch:' "$1" || kill -9 "$pid"
	lab_gone "$pid"
	sed '/^watching$/d' "$1"
	grep -q '^wirewatch: .*, 0 violations$' "$1"
}

lab_ended() {
	local pid
	for pid in "$@"; do
		case $(cat "/proc/$pid/stat" 2>/dev/null) in
		'' | *') Z '* | *') X '*) ;;
		*) return 1 ;;
		esac
	done
}
lab_gone() { [ $# = 0 ] || until_ok 60 lab_ended "$@"; }

lab_remove() {
	local ns pid pids
	pids=
	for ns in "$@"; do
		for pid in $(ip netns pids "$ns"); do
			kill -9 "$pid"
			pids="$pids $pid"
		done
		ip netns del "$ns"
	done
	# Processes that were told to end take a moment to close their sockets; nobody shall find them after us.
	# shellcheck disable=SC2086 # words
	lab_gone $pids
}

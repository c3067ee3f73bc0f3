# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# shellcheck shell=sh
# Measures messages over the module, the engine and TCP, in turns; for tests/bench/kernel, which says what is
# counted. Each has a link of its own, and nothing else listens there:
#
#     module: 02:00:00:00:00:1a = 1b     engine: 2a = 2b     tcp: 3a 10.0.0.1 = 3b 10.0.0.2
#
# Arguments: rounds, milliseconds for each length, and the rows to measure, WAY:WHAT.
# Figures are lines "csv ROUND WAY WHAT," and what the program printed; the rest is for readers.
failed=0
. /check.sh
. /hosts.sh
rounds=$1
time=$2
shift 2
PATH=/emx/tools:/emx/tests/bench:$PATH

link() { # NAME DIGIT
	/bin/ip netns add "$1-a" && /bin/ip netns add "$1-b" &&
		/bin/ip -n "$1-a" link add eth0 mtu 9000 address "02:00:00:00:00:${2}a" type veth \
			peer name eth0 netns "$1-b" mtu 9000 address "02:00:00:00:00:${2}b" || return
	for side in a b; do
		/bin/ip -n "$1-$side" link set lo up && /bin/ip -n "$1-$side" link set eth0 up &&
			in_host "$1-$side" ethtool -K eth0 tso off gso off gro off || return
	done
}

links() {
	link module 1 && link engine 2 && link tcp 3 &&
		/bin/ip -n tcp-a addr add 10.0.0.1/24 dev eth0 && /bin/ip -n tcp-b addr add 10.0.0.2/24 dev eth0
}

links_go() {
	for name in module engine tcp; do
		/bin/ip netns del $name-a && /bin/ip netns del $name-b || return
	done
}

attach_both() {
	for side in a b; do
		in_host module-$side omx_attach eth0:N=9000 || return
	done
}

# both NAME PROGRAM PEER SERVER'S-OPTIONS CLIENT'S-OPTIONS: what the client printed is in /tmp/csv; the client is on
# the first processor, the server on the last one.
both() {
	# shellcheck disable=SC2086 # words
	/bin/ip netns exec "$1-b" timeout $HUNG taskset -c $(($(nproc) - 1)) $2 $4 >/tmp/server 2>&1 &
	server=$!
	# shellcheck disable=SC2086 # words
	in_host "$1-a" timeout $HUNG taskset -c 0 $2 -d $3 $5 >/tmp/csv 2>/tmp/client && wait "$server" && return
	cat /tmp/server /tmp/client
	kill "$server"
	return 1
}

over_mx() { # DEVICE WAITING OPTIONS
	export EMX_DEVICE="$1"
	case $1 in
	kernel) both module omx_perf 02:00:00:00:00:1b "$2" "$2 --patience $HUNG -P 0 $3" ;;
	engine) both engine omx_perf 02:00:00:00:00:2b "$2" "$2 --patience $HUNG -P 0 $3" ;;
	esac
}

over() { # WHAT WAITING OPTIONS
	case $1 in
	module) over_mx kernel "$2" "$3" ;;
	engine) over_mx engine "$2" "$3" ;;
	engine-alone)
		export EMX_HELPER_MS=0
		over_mx engine "$2" "$3"
		status=$?
		unset EMX_HELPER_MS
		return $status
		;;
	tcp) both tcp tcp_pingpong 10.0.0.2 "$2" "$2 $3" ;;
	*) return 1 ;;
	esac
}

series="-T $time -F csv"
small="-S 1 -E 40000 -M 8 $series"
measure() { # WAY WHAT
	case $1 in
	spin) over "$2" "" "$small" ;;
	yield) over "$2" -y "$small" ;;
	block) over "$2" -w "-S 4 -E 4194305 -M 4 $series" ;;
	overlap) over "$2" -w "-O -S 64K -E 4194305 -M 8 $series" ;;
	*) return 1 ;;
	esac
}

row() { # ROUND WAY WHAT
	measure "$2" "$3" || return
	sed "s/^/csv $*,/" /tmp/csv
}

hostname emxguest
export EMX_SPIN_US=0 # who blocks does so at once
export EMX_BOARDS=eth0:N=9000 EMX_OMXD=/emx/tools/omxd/omxd
check "veth loads" load veth
check "links" links
check "module loads" insmod /ethermx.ko
check "attach" attach_both
[ $failed = 0 ] || exit 1
echo "clock: $(cat /sys/devices/system/clocksource/clocksource0/current_clocksource)"
echo "processors: $(nproc), $(grep -m1 -oE '\<erms\>' /proc/cpuinfo || echo "no erms")"

for round in $(seq "$rounds"); do
	for row in "$@"; do
		check "$row, round $round" row "$round" "${row%%:*}" "${row#*:}"
	done
done
show_memory
check "unload" rmmod ethermx
check "links go" links_go
exit $failed

# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# shellcheck shell=sh
# For the tests of this folder: two hosts made of network namespaces, and how to wait for what happens.
#
#     a: eth0 02:00:00:00:00:0a ======= b: eth0 02:00:00:00:00:0b
. /watch.sh

in_host() { # HOST COMMAND...
	host=$1
	shift
	/bin/ip netns exec "$host" "$@"
}

make_hosts() {
	/bin/ip netns add a && /bin/ip netns add b && make_link &&
		/bin/ip -n a link set lo up && /bin/ip -n b link set lo up
}

hosts_go() { /bin/ip netns del a && /bin/ip netns del b; }

make_link() {
	/bin/ip -n a link add eth0 mtu 9000 address 02:00:00:00:00:0a type veth \
		peer name eth0 netns b mtu 9000 address 02:00:00:00:00:0b &&
		/bin/ip -n a link set eth0 up && /bin/ip -n b link set eth0 up
}

attach() { # SPECIFICATION
	in_host a /emx/tools/omx_attach "$1" && in_host b /emx/tools/omx_attach "$1"
}

detach() {
	in_host a /emx/tools/omx_attach -d eth0 && in_host b /emx/tools/omx_attach -d eth0
}

says() { # PATTERN COMMAND...: it succeeds and prints that
	pattern=$1
	shift
	"$@" >/tmp/said 2>&1 && grep -qE -- "$pattern" /tmp/said && return
	cat /tmp/said
	return 1
}

refuses() { # PATTERN COMMAND...: it fails and prints that
	pattern=$1
	shift
	"$@" >/tmp/said 2>&1 || { grep -qE -- "$pattern" /tmp/said && return; }
	cat /tmp/said
	return 1
}

# For what streams in the background: it takes what processor the test leaves, else each look of the test waits for it.
yielding() { exec sh -c 'renice -n 19 -p $$ >/dev/null && exec "$@"' sh "$@"; } # COMMAND...

# A server in b and a client in a, with its options; messages are verified, the longest has 1 MiB. $as is put in front of both, or $as_client
# in front of the client.
as=
as_client=
# Both block: a program that spins takes a processor from all else, and an emulated machine has two.
waiting=-w
perf() { perf_between a "${EMX_DEVICE:-kernel}" b "${EMX_DEVICE:-kernel}" "$@"; }

# perf_between HOST DEVICE HOST DEVICE OPTION...: client and server.
perf_between() {
	client_host=$1 client_device=$2 server_host=$3 server_device=$4
	shift 4
	# shellcheck disable=SC2086 # words
	/bin/ip netns exec "$server_host" env EMX_DEVICE="$server_device" timeout $HUNG \
		$as /emx/tools/omx_perf $waiting --patience $HUNG >/tmp/server 2>&1 &
	server=$!
	# shellcheck disable=SC2086 # words
	/bin/ip netns exec "$client_host" env EMX_DEVICE="$client_device" timeout $HUNG \
		${as_client:-$as} /emx/tools/omx_perf $waiting -d "02:00:00:00:00:0$server_host" --patience $HUNG -V -P 0 -E 1048577 "$@" || {
		cat /tmp/server
		kill "$server"
		return 1
	}
	wait "$server"
}

# counted HOST LABEL: a counter of its board, of the module
counted() { sed -n "s/^\([0-9]*\) $2\$/\1/p" "/sys/kernel/debug/ethermx/$(directory_of "$1")/counters"; }

# Messages that the hosts have found missing, or their interfaces have refused.
missed() {
	sum=0
	for host in a b; do
		for label in 'frames the interface refused' 'messages repeated' 'pull requests repeated'; do
			sum=$((sum + $(counted $host "$label")))
		done
	done
	echo $sum
}
more_missed() { [ "$(missed)" -gt "$1" ]; }
something_is_missed() { until_ok more_missed "$(missed)"; }

# pulls_by extension|dialect COMMAND...: meanwhile host b, of the module, pulls and serves by the one, and not by the other
pulls_by() {
	by=$1
	shift
	case $by in
	extension) only_by 'x data frames' 'pull replies' "$@" ;;
	dialect) only_by 'pull replies' 'x data frames' "$@" ;;
	esac
}

# fragments_by extension|dialect COMMAND...: likewise of eager messages that are longer than SMALL
fragments_by() {
	by=$1
	shift
	case $by in
	extension) only_by 'x medium fragments' 'medium fragments' "$@" ;;
	dialect) only_by 'medium fragments' 'x medium fragments' "$@" ;;
	esac
}

# only_by COUNTERS OTHER-COUNTERS COMMAND...: meanwhile host b sends and receives what counts as the one, nothing that counts
# as the other
only_by() {
	way=$1 other_way=$2
	shift 2
	came=$(counted b "$way received") went=$(counted b "$way sent") others=$(by_other_way)
	"$@" || return
	[ "$(counted b "$way received")" -gt "$came" ] && [ "$(counted b "$way sent")" -gt "$went" ] &&
		[ "$(by_other_way)" = "$others" ] && return
	echo "$way received: $(counted b "$way received"), before $came; sent: $(counted b "$way sent"), before $went;" \
		"$other_way: $(by_other_way), before $others"
	return 1
}
by_other_way() { echo $(($(counted b "$other_way received") + $(counted b "$other_way sent"))); }

# ---- frames that are altered on their way

may_alter() {
	load sch_ingress cls_u32 act_gact act_pedit
}

# Every so manyth X MEDIUM and X DATA that come to a host has a byte of its data inverted. That byte is in the
# shortest frame, too, perhaps as padding.
alter() { # HOST EVERY
	in_host "$1" tc qdisc add dev eth0 clsact || return
	for type in 112 115; do
		in_host "$1" tc filter add dev eth0 ingress protocol 0x86df u32 match u8 $type 0xff at 2 \
			action pass random determ pipe "$2" action pedit munge offset 43 u8 invert || return
	done
}

alter_no_more() { in_host "$1" tc qdisc del dev eth0 clsact; }

# ---- what the hosts send is judged (watch.sh)

# The test's verdict is made of what is found so: it must be possible.
planted_is_found() {
	watch --both /run/netns/a && in_host a /frames eth0 forbidden || return 1
	nothing_forbidden && return 1
	grep -q 'FORBIDDEN: frame 1, 60 bytes: .*4.13' /tmp/watch
}

# The agent serves host a, in dialect N or that of the specification given; $agent is its process.
start_agent() {
	: >/tmp/agent
	/bin/ip netns exec a env EMX_DEVICE=engine /emx/tools/omxd/omxd --foreground --boards "${1:-eth0:N=9000}" >/tmp/agent 2>&1 &
	agent=$!
	until_ok grep -q serving /tmp/agent && return
	cat /tmp/agent
	return 1
}

stop_agent() {
	kill "$agent" || return 1
	wait "$agent"
	return 0
}

memory=/sys/kernel/debug/ethermx/memory
# account PATTERN: the number in that line of the module's account of memory
account() { sed -n "s/^\([0-9]*\) $1\$/\1/p" $memory; }
show_memory() { cat $memory; }
nothing_is_pinned() { grep -qx '0 pages pinned' $memory; }
something_is_pinned() { ! nothing_is_pinned; }

nothing_pinned() { # in the end
	until_ok nothing_is_pinned && return
	cat $memory
	return 1
}

pid_of_endpoint() { # HOST NUMBER
	sed -n "s/^$2 process \([0-9]*\) .*/\1/p" /sys/kernel/debug/ethermx/"$(directory_of "$1")"/endpoints
}

endpoint_is_open() { [ -n "$(pid_of_endpoint "$@")" ]; }

directory_of() { # HOST: its board's, which has the number of the namespace in its name
	echo "eth0@$(in_host "$1" readlink /proc/self/ns/net | tr -dc 0-9)"
}

# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# shellcheck shell=sh
# Programs over the module, each byte of their messages checked: omx_perf between the two hosts of
# hosts.sh, also with the engine on one of them, and NetPIPE's MX module.
#
#   programs FOLDER MIB OPTION...     where netpipe_build.sh has built, the longest message, and options of netpipe.sh
failed=0
. /check.sh
. /hosts.sh
. /root.sh

# Every class of message has come through the module, and it has dropped nothing but what its peer had repeated, or
# what came when it was not wanted any more: two emulated processors are slow to answer. So late a pull reply that
# its number of eight bits means another frame counts as misplaced; the second reply to a repeated connect, as bad.
counters_are_good() { # HOST
	counters=/sys/kernel/debug/ethermx/$(directory_of "$1")/counters
	for class in 'tiny messages' 'small messages' 'medium fragments' rendezvous 'x pull requests' 'x data frames' notifies; do
		grep -q "^[1-9][0-9]* $class received$" "$counters" || {
			echo "no $class"
			return 1
		}
	done
	! grep '^[1-9][0-9]* drop: ' "$counters" |
		grep -vE 'pull reply (of no pull|repeated|misplaced)|outside the window|event queue full|stale session'
}

netpipe() {
	in_root env EMX_NETPIPE_LIMIT=1200 tests/netns/netpipe.sh -b "$built" -u $((longest << 20)) -s 8 "$@" "$BUILD"
}

perf_to_the_longest() { # as perf_between
	perf_between "$@" -M 4 -E $(((longest << 20) + 1)) -T 0 -N 3 -W 1
}

built=$1 longest=$2
shift 2

hostname emxguest
export EMX_OMXD=/emx/tools/omxd/omxd EMX_DEVICE=kernel
load llc stp bridge veth && insmod /ethermx.ko || exit 1
check "hosts" make_hosts
check "all frames sent are watched" watch --both /run/netns/a --dialect N=9000
check "attach" attach eth0:N=9000
[ $failed = 0 ] || exit 1
check "omx_perf, 0 B to $longest MiB" perf_to_the_longest a kernel b kernel
check "omx_perf, both ways at once" perf -x -S 67 -M 10 -E $((longest < 7 ? (longest << 20) + 1 : 6700001)) -T 0 -N 6 -W 1
check "counters of a" counters_are_good a
check "counters of b" counters_are_good b
check "nothing pinned" nothing_pinned
check "detach one" in_host a /emx/tools/omx_attach -d eth0
check "board agent" start_agent
check "engine against module, 0 B to $longest MiB" perf_to_the_longest a engine b kernel
check "module against engine, 0 B to $longest MiB" perf_to_the_longest b kernel a engine
check "agent ends" stop_agent
check "detach the other" in_host b /emx/tools/omx_attach -d eth0
check "nothing forbidden was sent" nothing_forbidden
check "the files of the machine around" mount_root
check "NetPIPE" netpipe "$@"
check "nothing pinned in the end" nothing_pinned
check "unload" rmmod ethermx
check "hosts go" hosts_go
check "nobody is left in the machine's files" unmount_root
exit $failed

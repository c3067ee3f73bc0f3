# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# shellcheck shell=sh
# kernel: slub_debug=U,kmalloc-*
# Random requests from users in user namespaces, where they are root of boards of their own (storm.c), while another user's
# messages between the host's boards arrive unaltered. The arguments: how many requests (100000), and the seed.
#
#     a: eth0 ======= b: eth0          d0, d1, v ======= v, d0, d1
#     the other user's                 for each process of the hostile user
failed=0
. /check.sh
. /hosts.sh
. /held.sh
count=${1:-100000}
seed=${2:-$(hundredths)}

boards() { cat /sys/class/misc/ethermx/boards; }
no_more_boards() { [ "$(boards)" = 2 ]; }
messages() { perf -T 0 -N 2 -M 64 -W 1 >/tmp/client 2>&1 || { cat /tmp/client; return 1; }; }

# Until the storm is over.
messages_meanwhile() {
	rounds=0
	while kill -0 $storm 2>/dev/null; do
		messages || return 1
		rounds=$((rounds + 1))
	done
	echo "          $rounds rounds of messages"
	[ $rounds -gt 0 ]
}

load veth
[ -d /sys/module/dummy ] || insmod /dummy.ko numdummies=0
check "hosts" make_hosts
check "module loads" insmod /ethermx.ko user_boards=8
check "attach" attach eth0:N=9000
check "all frames sent are watched" watch --both /run/netns/a --dialect N=9000
# shellcheck disable=SC2034 # hosts.sh reads $as
as='/bin/setpriv --reuid 1000 --regid 1000 --clear-groups --inh-caps=-all --bounding-set=-all'
check "messages of a user" messages
[ $failed = 0 ] || exit 1
check "the account of held memory is taken" remember

/storm "$seed" "$count" >/tmp/storm 2>&1 &
storm=$!
check "messages beside a storm of random requests" messages_meanwhile
wait $storm
stormed=$?
cat /tmp/storm
check "the storm, seed $seed" [ $stormed = 0 ]
check "no board is left but the hosts'" until_ok no_more_boards
check "no endpoint" until_ok no_endpoint_is_left
check "nothing pinned" nothing_pinned
check "nothing lost" nothing_lost
check "messages" messages
check "nothing forbidden was sent" nothing_forbidden
check "detach" detach
check "unload" until_ok rmmod ethermx
check "hosts go" hosts_go
exit $failed

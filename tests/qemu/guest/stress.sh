# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# shellcheck shell=sh
# Four hostile processes of an ordinary user on two boards of one host and one of another, beside an
# honest pair of programs whose messages must stay intact. The argument: operations of each, in
# thousands (250).
failed=0
. /check.sh
. /hosts.sh
thousands=${1:-250}

make_boards() {
	/bin/ip netns add b &&
		/bin/ip link add eth0 mtu 9000 address 02:00:00:00:00:0a type veth \
			peer name eth0 netns b mtu 9000 address 02:00:00:00:00:0b &&
		/bin/ip link add eth1 mtu 9000 address 02:00:00:00:00:0c type veth \
			peer name eth1 netns b mtu 9000 address 02:00:00:00:00:0d &&
		/bin/ip link set eth0 up && /bin/ip link set eth1 up &&
		/bin/ip -n b link set eth0 up && /bin/ip -n b link set eth1 up &&
		insmod /ethermx.ko ifnames=eth0,eth1 frame_size=9000 &&
		/bin/ip netns exec b /emx/tools/omx_attach eth0:N=9000
}

as_user() { /bin/setpriv --reuid 1000 --regid 1000 --clear-groups --inh-caps=-all --bounding-set=-all "$@"; }

scribblers() {
	for seed in 1 2 3; do
		as_user /scribble "$seed$thousands" "$thousands"000 2 >>/tmp/scribblers &
	done
	/bin/ip netns exec b /bin/setpriv --reuid 1000 --regid 1000 --clear-groups --inh-caps=-all \
		--bounding-set=-all /scribble "4$thousands" "$thousands"000 1 >>/tmp/scribblers &
}

# Endpoint 31 of either board: the scribblers take the lowest.
honest_server() {
	/bin/ip netns exec b /emx/tools/omx_perf -e 31 -k >/tmp/server 2>&1 &
	server=$!
}

honest_client() {
	EMX_DEVICE=kernel timeout $HUNG /emx/tools/omx_perf -e 31 -d 02:00:00:00:00:0b -r 31 --patience $HUNG \
		-V -P 0 -T 200 -N 5 -M 64 -W 1 -E 100000
}

honest_pair() {
	honest_server
	honest_client
	status=$?
	kill "$server"
	wait "$server"
	return "$status"
}

# Each of them lives to the end.
all_done() { [ "$(grep -c operations /tmp/scribblers)" = 4 ]; }

load veth
check "boards" make_boards
# Hostile users say what they like, but nothing that would end another host.
check "all frames sent are watched" watch --dangers --dialect N=9000 /proc/self/ns/net /run/netns/b
export EMX_DEVICE=kernel
honest_server
scribblers
check "an honest pair beside them" honest_client
kill "$server"
wait
cat /tmp/scribblers
check "all operations done" all_done
cat /sys/kernel/debug/ethermx/memory
echo "endpoints left: $(cat /sys/kernel/debug/ethermx/*/endpoints | wc -l)"
check "no endpoint is left" [ "$(cat /sys/kernel/debug/ethermx/*/endpoints | wc -l)" = 0 ]
check "nothing pinned" nothing_pinned
check "the boards work on" honest_pair
check "nothing forbidden was sent" nothing_forbidden
# A thread of io_uring lets go of what it still holds of their files.
check "unload" until_ok rmmod ethermx
check "the other host goes" /bin/ip netns del b
exit $failed

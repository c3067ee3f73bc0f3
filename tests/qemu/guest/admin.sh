# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# shellcheck shell=sh
# Administration of two hosts made of network namespaces, as docs/install.md describes it, with modprobe and a
# configuration file each:
#
#     node1: eth1 02:00:00:00:00:0a ======= node2: eth1 02:00:00:00:00:0b
#
# Lines with a "node1#" are transcripts, which the documentation quotes.
failed=0
. /check.sh
. /watch.sh
PATH=/emx/tools:/emx/tools/setup:$PATH
debug=/sys/kernel/debug/ethermx

# The host's name is that of the calling process's UTS namespace.
on() { # HOST COMMAND...
	host=$1
	shift
	# shellcheck disable=SC2016 # the inner shell's
	unshare -u sh -c 'hostname "$1"; exec /bin/ip netns exec "$@"' sh "$host" "$@"
}

user() { # HOST COMMAND...: as somebody without privileges
	host=$1
	shift
	on "$host" setpriv --reuid 65534 --regid 65534 --clear-groups --inh-caps=-all --bounding-set=-all "$@"
}

shown() { # HOST COMMAND...: with a transcript
	echo "$1# $(shift; echo "$*")"
	on "$@"
}

says() { # PATTERN COMMAND...: it succeeds and prints that
	pattern=$1
	shift
	"$@" >/tmp/said 2>&1
	status=$?
	cat /tmp/said
	[ $status = 0 ] && grep -qE -- "$pattern" /tmp/said
}

ends() { # STATUS PATTERN COMMAND...
	wanted=$1 pattern=$2
	shift 2
	"$@" >/tmp/said 2>&1
	status=$?
	cat /tmp/said
	[ $status = "$wanted" ] && grep -qE -- "$pattern" /tmp/said
}

make_hosts() {
	/bin/ip netns add node1 && /bin/ip netns add node2 &&
		/bin/ip -n node1 link add eth1 mtu 9000 address 02:00:00:00:00:0a type veth \
			peer name eth1 netns node2 mtu 9000 address 02:00:00:00:00:0b &&
		/bin/ip -n node1 link set eth1 up && /bin/ip -n node2 link set eth1 up &&
		/bin/ip -n node1 link set lo up && /bin/ip -n node2 link set lo up
}

# modprobe finds the module as on an installed system.
install_module() {
	folder=/lib/modules/$(uname -r)
	mkdir -p "$folder/updates/dkms" && cp /ethermx.ko "$folder/updates/dkms/" && depmod -a
}

configure() { # TEXT...: lines
	mkdir -p /etc/ethermx
	printf '%s\n' "$@" >/etc/ethermx/ethermx.conf
}

loaded() { [ -e /sys/module/ethermx ]; }
unloaded() { ! loaded; }
mode_is_0666() { [ "$(stat -c %a /dev/ethermx)" = 666 ]; }

# A server of host node2 and, as any user, a client of node1. Each checks what it gets.
messages() {
	user node2 timeout $HUNG omx_perf >/tmp/server 2>&1 &
	server=$!
	echo "node1\$ omx_perf -d ${1:-node2:0} $client"
	# shellcheck disable=SC2086 # words
	user node1 timeout $HUNG omx_perf -d "${1:-node2:0}" --patience $HUNG $client 2>/tmp/trouble || {
		cat /tmp/trouble /tmp/server
		kill "$server"
		return 1
	}
	wait "$server"
}

# The other host changes its dialect, as if it were somebody else's; this one speaks it to that board alone.
own_dialect() {
	on node2 omx_attach -d eth1 && on node2 omx_attach eth1:N=1500 && on node1 omx_init_peers 02:00:00:00:00:0b second:0 N=1500 &&
		says '02:00:00:00:00:0b second:0 .dialect N=1500.' on node1 omx_info && messages second:0
}

dialect_while_open() {
	/bin/ip netns exec node1 omx_perf >/tmp/server 2>&1 & # no shell function, whose shell alone would be ended
	server=$!
	until_ok says 'omx_perf' on node1 omx_endpoint_info
	ends 255 'endpoints are open, and dialects of peers change only while none is' on node1 omx_init_peers 02:00:00:00:00:0b second:0 N=9000
	status=$?
	kill $server
	wait $server
	return $status
}

is_open() { on node2 omx_endpoint_info | grep -q '0 *open by'; } # endpoint 0 of node2

stop_while_open() {
	/bin/ip netns exec node2 omx_perf >/tmp/server 2>&1 &
	server=$!
	until_ok is_open || return 1
	ends 255 "eth1: endpoint 0 is open by process $server \(omx_perf\): end it first" on node2 omx_init stop || return 1
	says '^board #0: .* 1 of 32 endpoints open' on node2 omx_init status || return 1
	kill "$server"
	wait "$server"
	return 0
}

renamed() {
	number=$(on node1 readlink /proc/self/ns/net | tr -dc 0-9)
	/bin/ip -n node1 link set eth1 down && /bin/ip -n node1 link set eth1 name eth9 && /bin/ip -n node1 link set eth9 up || return 1
	ls $debug
	grep -qx 'interface eth9' "$debug/eth9@$number/board" || return 1
	on node1 omx_init status
	[ $? = 3 ] || return 1
	/bin/ip -n node1 link set eth9 down && /bin/ip -n node1 link set eth9 name eth1 && /bin/ip -n node1 link set eth1 up
	[ -e "$debug/eth1@$number" ]
}

view() {
	number=$(on node1 readlink /proc/self/ns/net | tr -dc 0-9)
	for file in board endpoints peers; do
		echo "--- $file" && cat "$debug/eth1@$number/$file" || return 1
	done
	grep -qx 'dialect N=9000' "$debug/eth1@$number/board" && grep -q '02000000000b node2:0' "$debug/eth1@$number/peers"
}

hostname emxguest
export EMX_OMXD=/no/omxd
client='-V -P 0 -T 300 -N 20 -M 16'
check "veth loads" load veth
check "hosts" make_hosts
check "all frames sent are watched" watch --dialect N=9000 --dialect N=1500 /run/netns/node1 /run/netns/node2
configure 'boards = eth1:N=9000'
check "no module" ends 255 'neither the kernel module nor the board agent omxd .*: install one of them; dkms install ethermx/.* builds the module for this kernel, ' on node1 omx_init start
check "module is installed" install_module
[ $failed = 0 ] || exit 1

check "status: not running" ends 3 'the kernel module is not loaded' shown node1 omx_init status
check "check" says '^board eth1:N=9000$' shown node1 omx_init check
check "no privilege" ends 255 'run as root' user node1 omx_init start
check "start" says '^eth1:N=9000 is board #0$' shown node1 omx_init start
check "start of the other" says '^eth1:N=9000 is board #0$' shown node2 omx_init start
check "device is everybody's" mode_is_0666
check "started twice" says '^eth1:N=9000 is board #0 already$' on node1 omx_init start
check "no privilege to stop" ends 255 'run as root' user node1 omx_init stop
check "status" says '^board #0: eth1:N=9000, address 02:00:00:00:00:0a, link Up, 0 of 32 endpoints open' shown node1 omx_init status
check "omx_info" says 'node1:0 .board #0 name eth1' shown node1 omx_info
check "messages, found by address" messages 02:00:00:00:00:0b
client='-V -P 0 -T 0 -N 2 -M 16 -E 100000'
check "messages, found by name" messages
check "omx_info knows the peer" says '02:00:00:00:00:0b node2:0' shown node1 omx_info
check "omx_counters" says 'tiny messages sent' shown node1 omx_counters
check "omx_endpoint_info" says '^0 of 32 endpoints open' shown node1 omx_endpoint_info
check "debugfs shows the board" view
check "another name of the interface" renamed
check "a name only from root" ends 255 'CAP_NET_ADMIN|root' user node1 omx_hostname -n mine:0
check "peers only from root" ends 255 'root' user node1 omx_init_peers 02:00:00:00:00:0c third:0
check "stop while an endpoint is open" stop_while_open

configure 'boards = eth1:W'
check "another dialect" ends 255 'ethermx.conf, line 1: the kernel module has eth1:N=9000 already.* omx_init restart' on node1 omx_init start
check "status tells it" ends 3 'line 1: eth1 is a board with another dialect: omx_init restart' on node1 omx_init status
configure 'boards = eth1:N=9000' 'bord = eth2'
check "a mistake ends nothing" ends 255 'ethermx.conf, line 2: "bord = eth2" is not understood' on node1 omx_init restart
check "status tells that the mistake ended nothing" ends 255 '^board #0: eth1' on node1 omx_init status
configure '# two' 'boards = eth1:N=9000,eth7:N=9000'
check "an interface that is not there" ends 255 'ethermx.conf, line 2: eth7: no such interface here' on node1 omx_init restart

printf '%s\n' '02:00:00:00:00:0a first:0' '02:00:00:00:00:0b second:0' >/etc/ethermx/peers
configure 'boards = eth1:N=9000' 'endpoints = 8'
check "restart with peers" says '^2 peers from /etc/ethermx/peers; others are refused$' on node1 omx_init restart
check "the other" says '^eth1 is no board any more' on node2 omx_init restart
check "status with peers" says 'of 8 endpoints open, 2 peers, others are refused' on node1 omx_init status
check "names of the list" messages second:0
check "a stranger is refused" ends 255 'not in the peers file' user node1 timeout $HUNG omx_perf -d 02:00:00:00:00:77 --patience 1
check "a peer of another dialect" own_dialect
check "its dialect stays while an endpoint is open" dialect_while_open
check "a dialect that the interface cannot carry" ends 255 'dialect N=60000 needs an MTU of 59986' on node1 omx_init_peers 02:00:00:00:00:0b second:0 N=60000
check "a dialect for a board of this host" ends 255 'this is a board of this host, which speaks another dialect' on node1 omx_init_peers 02:00:00:00:00:0a first:0 W
echo '02:00:00:00:00:0b with:0 too:1' >>/etc/ethermx/peers
check "nonsense in the list" ends 255 'peers file /etc/ethermx/peers, line 3: write a line as MAC NAME' on node1 omx_init restart
rm /etc/ethermx/peers

check "stop" says '^the kernel module stays: other network namespaces have boards' shown node1 omx_init stop
check "the module stays for the other host" loaded
check "stop of the other" says '^kernel module ethermx unloaded$' shown node2 omx_init stop
check "module is gone" unloaded
printf 'boards = eth1:N=9000\n' >/etc/ethermx/ethermx.conf
printf '02:00:00:00:00:0a a:0\n02:00:00:00:00:0b n\303\266de:0\n' >/etc/ethermx/peers
check "a name that is none" ends 255 'peers file /etc/ethermx/peers, line 2: a board name has 1 to 79 printable' on node1 omx_init start
printf '02:00:00:00:00:0a a:0\n02:00:00:00:00:0b b:0 N=60000\n' >/etc/ethermx/peers
check "a start that fails half way" ends 255 'peers file /etc/ethermx/peers, line 2: dialect N=60000 needs an MTU of 59986' on node1 omx_init start
check "a start that fails half way is undone" unloaded
rm /etc/ethermx/peers
check "start again" says 'is board #0$' on node1 omx_init start
printf '%s\n' '02:00:00:00:00:0a node1:0' '02:00:00:00:00:0b node2:0' >/etc/ethermx/peers
check "restart of the only one, with peers" says '^kernel module ethermx loaded$' shown node1 omx_init restart
check "its status" says '2 peers, others are refused' shown node1 omx_init status
check "stop again" says 'unloaded' on node1 omx_init stop
check "stop once more" says '^not running' on node1 omx_init stop
check "nothing forbidden was sent" nothing_forbidden
check "hosts go" eval "/bin/ip netns del node1 && /bin/ip netns del node2"
check "the installed files go" rm -r /etc/ethermx /lib/modules
exit $failed

# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# shellcheck shell=sh
# For tests of two guests (two_guests.sh): one of two hosts that are joined by real drivers of network cards,
#
#     a: eth0 02:00:00:00:00:0a 10.0.0.1 ======= b: eth0 02:00:00:00:00:0b 10.0.0.2
#
# The test has set $me to a or b, and $card.
# shellcheck disable=SC2154 # $me, $card
case $me in
a) other=b mine=10.0.0.1 others=10.0.0.2 ;;
b) other=a mine=10.0.0.2 others=10.0.0.1 ;;
esac
# shellcheck disable=SC2034 # the test reads it
peer=02:00:00:00:00:0$other

meet_limit=$HUNG
serves_tcp() { timeout $meet_limit nc -l -p 7 </dev/null; }
asks_tcp() { nc -w 2 $others 7 </dev/null 2>/dev/null; }

meet() { # until the other has come so far; by TCP, which shares the card
	case $me in
	a) until_ok asks_tcp ;;
	b) serves_tcp ;;
	esac
}

load_card() {
	case $card in
	e1000) load e1000 ;;
	virtio-net-pci)
		load virtio_ring virtio virtio_pci_legacy_dev virtio_pci_modern_dev virtio_pci failover net_failover virtio_net
		;;
	*) return 1 ;;
	esac
}

carrier() { [ "$(cat /sys/class/net/eth0/carrier 2>/dev/null)" = 1 ]; }

start_card() {
	/bin/ip link set eth0 mtu 9000 && /bin/ip addr add $mine/24 dev eth0 && /bin/ip link set eth0 up &&
		until_ok carrier
}

#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# Two guests back to back: the module between real drivers of network cards, guest/pair.sh in both.
#
#   pair.sh DIR CARD      CARD: e1000, or virtio-net-pci (which has no scatter/gather on such a link)
#
# Everything goes to DIR, each guest's logs to DIR/CARD-a and DIR/CARD-b, as those of run.sh, whose environment
# holds here too. EMX_QEMU_TIMEOUT is the time for both together.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
. "$here/common.sh"
. "$here/boot.sh"

[ $# = 2 ] || fail "usage: pair.sh DIR CARD"
card=$2
mkdir -p "$1/$card-a" "$1/$card-b"
dir=$(cd "$1" && pwd)
logs=$dir/$card
kernel=stock
[ -z "${EMX_KDIR:-}" ] || kernel=built
limit=${EMX_QEMU_TIMEOUT:-240}
[ -n "${EMX_USER_BUILD:-}" ] || fail "EMX_USER_BUILD is to name a Meson build"

need qemu-system-x86_64 timeout ethtool
EMX_KVER=$(stock_kernel /boot/vmlinuz-%V /lib/modules/%V/build /lib/modules/%V/kernel)
export EMX_KVER

# Unix sockets have short names.
link=$(mktemp -d "${TMPDIR:-/tmp}/emx-pair.XXXXXX")
trap 'rm -rf "$link"' EXIT

# guest NAME NETDEV-OPTIONS [OPTION OF QEMU]...: with a card that has the address 02:00:00:00:00:0NAME. On the default machine ACPI
# computes where a card's interrupt goes, which takes a kernel that watches itself longer than it allows itself;
# q35 has a table.
guest() {
	local name=$1 options=$2
	shift 2
	boot "$accel" "$limit" "$logs-$name" pair "$name $card $kernel" \
		-netdev "stream,id=net,${options}addr.type=unix,addr.path=$link/wire" \
		-machine q35 -device "$card,netdev=net,mac=02:00:00:00:00:0$name,romfile=" "$@"
}

"$here/build-module.sh" "$dir"
"$here/initrd.sh" "$dir" "$EMX_KVER"
accel=$(choose_accel)
echo "booting $EMX_KVER twice with $accel, at most $limit s"
# One after the other: when two boot at once on few processors, now and then one never gets beyond its first timers.
rm -f "$logs-b/result.log"
guest b server=on, &
server=$!
began=$SECONDS
until [ -s "$logs-b/result.log" ] || ! kill -0 $server 2>/dev/null; do
	# tidy-allow(sleep): between two looks whether the guest's test has begun
	sleep 0.1
done
limit=$((limit - (SECONDS - began)))
status_a=0 status_b=0
# All frames of both pass here; a watcher inside might change what the cards get.
guest a server=off, -object "filter-dump,id=wire,netdev=net,file=$logs-a/wire.pcap,maxlen=256" || status_a=$?
wait $server || status_b=$?
# The one that ended badly explains the other.
[ $status_b = 0 ] || [ $status_a != 0 ] || judge $status_b "$logs-b" "guest b" "$limit"
[ $status_a = 0 ] || explain "$logs-b" >&2
judge $status_a "$logs-a" "guest a" "$limit"
judge $status_b "$logs-b" "guest b" "$limit"
for name in a b; do
	echo "--- guest $name:"
	cat "$logs-$name/result.log"
done
"$EMX_USER_BUILD/tests/watch/wirewatch" --dialect N=9000 --dialect W --pcap "$logs-a/wire.pcap" ||
	fail "what the guests have sent: $logs-a/wire.pcap"
rm "$logs-a/wire.pcap"

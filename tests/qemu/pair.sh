#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# Two guests back to back: the module between real drivers of network cards, guest/pair.sh in both.
#
#   pair.sh DIR CARD      CARD: e1000, or virtio-net-pci (which has no scatter/gather on such a link)
#
# Everything goes to DIR, each guest's logs to DIR/CARD-a and DIR/CARD-b, as those of run.sh, whose environment
# holds here too. EMX_QEMU_TIMEOUT is the time for each.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
. "$here/common.sh"
. "$here/boot.sh"
. "$here/two_guests.sh"

[ $# = 2 ] || fail "usage: pair.sh DIR CARD"
card=$2
mkdir -p "$1"
dir=$(cd "$1" && pwd)
logs=$dir/$card
kernel=stock
[ -z "${EMX_KDIR:-}" ] || kernel=built
limit=${EMX_QEMU_TIMEOUT:-1200}
[ -n "${EMX_USER_BUILD:-}" ] || fail "EMX_USER_BUILD is to name a Meson build"

# All frames of both pass here; a watcher inside might change what the cards get.
two_guests "$logs" "$card" "$limit" pair "$card $kernel" \
	-object "filter-dump,id=wire,netdev=net,file=$logs-a/wire.pcap,maxlen=256"
"$EMX_USER_BUILD/tests/watch/wirewatch" --dialect N=9000 --dialect W --pcap "$logs-a/wire.pcap" ||
	fail "what the guests have sent: $logs-a/wire.pcap"
rm "$logs-a/wire.pcap"

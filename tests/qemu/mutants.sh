#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# Two guests back to back: one sends mutated frames to the module of the other, as fast as it takes them, where messages
# under way must arrive unaltered and the kernel has to stay silent. See guest/mutants.sh.
#
#   mutants.sh KERNEL|- DIR [SECONDS [CARD]]
#
# KERNEL is a folder of debug-kernel.sh, which builds it if need be; "-" stands for the stock kernel. SECONDS of mutants (20), CARD as for
# pair.sh (virtio-net-pci). Logs go to DIR/mutants-a and DIR/mutants-b, with what run.sh has in its own folder.
#
# EMX_SEED          seed of the mutations; default: drawn, and printed
# EMX_USER_BUILD    as for run.sh
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
. "$here/common.sh"
. "$here/boot.sh"
. "$here/two_guests.sh"

[ $# -ge 2 ] && [ $# -le 4 ] || fail "usage: mutants.sh KERNEL|- DIR [SECONDS [CARD]]"
kernel=$1
mkdir -p "$2"
dir=$(cd "$2" && pwd)
seconds=${3:-20}
card=${4:-virtio-net-pci}
seed=${EMX_SEED:-$(date +%s%N)}
[ -n "${EMX_USER_BUILD:-}" ] || fail "EMX_USER_BUILD is to name a Meson build"
patience=400
if [ "$kernel" != - ]; then
	"$here/debug-kernel.sh" "$kernel"
	EMX_KDIR=$(cd "$kernel" && pwd)/build
	export EMX_KDIR
	patience=1500
fi
echo "EMX_SEED=$seed: $seconds s of mutants"
two_guests "$dir/mutants" "$card" "${EMX_QEMU_TIMEOUT:-$((seconds + patience))}" mutants "$card $seconds $seed"

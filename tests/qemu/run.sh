#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# Builds the module, boots a stock kernel in QEMU and runs a test in it.
#
#   run.sh DIR [TEST]      TEST: a script of guest/ without its ".sh" (default smoke)
#
# Everything it makes goes to DIR: console.log, result.log (what the test said), qemu.log.
#
# EMX_QEMU_TIMEOUT  seconds for the test's boot, run and power-off (default 240)
# EMX_USER_BUILD    a Meson build whose programs the test needs, see initrd.sh
# EMX_GUEST_ARGS    arguments of the test, separated by blanks
# and those of boot.sh and common.sh
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
. "$here/common.sh"
. "$here/boot.sh"

[ $# -ge 1 ] || fail "usage: run.sh DIR [TEST]"
mkdir -p "$1"
dir=$(cd "$1" && pwd)
test=${2:-smoke}
limit=${EMX_QEMU_TIMEOUT:-240}

need qemu-system-x86_64 timeout
EMX_KVER=$(stock_kernel /boot/vmlinuz-%V /lib/modules/%V/build /lib/modules/%V/kernel)
export EMX_KVER

# A test that includes root.sh sees the files of this machine, and has memory for what it reads of them. Its machine is
# that of two_guests.sh, for the same reason.
EMX_GUEST_ROOT=0 outside=()
if grep -qx '\. /root\.sh' "$here/guest/$test.sh" 2>/dev/null; then
	EMX_GUEST_ROOT=1
	outside=(-m 2048 -machine q35 -virtfs "local,path=/,mount_tag=outside,security_model=none,readonly=on,multidevs=remap")
fi
export EMX_GUEST_ROOT

[ -e "$here/guest/$test.sh" ] || fail "no test $test in $here/guest"
"$here/build-module.sh" "$dir"
"$here/initrd.sh" "$dir" "$EMX_KVER"
accel=$(choose_accel)
echo "booting $EMX_KVER with $accel, at most $limit s"
status=0
boot "$accel" "$limit" "$dir" "$test" "${EMX_GUEST_ARGS:-}" "${outside[@]}" || status=$?
judge $status "$dir" "$test" "$limit"
cat "$dir/result.log"

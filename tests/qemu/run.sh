#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# Builds the module, boots a stock kernel in QEMU and runs a test in it.
#
#   run.sh DIR [TEST]      TEST: a script of guest/ without its ".sh" (default smoke)
#
# Everything it makes goes to DIR: console.log, result.log (what the test said), qemu.log.
#
# EMX_QEMU_ACCEL    auto (default): KVM if it can boot this kernel, found out once by a boot of at
#                   most 30 s and remembered in DIR; else plain emulation. Or: tcg, kvm
# EMX_QEMU_TIMEOUT  seconds for the test's boot, run and power-off (default 240)
# EMX_USER_BUILD    a Meson build whose programs the test needs, see initrd.sh
# EMX_GUEST_ARGS    arguments of the test, separated by blanks
# and those of common.sh
set -euo pipefail
. "$(dirname "$0")/common.sh"

[ $# -ge 1 ] || fail "usage: run.sh DIR [TEST]"
mkdir -p "$1"
dir=$(cd "$1" && pwd)
test=${2:-smoke}
here=$(cd "$(dirname "$0")" && pwd)
limit=${EMX_QEMU_TIMEOUT:-240}
guest_args=${EMX_GUEST_ARGS:-}

need qemu-system-x86_64 timeout
EMX_KVER=$(stock_kernel /boot/vmlinuz-%V /lib/modules/%V/build /lib/modules/%V/kernel)
export EMX_KVER

# What no test may leave in the kernel log, whatever its own verdict.
TROUBLE='WARNING:|BUG:|BUG |Oops|Call Trace|general protection|Kernel panic|refcount_t|UBSAN'
TROUBLE="$TROUBLE"'|KASAN|suspected memory leak|unregister_netdevice: waiting|blocked for more than|rcu.*stall|soft lockup'

# boot ACCEL SECONDS TEST: the guest's verdict is the last line of result.log.
boot() {
	local cpu=max accel=$1
	[ "$accel" = tcg ] && accel=tcg,thread=multi
	[ "$accel" = kvm ] && cpu=host
	rm -f "$dir/console.log" "$dir/result.log"
	timeout --kill-after=5 "$2" qemu-system-x86_64 -accel "$accel" -cpu "$cpu" -smp 2 -m 1024 \
		-nodefaults -no-user-config -no-reboot -display none -net none \
		-kernel "$(kernel_image "$EMX_KVER")" -initrd "$dir/initrd.gz" \
		-append "console=ttyS0 loglevel=7 panic=-1 oops=panic emx.test=$3 emx.args=${guest_args// /,}" \
		-chardev "file,id=console,path=$dir/console.log" -serial chardev:console \
		-chardev "file,id=result,path=$dir/result.log" -serial chardev:result \
		</dev/null >"$dir/qemu.log" 2>&1
}

verdict() { tail -n 1 "$dir/result.log" 2>/dev/null | tr -d '\r'; }

# KVM may be there and still unable to run a stock kernel (nested virtual machines).
probe_accel() {
	local known=$dir/accel-$EMX_KVER
	if [ ! -s "$known" ]; then
		echo tcg >"$known"
		[ -w /dev/kvm ] && boot kvm 30 probe && [ "$(verdict)" = "GUEST PASS" ] && echo kvm >"$known"
	fi
	cat "$known"
}

choose_accel() {
	case ${EMX_QEMU_ACCEL:-auto} in
	auto) probe_accel ;;
	tcg | kvm) echo "$EMX_QEMU_ACCEL" ;;
	*) fail "EMX_QEMU_ACCEL=$EMX_QEMU_ACCEL: give auto, tcg or kvm" ;;
	esac
}

explain() {
	echo "--- console of the guest ($dir/console.log):"
	tail -n 60 "$dir/console.log" 2>/dev/null || true
	echo "--- QEMU said:"
	cat "$dir/qemu.log"
	echo "--- the test said ($dir/result.log):"
	cat "$dir/result.log" 2>/dev/null || true
}

[ -e "$here/guest/$test.sh" ] || fail "no test $test in $here/guest"
"$here/build-module.sh" "$dir"
"$here/initrd.sh" "$dir" "$EMX_KVER"
accel=$(choose_accel)
echo "booting $EMX_KVER with $accel, at most $limit s"
status=0
boot "$accel" "$limit" "$test" || status=$?
if [ $status != 0 ]; then
	explain >&2
	[ $status = 124 ] && fail "$test: not finished within $limit s"
	fail "$test: QEMU ended with status $status"
fi
if [ "$(verdict)" != "GUEST PASS" ]; then
	explain >&2
	fail "$test"
fi
if grep -aE "$TROUBLE" "$dir/console.log" >&2; then
	explain >&2
	fail "$test: the kernel complained"
fi
cat "$dir/result.log"

#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# Boots a stock kernel in QEMU with the module, and runs tests in it, one after the other.
#
#   run.sh DIR [TEST[,ARGUMENT]...]...      TEST: a script of guest/ without its ".sh" (default smoke)
#
# An argument NAME=VALUE is a variable of that test. A test that fails, hangs, ends the kernel or leaves something behind
# has failed; those after it run in a boot of their own. What the kernel says while a test runs is that test's.
#
# Everything goes to DIR: console.log, result.log (what the tests said), times.log, qemu.log; of later boots to
# DIR/boot2 and so on. The last line is "N passed, N failed, N skipped", with each check of a test counted.
#
# EMX_QEMU_TIMEOUT  seconds of computing after which a test hangs (default 1200), or half as many of silence and idleness
# EMX_QEMU_LOGS     a folder for the logs, instead of DIR
# EMX_USER_BUILD    a Meson build whose programs the tests need, see initrd.sh
# EMX_GUEST_ARGS    arguments of the only test, separated by blanks
# and those of boot.sh and common.sh
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
. "$here/common.sh"
. "$here/boot.sh"

[ $# -ge 1 ] || fail "usage: run.sh DIR [TEST[,ARGUMENT]...]..."
mkdir -p "$1"
dir=$(cd "$1" && pwd)
shift
[ $# -gt 0 ] || set -- smoke
[ -z "${EMX_GUEST_ARGS:-}" ] || { [ $# = 1 ] && set -- "$1,${EMX_GUEST_ARGS// /,}"; } ||
	fail "EMX_GUEST_ARGS is for one test"
limit=${EMX_QEMU_TIMEOUT:-1200}

# Tests that include root.sh see the files of this machine, and have memory for what they read of them. Their machine is
# that of two_guests.sh, for the same reason.
outside=()
for test in "$@"; do
	[ -e "$here/guest/${test%%,*}.sh" ] || fail "no test ${test%%,*} in $here/guest"
	grep -qx '\. /root\.sh' "$here/guest/${test%%,*}.sh" || continue
	EMX_QEMU_MEMORY=${EMX_QEMU_MEMORY:-2048}
	outside=(-machine q35 -virtfs "local,path=/,mount_tag=outside,security_model=none,readonly=on,multidevs=remap")
done

# Prints what a test said, its verdict left out; part_of LOGS TEST
part_of() {
	tr -d '\r' <"$1/result.log" 2>/dev/null | awk -v test="$2" '
		$1 == "GUEST" && $3 == test { on = $2 == "BEGIN"; next }
		on'
}
begun() { says_of "$1" BEGIN "$2"; }

# Prints what the kernel said meanwhile, or after all tests, that it may not say.
trouble_of() { # LOGS TEST|end
	awk -v test="$2" '
		/emx: (begins|ends) / { now = $NF; sub(/\r/, "", now); if (/emx: ends /) now = "end" }
		now == test' "$1/console.log" 2>/dev/null | grep -aE "$TROUBLE"
}

# tell LOGS TEST REASON: counts the test, and adds its line to $verdicts
tell() {
	local logs=$1 test=$2 reason=$3 part good bad inner seconds
	part=$(part_of "$logs" "$test")
	good=$(grep -c '^ok      ' <<<"$part" || true)
	bad=$(grep -c '^NOT OK  ' <<<"$part" || true)
	inner=$(awk '/^[0-9]+ passed, [0-9]+ failed, [0-9]+ skipped$/ { p += $1; f += $3; s += $5 }
		END { print p + 0, f + 0, s + 0 }' <<<"$part")
	read -r inner_good inner_bad inner_skipped <<<"$inner"
	seconds=$(awk -v test="$test" '$2 == "GUEST" && $4 == test { if ($3 == "BEGIN") began = $1; else printf "%s s, %d s of processor", $5, $1 - began }' \
		"$logs/times.log" | tr -d '\r')
	[ -z "$reason" ] || [ $((bad + inner_bad)) -gt 0 ] || bad=1
	all_passed=$((all_passed + good + inner_good)) all_failed=$((all_failed + bad + inner_bad))
	all_skipped=$((all_skipped + inner_skipped))
	if [ -z "$reason" ]; then
		verdicts+="ok      $test: $((good + inner_good)) checks, $seconds"$'\n'
	else
		verdicts+="NOT OK  $test: $reason ($logs)"$'\n'
	fi
}

# why_not STATUS LOGS TEST: why a test that has begun did not pass
why_not() {
	if passed "$2" "$3"; then
		trouble_of "$2" "$3" >/dev/null && echo "the kernel complained"
	elif says_of "$2" FAIL "$3"; then
		echo "FAILED"
	elif [ "$1" = 124 ]; then
		echo "it hangs"
	else
		echo "the guest ended, QEMU with status $1"
	fi
	return 0
}

# One boot for all of $left; takes those that have begun out of it, and at least one.
run_boot() { # LOGS
	local logs=$1 status=0 test reason rest=() first=yes
	mkdir -p "$logs"
	echo "booting $EMX_KVER with $accel: ${left[*]}"
	boot "$accel" "$limit" "$logs" "${left[*]}" "${outside[@]}" || status=$?
	for test in "${left[@]}"; do
		if begun "$logs" "$test"; then
			reason=$(why_not "$status" "$logs" "$test")
		elif [ $first = yes ]; then
			reason="the guest did not come so far, QEMU ended with status $status"
		else
			rest+=("$test")
			continue
		fi
		first=no
		tell "$logs" "$test" "$reason"
	done
	if trouble_of "$logs" end >/dev/null; then
		all_failed=$((all_failed + 1))
		verdicts+="NOT OK  the kernel complained after the tests ($logs)"$'\n'
	fi
	left=("${rest[@]}")
}

need qemu-system-x86_64 setpriv
choose_kernel
"$here/prepare.sh" "$dir"
accel=$(choose_accel)
export EMX_QEMU_MEMORY=${EMX_QEMU_MEMORY:-1024}
left=("$@") boots=0 all_passed=0 all_failed=0 all_skipped=0 verdicts=''
while [ ${#left[@]} -gt 0 ]; do
	boots=$((boots + 1)) before=$all_failed
	logs=${EMX_QEMU_LOGS:-$dir}
	[ $boots = 1 ] || logs+=/boot$boots
	run_boot "$logs"
	if [ $all_failed = $before ]; then cat "$logs/result.log"; else explain "$logs"; fi
done
echo "--- $boots boots of $EMX_KVER"
printf '%s' "$verdicts"
echo "$all_passed passed, $all_failed failed, $all_skipped skipped"
[ $all_failed = 0 ]

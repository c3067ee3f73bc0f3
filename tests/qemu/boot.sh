# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# shellcheck shell=bash
# shellcheck disable=SC2154 # the includer sets dir
# Shared by the scripts that boot guests: run.sh and pair.sh. The includer has set $dir, which has an
# initrd.gz, and EMX_KVER, and has included common.sh.
#
# A guest's logs are in a folder of its own: console.log, result.log (what the test said, its verdict last),
# qemu.log.
#
# EMX_QEMU_ACCEL    auto (default): KVM if it can boot this kernel, found out once by a boot of at
#                   most 30 s and remembered in $dir; else plain emulation. Or: tcg, kvm
# EMX_QEMU_ICOUNT   set: one emulated processor whose clock counts its instructions, a nanosecond each;
#                   for what is measured, where the machine's own speed is not to matter
# EMX_QEMU_CPU      model and features of the emulated processor (max)
# EMX_GUEST_ENV     variables of the test, NAME=VALUE, separated by blanks

# What no test may leave in the kernel log, whatever its own verdict.
TROUBLE='WARNING:|BUG:|BUG |Oops|Call Trace|general protection|Kernel panic|refcount_t|UBSAN'
TROUBLE="$TROUBLE"'|KASAN|suspected memory leak|unregister_netdevice: waiting|blocked for more than|rcu.*stall|soft lockup'

# What a test wants on the kernel's command line: its line "# kernel: WORDS".
words_of() { sed -n 's/^# kernel: //p' "$(dirname "${BASH_SOURCE[0]}")/guest/$1.sh"; }

# Until the guest's init runs or QEMU has ended; false when the console says nothing for long before that.
reaches_init() { # LOGS PROCESS
	local since=$SECONDS said=-1 now
	until grep -qsa 'as init process' "$1/console.log"; do
		kill -0 "$2" 2>/dev/null || return 0
		now=$(stat -c %s "$1/console.log" 2>/dev/null || echo 0)
		[ "$now" = "$said" ] || { said=$now since=$SECONDS; }
		[ $((SECONDS - since)) -lt 90 ] || return 1
		# tidy-allow(sleep): between two looks at the console
		sleep 0.2
	done
}

# boot ACCEL SECONDS LOGS TEST ARGS [OPTION OF QEMU]...: runs guest/TEST.sh, ARGS separated by blanks. On few and busy
# processors an emulated kernel may miss its first timers and wait for ever: it is booted again, twice at most.
boot() {
	local accel=$1 seconds=$2 logs=$3 test=$4 args=$5 cpu=${EMX_QEMU_CPU:-max} processors=2 clock=()
	local process attempt began=$SECONDS
	shift 5
	if [ -n "${EMX_QEMU_ICOUNT:-}" ]; then
		accel=tcg,thread=single processors=1 clock=(-icount "shift=0,sleep=off")
	elif [ "$accel" = tcg ]; then
		accel=tcg,thread=multi
	fi
	[ "$accel" = kvm ] && cpu=host
	for attempt in 1 2 3; do
		rm -f "$logs/console.log" "$logs/result.log"
		start_qemu "$@" &
		process=$!
		reaches_init "$logs" $process || {
			kill $process || true
			wait $process || true
			echo "the guest hung before its init ran, boot $attempt of 3: $(tail -n 1 "$logs/console.log")"
			continue
		}
		wait $process
		return
	done
	return 1
}

# For boot, whose variables it reads.
start_qemu() {
	exec timeout --kill-after=5 "$((seconds - (SECONDS - began)))" qemu-system-x86_64 -accel "$accel" "${clock[@]}" -cpu "$cpu" -smp "$processors" -m 1024 \
		-nodefaults -no-user-config -no-reboot -display none -net none \
		-kernel "$(kernel_image "$EMX_KVER")" -initrd "$dir/initrd.gz" \
		-append "console=ttyS0 loglevel=7 panic=-1 oops=panic emx.test=$test emx.args=${args// /,} ${EMX_GUEST_ENV:-} $(words_of "$test")" \
		-chardev "file,id=console,path=$logs/console.log" -serial chardev:console \
		-chardev "file,id=result,path=$logs/result.log" -serial chardev:result \
		"$@" </dev/null >"$logs/qemu.log" 2>&1
}

verdict() { tail -n 1 "$1/result.log" 2>/dev/null | tr -d '\r'; }

# KVM may be there and still unable to run a stock kernel (nested virtual machines).
probe_accel() {
	local known=$dir/accel-$EMX_KVER
	if [ ! -s "$known" ]; then
		echo tcg >"$known"
		[ -w /dev/kvm ] && boot kvm 30 "$dir" probe "" && [ "$(verdict "$dir")" = "GUEST PASS" ] &&
			echo kvm >"$known"
	fi
	cat "$known"
}

choose_accel() {
	[ -z "${EMX_QEMU_ICOUNT:-}" ] || EMX_QEMU_ACCEL=tcg
	case ${EMX_QEMU_ACCEL:-auto} in
	auto) probe_accel ;;
	tcg | kvm) echo "$EMX_QEMU_ACCEL" ;;
	*) fail "EMX_QEMU_ACCEL=$EMX_QEMU_ACCEL: give auto, tcg or kvm" ;;
	esac
}

explain() { # LOGS
	echo "--- console of the guest ($1/console.log):"
	tail -n 60 "$1/console.log" 2>/dev/null || true
	echo "--- QEMU said:"
	cat "$1/qemu.log" || true
	echo "--- the test said ($1/result.log):"
	cat "$1/result.log" 2>/dev/null || true
}

# judge STATUS LOGS WHAT SECONDS: ends the script unless QEMU ended well, the test passed and the kernel is content
judge() {
	local status=$1 logs=$2 what=$3 seconds=$4
	if [ "$status" != 0 ]; then
		explain "$logs" >&2
		[ "$status" = 124 ] && fail "$what: not finished within $seconds s"
		fail "$what: QEMU ended with status $status"
	fi
	if [ "$(verdict "$logs")" != "GUEST PASS" ]; then
		explain "$logs" >&2
		fail "$what"
	fi
	if grep -aE "$TROUBLE" "$logs/console.log" >&2; then
		explain "$logs" >&2
		fail "$what: the kernel complained"
	fi
}

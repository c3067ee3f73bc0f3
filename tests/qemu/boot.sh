# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# shellcheck shell=bash
# shellcheck disable=SC2154 # the includer sets dir
# Shared by the scripts that boot guests: run.sh and pair.sh. The includer has set $dir, which has an
# initrd.gz, and EMX_KVER, and has included common.sh.
#
# A guest's logs are in a folder of its own: console.log, result.log (what the tests said, each between its
# "GUEST BEGIN" and its verdict), times.log, qemu.log.
#
# EMX_QEMU_ACCEL    auto (default): KVM if it can boot this kernel, found out once by a boot of at
#                   most 30 s and remembered in $dir; else plain emulation. Or: tcg, kvm
# EMX_QEMU_ICOUNT   set: one emulated processor whose clock counts its instructions, a nanosecond each;
#                   for what is measured, where the machine's own speed is not to matter
# EMX_QEMU_CPU      model and features of the emulated processor (max,-erms: an emulated "rep movsb" copies byte by byte, and
#                   kernels prefer it to words where the processor calls it fast)
# EMX_QEMU_MEMORY   MiB of the guest (1024; 2048 with the files of this machine)
# EMX_QEMU_PLUGIN   a plugin of QEMU and its arguments, FILE,NAME=VALUE
# EMX_GUEST_ENV     variables of all tests, NAME=VALUE, separated by blanks

# Lines that no test may leave in the kernel log, whatever its own verdict.
TROUBLE='WARNING:|BUG:|BUG |Oops|Call Trace|general protection|Kernel panic|refcount_t|UBSAN'
TROUBLE="$TROUBLE"'|KASAN|suspected memory leak|unregister_netdevice: waiting|blocked for more than|rcu.*stall|soft lockup'

# An emulated processor stands still while others have the real one: the kernel is to say that something hangs when it does.
slow_processor='rcupdate.rcu_cpu_stall_timeout=300 watchdog_thresh=60 sysctl.kernel.hung_task_timeout_secs=600'

# Words that tests want on the kernel's command line: their lines "# kernel: WORDS".
words_of() { # TEST[,ARGUMENT]...
	local test
	for test in $1; do
		sed -n 's/^# kernel: //p' "$(dirname "${BASH_SOURCE[0]}")/guest/${test%%,*}.sh"
	done | sort -u | tr '\n' ' '
}

# Seconds for which a process has run, and for which the threads that it has now have waited for a processor.
ran_and_waited() { # PROCESS
	cat "/proc/$1/stat" "/proc/$1"/task/*/schedstat 2>/dev/null | awk -v hertz="$(getconf CLK_TCK)" '
		NF > 3 { ran = ($14 + $15) / hertz; next }
		{ waited += $2 / 1e9 }
		END { printf "%d %d\n", ran, waited }'
}

# Until the guest's init runs or QEMU has ended; false when the console says nothing more while QEMU has had little to do, as a
# kernel before its init never leaves it for seconds, or has computed in vain for long. That other processes take the
# processors changes neither: waiting for one counts as having something to do.
reaches_init() { # LOGS PROCESS
	local since=$SECONDS said=-1 now ran=0 waited=0 ran_now waited_now
	until grep -qsa 'as init process' "$1/console.log"; do
		kill -0 "$2" 2>/dev/null || return 0
		now=$(stat -c %s "$1/console.log" 2>/dev/null || echo 0)
		if [ "$now" != "$said" ]; then
			said=$now since=$SECONDS
			read -r ran waited < <(ran_and_waited "$2")
		elif [ $((SECONDS - since)) -ge 15 ]; then
			read -r ran_now waited_now < <(ran_and_waited "$2")
			[ $(((ran_now - ran + waited_now - waited) * 3)) -ge $((SECONDS - since)) ] && [ $((ran_now - ran)) -lt 120 ] || return 1
		fi
		# tidy-allow(sleep): between two looks at the console
		sleep 0.2
	done
}

# boot ACCEL SECONDS LOGS TESTS [OPTION OF QEMU]...: TESTS are words TEST[,ARGUMENT]..., which the guest runs as
# guest/TEST.sh ARGUMENT..., one after the other; an argument NAME=VALUE is a variable of that test. Status 124 when one
# hangs (follow). On few and busy processors an emulated kernel may miss its first timers and wait for ever: it
# is booted again, twice at most.
boot() {
	local accel=$1 seconds=$2 logs=$3 tests=$4 cpu=${EMX_QEMU_CPU:-max,-erms} processors=2 clock=()
	local process attempt mitigations=''
	shift 4
	if [ -n "${EMX_QEMU_ICOUNT:-}" ]; then
		accel=tcg,thread=single processors=1 clock=(-icount "shift=0,sleep=off")
	elif [ "$accel" = tcg ]; then
		accel=tcg,thread=multi
	fi
	# An emulated processor does not speculate, and takes a sixth longer where the kernel guards against that.
	[ "$accel" = kvm ] || mitigations=mitigations=off
	[ "$accel" = kvm ] && cpu=host
	for attempt in 1 2 3; do
		rm -f "$logs/console.log" "$logs/result.log"
		start_qemu "$@" &
		process=$!
		reaches_init "$logs" $process || {
			end_qemu $process
			echo "the guest hung before its init ran, boot $attempt of 3: $(tail -n 1 "$logs/console.log")"
			continue
		}
		follow $process "$logs" "$seconds"
		return
	done
	return 1
}

end_qemu() { # PROCESS
	kill -9 "$1" 2>/dev/null || true
	wait "$1" 2>/dev/null || true
}

# Until QEMU ends, or a test hangs: QEMU has computed for it for so many seconds, or has had little to do for half as many while
# the test said nothing. LOGS/times.log gets, for each line of the guest's own, the seconds for which QEMU has computed.
follow() { # PROCESS LOGS SECONDS
	local process=$1 logs=$2 limit=$3 said=0 now size=0 size_now began=0 silent=$SECONDS busy=0 ran waited
	: >"$logs/times.log"
	while kill -0 "$process" 2>/dev/null; do
		read -r ran waited < <(ran_and_waited "$process")
		now=$(grep -ac '^GUEST ' "$logs/result.log" 2>/dev/null || true)
		if [ "${now:=0}" != "$said" ]; then
			grep -a '^GUEST ' "$logs/result.log" | tail -n +$((said + 1)) | sed "s/^/$ran /" >>"$logs/times.log"
			said=$now began=$ran
		fi
		size_now=$(stat -c %s "$logs/result.log" 2>/dev/null || echo 0)
		[ "$size_now" = "$size" ] || size=$size_now silent=$SECONDS busy=$((ran + waited))
		if [ $((ran - began)) -ge "$limit" ] || { [ $((SECONDS - silent)) -ge $((limit / 2)) ] &&
			[ $((ran + waited - busy)) -lt $(((SECONDS - silent) / 4)) ]; }; then
			end_qemu "$process"
			return 124
		fi
		# tidy-allow(sleep): between two looks at what the guest has said
		sleep 0.5
	done
	wait "$process"
}

# For boot, whose variables it reads. QEMU ends with its starter, however that ends.
start_qemu() {
	local test parameters=''
	for test in $tests; do
		parameters+=" emx.test=$test"
	done
	exec setpriv --pdeathsig KILL qemu-system-x86_64 -accel "$accel" "${clock[@]}" -cpu "$cpu" -smp "$processors" \
		-m "${EMX_QEMU_MEMORY:-1024}" \
		-nodefaults -no-user-config -no-reboot -display none -net none \
		-kernel "$(kernel_image "$EMX_KVER")" -initrd "$dir/initrd.gz" \
		-append "console=ttyS0 loglevel=7 panic=-1 oops=panic $slow_processor $mitigations$parameters ${EMX_GUEST_ENV:-} $(words_of "$tests")" \
		-chardev "file,id=console,path=$logs/console.log" -serial chardev:console \
		-chardev "file,id=result,path=$logs/result.log" -serial chardev:result \
		${EMX_QEMU_PLUGIN:+-plugin "$EMX_QEMU_PLUGIN"} \
		"$@" </dev/null >"$logs/qemu.log" 2>&1
}

# says_of LOGS BEGIN|PASS|FAIL TEST[,ARGUMENT]...: the guest says that of it. The log is read to its end: "grep -q" would let the
# command before it fail by SIGPIPE where the log is long, and the pipeline with it.
says_of() { tr -d '\r' <"$1/result.log" 2>/dev/null | awk -v word="$2" -v test="$3" '$1 == "GUEST" && $2 == word && $3 == test { found = 1 } END { exit !found }'; }
passed() { says_of "$1" PASS "$2"; }

# KVM may be there and still unable to run a stock kernel (nested virtual machines).
probe_accel() {
	local known=$dir/accel-$EMX_KVER
	if [ ! -s "$known" ]; then
		echo tcg >"$known"
		[ -w /dev/kvm ] && boot kvm 30 "$dir" probe && passed "$dir" probe &&
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

# judge STATUS LOGS TEST: ends the script unless QEMU ended well, its only test passed and the kernel is content
judge() {
	local status=$1 logs=$2 test=$3
	if [ "$status" != 0 ]; then
		explain "$logs" >&2
		[ "$status" = 124 ] && fail "$test: it hangs"
		fail "$test: QEMU ended with status $status"
	fi
	if ! passed "$logs" "$test"; then
		explain "$logs" >&2
		fail "$test"
	fi
	# The kernel repeats its command line, and tells the limit of its watchdog: words that would be trouble elsewhere.
	if grep -avE 'ommand line:|stall warnings timeout set' "$logs/console.log" | grep -aE "$TROUBLE" >&2; then
		explain "$logs" >&2
		fail "$test: the kernel complained"
	fi
}

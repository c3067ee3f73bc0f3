# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# shellcheck shell=bash
# A program that uses netlab, started as by a person at a terminal, ended in any way, and what it leaves behind. Source it
# in the top folder; NAME is the test's.
#
#   terminal NAME           a folder $work that goes with the script, checks in it; in $work/tmp the program's files
#   launch COMMAND...       in a process group of its own, as ${as[@]}, with input from ${input:-/dev/null}; $pid, $out
#   reaches TEXT [TIMES]    its output has come so far
#   closes STATUS           it ends with that status, nothing of it is left, and its hosts have sent nothing forbidden
#   interrupts [SIGNAL]     what Ctrl-C does, to the whole group, or another signal to the program alone
# shellcheck disable=SC2154 # terminal sets work
. tests/support/check.sh
. tests/support/lab.sh
as=() pid='' input='' watched=0 hung=200
plain=${EMX_BUILD:-$PWD/build}/plain

terminal() {
    work=$(mktemp -d "${TMPDIR:-/tmp}/emx-$1.XXXXXX") || exit 1
    mark=MARK=emx-$1-$$ out=$work/out
    install -d -m 1777 "$work/tmp" && chmod 755 "$work" || exit 1
    check_dir "$work"
    trap 'trap "" INT TERM; [ -z "$pid" ] || kill -KILL -- "-$pid" 2>/dev/null; end_terminal' EXIT
    trap 'exit 130' INT
    trap 'exit 143' TERM HUP
}
end_terminal() { rm -rf "$work"; } # a test with more to remove defines it anew

launch() {
    : >"$out" # the child opens it later; who looks before must not find what another printed
    setsid "${as[@]}" env --default-signal=INT,TERM "$mark" TMPDIR="$work/tmp" EMX_WATCH="$plain/tests/watch/wirewatch" \
        "$@" >"$out" 2>&1 <"${input:-/dev/null}" &
    pid=$!
}

come_or_ended() { [ "$(grep -c -- "$1" "$out")" -ge "$2" ] || lab_ended "$pid"; }
reaches() {
    until_ok $hung come_or_ended "$1" "${2:-1}" && [ "$(grep -c -- "$1" "$out")" -ge "${2:-1}" ] && return
    tail -n 20 "$out"
    return 1
}

interrupts() {
    if [ "${1:-INT}" = INT ]; then kill -INT -- "-$pid"; else kill -s "$1" "$pid"; fi
}

closes() {
    local status
    if ! until_ok $hung lab_ended "$pid"; then
        ps -e -o pid,ppid,pgid,stat,pending,blocked,ignored,caught,wchan:20,args --forest
        kill -KILL -- "-$pid"
    fi
    wait "$pid"
    status=$?
    cat "$out"
    [ $status = "$1" ] || echo "status $status, not $1"
    nothing_forbidden && nothing_left "$pid" && [ $status = "$1" ]
}

# The watcher of frames speaks last; tests look at the rest of the output.
nothing_forbidden() {
    local frames
    frames=$(sed -n 's/^wirewatch: \([0-9]*\) frames judged, .*, 0 violations$/\1/p' "$out")
    watched=$((watched + ${frames:-0}))
    sed -i '/^wirewatch: .*, 0 violations$/d' "$out"
    ! grep wirewatch: "$out"
}

# Processes with the mark in their environment, namespaces of the program's netlab, files.
nothing_left() {
    local process left=0
    for process in $(grep -lzxF "$mark" /proc/[0-9]*/environ 2>/dev/null); do
        process=${process%/environ}
        echo "still there: $(tr '\0' ' ' <"$process/cmdline")"
        kill -9 "${process#/proc/}"
        left=1
    done
    ip netns list | grep -E "^emx$1(h|sw)" && left=1
    find "$work/tmp" -mindepth 1 | grep . && left=1
    return $left
}

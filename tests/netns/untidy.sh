#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# Programs that are not as tidy as ours, in circumstances that the library does not choose: see untidy.cpp. The partners
# are the program itself, one on its host and one on another.
cd "$(dirname "$0")/../.." || exit 1
. tests/support/netlab.sh
netlab_begin "$PWD/tests/netns/untidy.sh" "$@"
. tests/support/traffic.sh
untidy=$plain/tests/netns/untidy

netlab_make 2 || exit 1
agents eth0:N=9000 eth0:N=9000 || exit 1
partners=()
for host in 1 2; do
    netlab_bg $host "$NETLAB_TMP/served$host" "$untidy" serve 0
    tells "$NETLAB_TMP/served$host" '^ready' "$NETLAB_PID" || exit 1
    partners+=("$(netlab_mac $host):0")
done

run() { netlab_in 1 timeout "$hung" "$untidy" "$@" "${partners[@]}"; }
# shellcheck disable=SC2317 # called by check
works() { says '^all went well$' run "$@"; }

# Ends by itself, without anything wrong: whatever calls say.
ends_well() {
    ends '[01]' 'all went well|some calls failed' run "$@"
}

check "with nothing odd" works usual
check "without standard streams no descriptor of the library is one" works closed
check "signals that come all the time harm no call, and come to the program's threads alone" works signals
check "a cancelled thread ends where it waits, and nowhere else" works cancel
for kind in descriptors memory threads files allocations; do
    check "with too few $kind an open fails, and leaves nothing" works limits $kind
done
# A copy of ours into memory that is not there is a signal, and the program's own.
ends_or_faults() {
    local status=0
    run "$@" || status=$?
    case $status in
    0 | 135 | 139) works usual ;;
    *) return 1 ;;
    esac
}
for way in none cut unmapped; do
    check "both ends hear that memory of a message that is sent is gone: $way" works gone $way send
    check "both ends hear that memory of a message that is received is gone: $way" ends_or_faults gone $way receive
done
check "the receiver hears that the sender's memory is gone" says 'receive: the sender no longer has the message' cat "$NETLAB_TMP/served1" "$NETLAB_TMP/served2"
check "a stopped agent costs a connect its patience, and is named" works slow "${AGENTS[1]}"

# Left out: those without which neither the C library nor the test goes on (futex, exit, exit_group, rt_sigreturn), and
# those of which it takes any answer for success, or ends the process (brk, rseq).
needed=" 202 60 231 15 12 334 "
find_calls() {
    says '^all went well$' run list || return
    calls=$(sed -n 's/^call //p' "$said")
    [ "$(wc -w <<<"$calls")" -gt 40 ] || { echo "too few calls: $calls"; return 1; }
}
each_call_refused() { # "ERRNO WHEN"...
    local number how
    find_calls || return
    for number in ${chosen:-$calls}; do
        [[ $needed != *" $number "* ]] || continue
        for how in "$@"; do
            # shellcheck disable=SC2086 # two words
            ends_well refuse "$number" $how || { echo "call $number, error $how"; return 1; }
        done
    done
    works usual
}
# EPERM and ENOSYS
ways=("1 before" "38 after")
[ -z "${EMX_FULL:-}" ] || ways+=("38 before" "1 after")
check "each system call refused, from the start or later" each_call_refused "${ways[@]}"
# In the CI tier those that get memory, descriptors and threads: nobody waits in vain for what they would bring.
chosen='9 41 257 288 290 319 435'
[ -z "${EMX_FULL:-}" ] || chosen=''
check "each system call refused once it was made some times" each_call_refused "38 "{1..12}
finish

#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# tools/netlab: hosts that know each other, mpirun without options across them, exit status, input,
# errors; as root and as an ordinary user; and that nothing is left, however it ends.
cd "$(dirname "$0")/../.." || exit 1
. tests/support/traces.sh
plain=${EMX_BUILD:-$PWD/build}/plain
passed=0 failed=0 skipped=0
mark=emx-cluster-test-$$
work=$(mktemp -d "${TMPDIR:-/tmp}/emx-cluster.XXXXXX") || exit 1
install -d -m 1777 "$work/tmp" && chmod 755 "$work" || exit 1
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP
unset "${!OMPI_MCA_@}"
as=() pid='' watched=0

expect() { # expect NAME COMMAND...: the command succeeds and leaves nothing
    local name=$1
    shift
    if "$@" >"$work/said" 2>&1 && traces_of "MARK=$mark" "$pid" "$work/tmp" >>"$work/said"; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "FAILED: $name"
        sed 's/^/    /' "$work/said"
    fi
}

start() { # start WORD...: netlab in a process group of its own, as a terminal would have it
    : >"$work/out" # the child opens it later; who looks before must not find what another printed
    setsid "${as[@]}" env --default-signal=INT,TERM "MARK=$mark" TMPDIR="$work/tmp" HOME="$work/tmp" \
        EMX_WATCH="$plain/tests/watch/wirewatch" PATH=/usr/local/bin:/usr/bin:/bin tools/netlab "$@" >"$work/out" 2>&1 <"${input:-/dev/null}" &
    pid=$!
}

# ends STATUS WORD...: netlab ends with that status
ends() {
    local wanted=$1 status
    shift
    start "$@"
    wait "$pid"
    status=$?
    cat "$work/out"
    [ $status = "$wanted" ] || { echo "status $status, not $wanted"; return 1; }
    nothing_forbidden
}

# What the watcher of frames says comes last; the tests look at the rest of the output.
nothing_forbidden() {
    local frames
    frames=$(sed -n 's/^wirewatch: \([0-9]*\) frames judged, .*, 0 violations$/\1/p' "$work/out")
    watched=$((watched + ${frames:-0}))
    sed -i '/^wirewatch: .*, 0 violations$/d' "$work/out"
    ! grep wirewatch: "$work/out"
}

refuses() { # refuses TEXT WORD...
    local text=$1
    shift
    ends 2 "$@" && grep -q -- "$text" "$work/out"
}

prints() { # prints TEXT WORD...
    local text=$1
    shift
    ends 0 "$@" && grep -qE -- "$text" "$work/out"
}

spread() { # spread COUNT EACH WORD...: that many hosts print their names, each so many times
    local count=$1 each=$2
    shift 2
    ends 0 "$@" && [ "$(grep -c '^node[0-9]*$' "$work/out")" = $((count * each)) ] &&
        [ "$(sort "$work/out" | uniq -c | grep -c "^ *$each node")" = "$count" ]
}

# A shell gets what is typed; "on" reaches the other hosts.
shell() {
    echo 'echo a$((1 + 1)); on node2 "hostname; getent hosts node1"; exit 9' >"$work/typed"
    local input=$work/typed
    ends 9 2 -b "$plain" && [ "$(awk '{ printf "%s %s,", $1, $2 }' "$work/out")" = "a2 ,node2 ,10.77.0.2 node1," ]
}

input_passes() {
    local input=$work/typed
    printf 'one\ntwo\n' >"$input"
    ends 0 1 -b "$plain" -- wc -l && [ "$(cat "$work/out")" = 2 ]
}

# stopped STATUS SIGNAL TARGET: while ranks run in both hosts; "group" is what Ctrl-C does
stopped() {
    local wanted=$1 signal=$2 status try end
    # shellcheck disable=SC2016 # for the shell inside
    start 2 -b "$plain" -- mpirun -n 4 sh -c 'echo "running $OMPI_COMM_WORLD_RANK"; exec tail -f /dev/null'
    for ((try = 0; try < 400; try++)); do
        [ "$(grep -c running "$work/out")" = 4 ] && break
        kill -0 "$pid" || break
        sleep 0.05 # tidy-allow(sleep): polls the output, at most 20 s
    done
    if [ "$3" = group ]; then kill -s "$signal" -- "-$pid"; else kill -s "$signal" "$pid"; fi
    for ((end = SECONDS + 30; SECONDS < end; )); do
        kill -0 "$pid" 2>/dev/null || break
        sleep 0.05 # tidy-allow(sleep): polls the end of the process, at most 30 s
    done
    if [ $SECONDS -ge $end ]; then
        echo "30 s after SIG$signal these still live:"
        ps -e -o pid,ppid,pgid,stat,pending,blocked,ignored,caught,wchan:20,args --forest
        kill -9 -- "-$pid"
    fi
    wait "$pid"
    status=$?
    cat "$work/out"
    [ $try -lt 400 ] && [ $status = "$wanted" ] || { echo "status $status, not $wanted"; return 1; }
    nothing_forbidden
}

on_any_machine() {
    expect "hosts, names, a shell with its status" shell
    expect "the command's input" input_passes
    expect "mpirun puts ranks on all hosts" spread 3 2 3 -b "$plain" -- mpirun -n 6 hostname
    expect "messages between the hosts" ends 0 2 -b "$plain" -- mpirun -n 2 "$plain/tests/mpi/mpi_modes"
    expect "slots are ranks per host" spread 2 3 2 -s 3 -b "$plain" -- mpirun hostname
    expect "MTU and dialect" prints 'MTU 1500.*dialect N=1500' 2 -m 1500 -b "$plain" -- on node2 omx_info
    expect "a dialect asked for" prints 'MTU 9000.*dialect W' 2 -d W -b "$plain" -- omx_info
    expect "boards have names" prints '02:45:4d:58:00:02 node2:0' 2 -b "$plain" -- omx_info
    expect "a command that is not there" ends 127 2 -b "$plain" -- no-such-command
    expect "SIGTERM while ranks run" stopped 143 TERM script
    expect "Ctrl-C while ranks run" stopped 130 INT group
    expect "frames of the hosts were judged" [ $watched -gt 0 ]
    watched=0
}

command -v mpirun >/dev/null || { echo "no mpirun: apt-get install openmpi-bin"; echo "0 passed, 1 failed, 0 skipped"; exit 1; }
expect "no host count" refuses 'how many hosts'
expect "too many hosts" refuses 'from 1 to 200' 201
expect "a count that is none" refuses 'not "two"' two
expect "an unknown option" refuses 'no option --fast' 2 --fast
expect "an option without its value" refuses 'wants a value' 2 --mtu
expect "a dialect that is none" refuses 'W or N=SIZE' 2 -d X
expect "a dialect too big for the MTU" refuses 'give --mtu 4144' 2 -m 1500 -d W
expect "a transport that is none" refuses 'mx or tcp' 2 -t udp -b "$plain"
expect "a build that is none" refuses 'no build in' 2 -b "$work"
expect "-h" prints '^usage: tools/netlab N' -h
expect "MPI over TCP when asked for" prints '^ob1 self,vader,tcp$' 2 -t tcp -b "$plain" -- \
    sh -c 'echo "$OMPI_MCA_pml $OMPI_MCA_btl"'
expect "ranks that wait yield, if not told that there is room" prints '^1$' 2 -b "$plain" -- printenv OMPI_MCA_mpi_yield_when_idle
expect "no yielding with room for all" ends 1 1 -s 1 -b "$plain" -- printenv OMPI_MCA_mpi_yield_when_idle
expect "the environment wins" env OMPI_MCA_btl=self,tcp bash -c 'tools/netlab 1 -t tcp -b "$1" -- printenv OMPI_MCA_btl |
    grep -x self,tcp' - "$plain"
on_any_machine
if [ "$(id -u)" = 0 ]; then
    # The folders above the build may be closed to others.
    as=(setpriv --reuid=nobody --regid=nogroup --clear-groups)
    if ! "${as[@]}" unshare -Urnm true 2>/dev/null; then
        expect "an ordinary user: the remedy is named" ends 1 2 -b "$plain"
    elif ! "${as[@]}" test -x "$plain/tools/omxd/omxd"; then
        echo "skipped: an ordinary user cannot reach $plain"
        skipped=12
    else
        echo "As an ordinary user:"
        on_any_machine
    fi
fi
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" = 0 ]

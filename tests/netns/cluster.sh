#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# tools/netlab: hosts that know each other, mpirun without options across them, exit status, input,
# errors; as root and as an ordinary user; and that nothing is left, however it ends.
cd "$(dirname "$0")/../.." || exit 1
. tests/support/terminal.sh
terminal cluster
unset "${!OMPI_MCA_@}"

start() { # start WORD...: netlab
    launch HOME="$work/tmp" PATH=/usr/local/bin:/usr/bin:/bin tools/netlab "$@"
}

# netlab STATUS WORD...: it ends with that status
netlab() {
    local wanted=$1
    shift
    start "$@"
    closes "$wanted"
}

declines() { # declines TEXT WORD...
    local text=$1
    shift
    netlab 2 "$@" && grep -q -- "$text" "$out"
}

prints() { # prints TEXT WORD...
    local text=$1
    shift
    netlab 0 "$@" && grep -qE -- "$text" "$out"
}

silent() { # silent WORD...: no word of netlab's own
    netlab 0 "$@" && ! grep '^netlab: ' "$out"
}

spread() { # spread COUNT EACH WORD...: that many hosts print their names, each so many times
    local count=$1 each=$2
    shift 2
    netlab 0 "$@" && [ "$(grep -c '^node[0-9]*$' "$out")" = $((count * each)) ] &&
        [ "$(sort "$out" | uniq -c | grep -c "^ *$each node")" = "$count" ]
}

# A shell gets what is typed; "on" reaches the other hosts.
shell() {
    echo 'echo a$((1 + 1)); on node2 "hostname; getent hosts node1"; exit 9' >"$work/typed"
    local input=$work/typed
    netlab 9 2 -b "$plain" && [ "$(awk '{ printf "%s %s,", $1, $2 }' "$out")" = "a2 ,node2 ,10.77.0.2 node1," ]
}

input_passes() {
    local input=$work/typed
    printf 'one\ntwo\n' >"$input"
    netlab 0 1 -b "$plain" -- wc -l && [ "$(cat "$out")" = 2 ]
}

stopped() { # stopped STATUS SIGNAL: while ranks run in both hosts
    # shellcheck disable=SC2016 # for the shell inside
    start 2 -b "$plain" -- mpirun -n 4 sh -c 'echo "running $OMPI_COMM_WORLD_RANK"; exec tail -f /dev/null'
    reaches running 4 && interrupts "$2" && closes "$1"
}

# Tests of a user's privileges come first; the rest is for the full tier, once more.
as_any_user() {
    check "hosts, names, a shell with its status" shell
    check "messages between the hosts" netlab 0 2 -b "$plain" -- mpirun -n 2 "$plain/tests/mpi/mpi_modes"
    check "SIGTERM while ranks run" stopped 143 TERM
    check "Ctrl-C while ranks run" stopped 130 INT
    check "frames of the hosts were judged" [ $watched -gt 0 ]
    watched=0
}

what_it_makes() {
    check "the command's input" input_passes
    check "mpirun puts ranks on all hosts" spread 3 2 3 -b "$plain" -- mpirun -n 6 hostname
    check "slots are ranks per host" spread 2 3 2 -s 3 -b "$plain" -- mpirun hostname
    check "MTU and dialect" prints 'MTU 1500.*dialect N=1500' 2 -m 1500 -b "$plain" -- on node2 omx_info
    check "a dialect asked for" prints 'MTU 9000.*dialect W' 2 -d W -b "$plain" -- omx_info
    check "boards have names" prints '02:45:4d:58:00:02 node2:0' 2 -b "$plain" -- omx_info
    # shellcheck disable=SC2016 # for the shell inside
    check "all tools under all names" prints '^6$' 1 -b "$plain" -- \
        sh -c 'for each in mx_info mx_counters mx_endpoint_info omx_init omxd omx_perf; do command -v $each; done | wc -l'
    check "mx_info prints as native MX does" prints '^MX Version: ' 1 -b "$plain" -- mx_info
    check "a command that is not there" netlab 127 2 -b "$plain" -- no-such-command
}

command -v mpirun >/dev/null || { skip "no mpirun: apt-get install openmpi-bin"; finish; }
check "no host count" declines 'how many hosts'
check "too many hosts" declines 'from 1 to 200' 201
check "a count that is none" declines 'not "two"' two
check "an unknown option" declines 'no option --fast' 2 --fast
check "an option without its value" declines 'wants a value' 2 --mtu
check "a dialect that is none" declines 'W or N=SIZE' 2 -d X
check "a dialect too big for the MTU" declines 'give --mtu 4144' 2 -m 1500 -d W
check "a transport that is none" declines 'mx or tcp' 2 -t udp -b "$plain"
mkdir "$work/bare" && ln -s "$plain"/{tools,libmx} "$work/bare"
no_component="no $work/bare/compat/openmpi/mca_mtl_mx.so: install libopenmpi-dev and build there"
check "no component, but EtherMX asked for" declines "^$no_component" 2 -b "$work/bare" -- mpirun --mca pml cm --mca mtl mx -n 2 hostname
check "no component, but the environment asks for EtherMX" env OMPI_MCA_mtl=mx bash -c 'tools/netlab 1 -b "$1" -- hostname 2>&1 | grep -x "$2.*"' - "$work/bare" "$no_component"
check "no component, nothing asked for" prints "^netlab: $no_component.*: MPI uses tcp$" 1 -b "$work/bare" -- hostname
check "no word of it where tcp was asked for" silent 1 -t tcp -b "$work/bare" -- hostname
check "a build that is none" declines 'no build in' 2 -b "$work"
check "-h" prints '^usage: tools/netlab N' -h
check "MPI over TCP when asked for" prints '^ob1 self,vader,tcp$' 2 -t tcp -b "$plain" -- \
    sh -c 'echo "$OMPI_MCA_pml $OMPI_MCA_btl"'
check "ranks that wait yield, if not told that there is room" prints '^1$' 2 -b "$plain" -- printenv OMPI_MCA_mpi_yield_when_idle
check "no yielding with room for all" netlab 1 1 -s 1 -b "$plain" -- printenv OMPI_MCA_mpi_yield_when_idle
check "the environment wins" env OMPI_MCA_btl=self,tcp bash -c 'tools/netlab 1 -t tcp -b "$1" -- printenv OMPI_MCA_btl |
    grep -x self,tcp' - "$plain"
as_any_user
what_it_makes
if [ "$(id -u)" = 0 ]; then
    # The folders above the build may be closed to others.
    as=(setpriv --reuid=nobody --regid=nogroup --clear-groups)
    if ! "${as[@]}" unshare -Urnm true 2>/dev/null; then
        check "an ordinary user: the remedy is named" netlab 1 2 -b "$plain"
    elif ! "${as[@]}" test -x "$plain/tools/omxd/omxd"; then
        skip "an ordinary user cannot reach $plain" 5
    else
        echo "As an ordinary user:"
        as_any_user
        [ -z "${EMX_FULL:-}" ] || what_it_makes
    fi
fi
finish

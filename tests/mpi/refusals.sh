#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# What a user of Open MPI is told when EtherMX cannot be used: one message that names the host and the remedy, and the
# job stops or goes on over something else, as he asked. Also: starting a job connects nobody.
#
#   tests/mpi/refusals.sh [BUILD]     (build/plain); the last line is "N passed, N failed, N skipped"
cd "$(dirname "$0")/../.." || exit 1
. tests/support/netlab.sh
. tests/support/mpilab.sh
arguments=("$PWD/tests/mpi/refusals.sh" "$@")
build=$(cd "${1:-${EMX_BUILD:-build}/plain}" && pwd) && mpilab_transport mx "$build" && [ -x "$build/tests/bench/mpi_perf" ] ||
    { echo "needs a build with libopenmpi-dev installed: apt-get install libopenmpi-dev openmpi-bin"; echo "0 passed, 1 failed, 0 skipped"; exit 1; }
netlab_begin "${arguments[@]}"
# shellcheck disable=SC2034 # read by netlab_make
NETLAB_WATCH=$build/tests/watch/wirewatch NETLAB_DIALECTS="N=9000 W"
mpilab_make 3 1 9000 N=9000 "$build" || exit 1
passed=0 failed=0
program=("$build/tests/bench/mpi_perf" -t 1 barrier)

verdict() { # verdict NAME WORDS: empty words are a success
    if [ -z "$2" ]; then
        passed=$((passed + 1))
        echo "ok   $1"
    else
        failed=$((failed + 1))
        echo "FAIL $1: $2"
        tail -n 12 "$NETLAB_TMP/log" | cut -c1-300 | sed 's/^/    | /'
    fi
}

# expect NAME works|stops PATTERN COMMAND...: the job does, and a line (none, if the pattern is empty) speaks of MX.
expect() {
    local name=$1 wanted=$2 pattern=$3 status words='' lines
    shift 3
    mpilab_run timeout -k 5 60 mpirun "$@" >"$NETLAB_TMP/log" 2>&1
    status=$?
    lines=$(grep -c 'mtl mx on' "$NETLAB_TMP/log")
    case $wanted in
    works) [ $status = 0 ] && grep -q '^barrier,' "$NETLAB_TMP/log" || words="ends with $status" ;;
    stops) [ $status != 0 ] && [ $status != 124 ] || words="ends with $status" ;;
    esac
    if [ -n "$pattern" ]; then
        grep -qE "$pattern" "$NETLAB_TMP/log" || words="$words; does not say: $pattern"
        # Two when each of two hosts finds the other one wrong.
        [[ $lines == [12] ]] || words="$words; $lines messages"
    else
        [ "$lines" = 0 ] || words="$words; $lines messages"
    fi
    verdict "$name" "$words"
}

# two COMMAND...: a job whose second rank is started by that command
two() {
    echo "-n 1 --host node1 ${program[*]} : -n 1 --host node2 $* ${program[*]}"
}

no_board() {
    expect "no board anywhere" stops 'mtl mx on node[12]: Open MPI cannot use MX: .*zebra0' \
        -n 1 -x EMX_BOARDS=zebra0:N=9000 "${program[@]}"
    # shellcheck disable=SC2046 # words
    expect "no board on the second host" stops 'mtl mx on node2: Open MPI cannot use MX: .*zebra0' $(two env EMX_BOARDS=zebra0:N=9000)
    (
        unset OMPI_MCA_pml OMPI_MCA_mtl
        export OMPI_MCA_mtl_mx_priority=50 OMPI_MCA_btl=self,vader,tcp
        expect "no board, and MX not asked for: goes on over TCP" works '' -n 2 -x EMX_BOARDS=zebra0:N=9000 "${program[@]}"
        echo "$passed $failed" >"$NETLAB_TMP/counts"
    )
    read -r passed failed <"$NETLAB_TMP/counts"
}

no_privilege() {
    # shellcheck disable=SC2046
    expect "no privilege on the second host" stops 'mtl mx on node2: Open MPI cannot use MX: .*CAP_NET_RAW.*(sudo omxd|as root)' \
        $(two setpriv --bounding-set -net_raw --inh-caps -net_raw)
}

# A component that was compiled for another generation of the interface says so to mx_init.
other_generation() {
    cat >"$NETLAB_TMP/old.c" <<'END'
#define _GNU_SOURCE
#include <dlfcn.h>
int mx__init_api(int api)
{
	int (*next)(int) = (int (*)(int))dlsym(RTLD_NEXT, "mx__init_api");
	return api == 0x301 ? next(0x100) : next(api);
}
END
    "${CC:-cc}" -shared -fPIC -o "$NETLAB_TMP/old.so" "$NETLAB_TMP/old.c" || { verdict "a preload" "does not compile"; return; }
    # shellcheck disable=SC2046
    expect "component and library of different generations" stops \
        'mtl mx on node2: Open MPI cannot use MX: .*another generation of the MX interface' $(two env "LD_PRELOAD=$NETLAB_TMP/old.so")
}

# On a host whose board nobody has used yet.
dialects() {
    expect "another dialect on one host" stops \
        'mtl mx on node[13]: the board of host node[13] speaks MXoE, dialect (W|N=9000), this one .*: give all boards .* the same dialect' \
        -n 1 --host node1 "${program[@]}" : -n 1 --host node3 env EMX_BOARDS=eth0:W "${program[@]}"
}

peer_without() {
    # shellcheck disable=SC2046
    expect "the second host does without MX" stops 'mtl mx on node1: process .* on host node2 does not use MX: a board must be up there' \
        $(two env OMPI_MCA_mtl=ofi OMPI_MCA_opal_common_ofi_provider_include=tcp FI_TCP_IFACE=eth0)
}

# Eight ranks that start and end.
lazy() {
    local packets words=''
    cat >"$NETLAB_TMP/start.c" <<'END'
#include <mpi.h>
int main(int argc, char **argv)
{
	return MPI_Init(&argc, &argv) || MPI_Finalize();
}
END
    mpicc -o "$NETLAB_TMP/start" "$NETLAB_TMP/start.c" >"$NETLAB_TMP/log" 2>&1 &&
        mpilab_run timeout -k 5 60 mpirun -n 8 "$NETLAB_TMP/start" >"$NETLAB_TMP/log" 2>&1 || words="ends with $?"
    packets=$(netlab_run 1 omx_counters -a | awk '/connect packets sent/ { print $2 }')
    [ "$packets" = 0 ] || words="$words; \"$packets\" connect packets"
    verdict "starting a job connects nobody" "$words"
}

lazy
expect "all is well" works '' -n 2 "${program[@]}"
no_board
other_generation
dialects
peer_without
no_privilege
echo "$passed passed, $failed failed, 0 skipped"
[ "$failed" = 0 ]

#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# Users of Open MPI are told when EtherMX cannot be used: one message that names the host and the remedy, and the
# job stops or goes on over something else, as asked for. Also: starting a job connects nobody.
#
#   tests/mpi/refusals.sh [BUILD]     (build/plain); the last line is "N passed, N failed, N skipped"
cd "$(dirname "$0")/../.." || exit 1
. tests/support/netlab.sh
. tests/support/mpilab.sh
arguments=("$PWD/tests/mpi/refusals.sh" "$@")
build=$(cd "${1:-${EMX_BUILD:-build}/plain}" && pwd) && mpilab_transport mx "$build" && [ -x "$build/tests/bench/mpi_perf" ] ||
    { skip "needs a build with libopenmpi-dev installed: apt-get install libopenmpi-dev openmpi-bin"; finish; }
netlab_begin "${arguments[@]}"
# shellcheck disable=SC2034 # read by netlab_make
NETLAB_WATCH=$build/tests/watch/wirewatch NETLAB_DIALECTS="N=9000 W" CHECK_TELLS=1
mpilab_make 3 1 9000 N=9000 "$build" || exit 1
program=("$build/tests/bench/mpi_perf" -t 1 barrier)

mpirun_here() { mpilab_run timeout -k 5 300 mpirun "$@"; }

# works COMMAND...: the job does, and says nothing of MX
works() { says '^barrier,' mpirun_here "$@" && ! grep 'mtl mx on' "$said"; }

# stops PATTERN COMMAND...: it does not, and one line speaks of MX, or two when each of two hosts finds the other one wrong.
stops() {
    refuses "$1" mpirun_here "${@:2}" && [[ $(grep -c 'mtl mx on' "$said") == [12] ]]
}

# two COMMAND...: a job whose second rank is started by that command
two() {
    echo "-n 1 --host node1 ${program[*]} : -n 1 --host node2 $* ${program[*]}"
}

# Nobody has asked for MX.
over_tcp() (
    unset OMPI_MCA_pml OMPI_MCA_mtl
    export OMPI_MCA_mtl_mx_priority=50 OMPI_MCA_btl=self,vader,tcp
    works -n 2 -x EMX_BOARDS=zebra0:N=9000 "${program[@]}"
)

no_board() {
    check "no board anywhere" stops 'mtl mx on node[12]: Open MPI cannot use MX: .*zebra0' \
        -n 1 -x EMX_BOARDS=zebra0:N=9000 "${program[@]}"
    # shellcheck disable=SC2046 # words
    check "no board on the second host" stops 'mtl mx on node2: Open MPI cannot use MX: .*zebra0' $(two env EMX_BOARDS=zebra0:N=9000)
    check "no board, and MX not asked for: goes on over TCP" over_tcp
}

# An agent that lingers there from an earlier job would serve it.
no_agent() { # HOST
    local pid
    for pid in $(ip netns pids "${NETLAB_NS[$1]}"); do
        [ "$(cat "/proc/$pid/comm" 2>/dev/null)" != omxd ] || return 1
    done
}

no_privilege() {
    check "no agent is left on the second host" until_ok 200 no_agent 2
    # shellcheck disable=SC2046
    check "no privilege on the second host" stops 'mtl mx on node2: Open MPI cannot use MX: .*CAP_NET_RAW.*(sudo omxd|as root)' \
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
    check "a preload" "${CC:-cc}" -shared -fPIC -o "$NETLAB_TMP/old.so" "$NETLAB_TMP/old.c"
    # shellcheck disable=SC2046
    check "component and library of different generations" stops \
        'mtl mx on node2: Open MPI cannot use MX: .*another generation of the MX interface' $(two env "LD_PRELOAD=$NETLAB_TMP/old.so")
}

# On a host whose board nobody has used yet.
dialects() {
    check "another dialect on one host" stops \
        'mtl mx on node[13]: the board of host node[13] speaks MXoE, dialect (W|N=9000), this one .*: give all boards .* the same dialect' \
        -n 1 --host node1 "${program[@]}" : -n 1 --host node3 env EMX_BOARDS=eth0:W "${program[@]}"
}

# The second rank only waits: OFI would stop the job as well, and its message might come first.
peer_without() {
    cat >"$NETLAB_TMP/one_way.c" <<'END'
#include <mpi.h>
#include <unistd.h>
int main(int argc, char **argv)
{
	int rank = 0;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	if (rank == 0)
		return MPI_Send(&rank, 1, MPI_INT, 1, 0, MPI_COMM_WORLD);
	for (;;)
		pause();
}
END
    local program=("$NETLAB_TMP/one_way")
    # shellcheck disable=SC2046
    mpicc -o "${program[0]}" "$NETLAB_TMP/one_way.c" &&
        stops 'mtl mx on node1: process .* on host node2 does not use MX: a board must be up there' \
            $(two env OMPI_MCA_mtl=ofi OMPI_MCA_opal_common_ofi_provider_include=tcp FI_TCP_IFACE=eth0)
}

# Eight ranks that start and end.
lazy() {
    cat >"$NETLAB_TMP/start.c" <<'END'
#include <mpi.h>
int main(int argc, char **argv)
{
	return MPI_Init(&argc, &argv) || MPI_Finalize();
}
END
    mpicc -o "$NETLAB_TMP/start" "$NETLAB_TMP/start.c" && mpirun_here -n 8 "$NETLAB_TMP/start" &&
        says '^[0-9: ]* 0 connect packets sent' netlab_run 1 omx_counters -a
}

check "starting a job connects nobody" lazy
check "all is well" works -n 2 "${program[@]}"
no_board
other_generation
dialects
check "the second host does without MX" peer_without
no_privilege
finish

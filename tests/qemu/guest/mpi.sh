# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# shellcheck shell=sh
# Debian's Open MPI over the module, between hosts made of network namespaces: the MPI suite (arguments are
# its own), some of MPICH's tests and NetPIPE's MPI module. Limits of time are ten times as long as on a real processor.
. /check.sh
. /root.sh

begin_over_module llc stp bridge veth
check "MPI suite" in_root tests/mpi/run -b "$BUILD" -p 10 "$@"
check "MPICH's tests" in_root tests/mpi/mpich -b "$BUILD" -- --selection tests/mpi/mpich.guest --patience 10
check "NetPIPE over MPI" in_root env EMX_NETPIPE_TOP=65537 tests/mpi/apps -b "$BUILD" -g 2x1 netpipe
end_over_module

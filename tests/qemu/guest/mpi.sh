# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# shellcheck shell=sh
# Debian's Open MPI over the module, between hosts made of network namespaces: the MPI suite (arguments are
# its own), some of MPICH's tests and NetPIPE's MPI module. Limits of time are ten times as long as on a real processor.
failed=0
. /check.sh
. /root.sh

hostname emxguest
load llc stp bridge veth && insmod /ethermx.ko || exit 1
check "the files of the machine around" mount_root
[ $failed = 0 ] || exit 1

check "MPI suite" in_root tests/mpi/run -b "$BUILD" -p 10 "$@"
check "MPICH's tests" in_root tests/mpi/mpich -b "$BUILD" -- --selection tests/mpi/mpich.guest --patience 10
check "NetPIPE over MPI" in_root env EMX_NETPIPE_TOP=65537 tests/mpi/apps -b "$BUILD" -g 2x1 netpipe
check "nothing pinned" grep -qx '0 pages pinned' /sys/kernel/debug/ethermx/memory
check "unload" rmmod ethermx
check "nobody is left in the machine's files" unmount_root
exit $failed

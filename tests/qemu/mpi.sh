#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# Debian's Open MPI over the module: every mode, wildcards, a rank killed, some of MPICH's tests, NetPIPE; with EMX_FULL=1
# more of the MPI suite, with two ranks on each host, too.
#
#   mpi.sh DIR     as for run.sh, which says what the environment must hold
set -euo pipefail
. "$(dirname "$0")/common.sh"
. "$TOP/tests/support/packages.sh"
need_packages "$TOP/tests/mpi/packages.txt" netpipe-openmpi || skip "Open MPI and NetPIPE cannot be installed"
[ -x "${EMX_USER_BUILD:-}/tests/mpi/mpi_modes" ] ||
	skip "no MPI programs in EMX_USER_BUILD=${EMX_USER_BUILD:-}: apt-get install libopenmpi-dev, and build there"
"$TOP/tests/mpi/mpich" -b "$EMX_USER_BUILD" -a -- --selection tests/mpi/mpich.guest ||
	skip "MPICH's tests cannot be fetched or compiled"
jobs="-g 2x1 modes wildcards mishaps.killed_in_traffic mishaps.outlived_in_traffic"
[ "${EMX_FULL:-0}" != 1 ] ||
	jobs="-g 2x2 $jobs truncation types spawn threads finalize mishaps.abort_in_traffic"
export EMX_QEMU_TIMEOUT=${EMX_QEMU_TIMEOUT:-1800} EMX_GUEST_ARGS="$jobs"
exec "$TOP/tests/qemu/run.sh" "$1" mpi

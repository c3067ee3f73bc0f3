# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# shellcheck shell=bash
# Source it behind common.sh. item_of TEST DIR: a test of guest/ as run.sh takes it, with the arguments that it has in the
# tier (EMX_FULL=1: the full one). What it needs on this machine is made in DIR.
. "$TOP/tests/support/packages.sh"

item_of() {
	case $1 in
	programs) programs_item "$2" ;;
	mpi) mpi_item ;;
	coll) coll_item ;;
	conform) conform_item ;;
	bpftrace) bpftrace_item ;;
	*) echo "$1" ;;
	esac
}

# The cases of conform.cases; in the full tier every case.
conform_item() {
	if [ "${EMX_FULL:-0}" = 1 ]; then echo "conform,--config,N9000/2hosts"; else echo "conform,CASES=/conform.cases,--config,N9000/2hosts"; fi
}

# Messages of each class, to 64 MiB, and NetPIPE.
programs_item() { # DIR
	local netpipe=$1/netpipe options=",64,-n,3"
	[ -n "${EMX_USER_BUILD:-}" ] || fail "NetPIPE is built for EMX_USER_BUILD, which is not set"
	mkdir -p "$netpipe"
	netpipe=$(cd "$netpipe" && pwd)
	if ! unchanged "$netpipe/stamp" "$EMX_USER_BUILD/libmx/install" "$TOP/tests/netns"/{netpipe_build.sh,slow_clock.c}; then
		"$TOP/tests/netns/netpipe_build.sh" "$EMX_USER_BUILD" "$netpipe" >"$netpipe/log" 2>&1 || {
			tail -n 20 "$netpipe/log" >&2
			fail "NetPIPE does not build: $netpipe/log"
		}
		remember_inputs "$netpipe/stamp" "$EMX_USER_BUILD/libmx/install" "$TOP/tests/netns"/{netpipe_build.sh,slow_clock.c}
	fi
	# A kernel that watches itself: half as fast as the guest takes one to be.
	[ -z "${EMX_KDIR:-}" ] || options+=",-s,16"
	echo "programs,$netpipe$options"
}

# Every mode, wildcards, mishaps, two ranks on a host, and MPICH's selection.
mpi_item() {
	need_packages "$TOP/tests/mpi/packages.txt" netpipe-openmpi || skip "Open MPI and NetPIPE cannot be installed"
	[ -x "${EMX_USER_BUILD:-}/tests/mpi/mpi_modes" ] ||
		skip "no MPI programs in EMX_USER_BUILD=${EMX_USER_BUILD:-}: apt-get install libopenmpi-dev, and build there"
	"$TOP/tests/mpi/mpich" -b "$EMX_USER_BUILD" -a -- --selection tests/mpi/mpich.guest >&2 ||
		skip "MPICH's tests cannot be fetched or compiled"
	echo "mpi,-g,2x1,-g,2x2,modes,wildcards,mishaps.killed_in_traffic,mishaps.outlived_in_traffic,truncation,types,spawn,threads,finalize,mishaps.abort_in_traffic"
}

# Broadcasts, sums and barriers by frames to groups, which the module takes and sends.
coll_item() {
	need_packages "$TOP/tests/mpi/packages.txt" || skip "Open MPI cannot be installed"
	[ -f "${EMX_USER_BUILD:-}/compat/openmpi/mca_coll_mx.so" ] ||
		skip "no component coll_mx in EMX_USER_BUILD=${EMX_USER_BUILD:-}: apt-get install libopenmpi-dev, and build there"
	echo "coll,-s,2x1,broadcasts,many_short,communicators,sums,barriers"
}

bpftrace_item() {
	need_packages "$TOP/tests/netns/tracing.packages" || skip "bpftrace cannot be installed"
	echo bpftrace
}

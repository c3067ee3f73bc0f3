#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# In Debian 13, with EtherMX installed, started by debian13.sh: ranks of Open MPI exchange messages over a board.
#   mpi13.sh FOLDER
. tests/support/check.sh
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
check_dir "$1/said"

# Configures a host as docs/open-mpi.md does, but for systemd.
configured() {
    ip link add eth1 type veth peer name far && ip link set eth1 up && ip link set far up &&
        mkdir -p /etc/ethermx && echo 'boards = eth1:N=1500' >/etc/ethermx/ethermx.conf && omxd && omx_info
}
check "a board is up" configured
# Two ranks or more wait for one another on few processors.
mpi=(timeout -k 10 900 mpirun --oversubscribe --mca mpi_yield_when_idle 1 --mca pml cm --mca mtl mx)
check "a ring compiles" mpicc -O2 -o /tmp/ring tests/release/ring.c
check "a ring of 3 ranks, through shared memory" says '^ring of 3: good$' "${mpi[@]}" -n 3 /tmp/ring
check "a ring of 3 ranks, by frames" says '^ring of 3: good$' "${mpi[@]}" -x MX_DISABLE_SHMEM=1 -n 3 /tmp/ring
# Its check of data (-i) ends with the last length, of 96 KiB and 3 bytes.
check "NetPIPE by frames" says ' 98307 bytes .* Mbps in ' "${mpi[@]}" -x MX_DISABLE_SHMEM=1 -n 2 NPopenmpi -u 98304 -o /tmp/np.out
check "a job without a board says so" refuses 'Open MPI cannot use MX' "${mpi[@]}" -x EMX_BOARDS=zebra0:N=1500 -n 2 /tmp/ring
finish

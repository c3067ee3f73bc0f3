#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# A row: everything in Debian 13, in a folder: its compiler, and its Open MPI 5, which finds the
# component by the line of docs/open-mpi.md and runs a ring and NetPIPE over it.
#   debian13.sh ROW
cd "$(dirname "$0")/../.." || exit 1
. tests/release/common.sh
row "$1"
. tests/release/chroot.sh
needs mmdebstrap debian-archive-keyring
INSIDE=chroot_run
export CC='ccache gcc' CXX='ccache g++'
check "Debian 13 is there" kept_log root chroot_make
[ "$failed" = 0 ] || finish

check "its compiler is GCC 14" says '^gcc .* 14\.' chroot_run gcc --version
configures --prefix=/usr
check "every part is built" says 'component of Open MPI *: built' grep -v 'left out' "$FOLDER/setup.log"
check "no part is left out" bash -c '! grep "left out" "$1"' _ "$FOLDER/setup.log"
builds unit
suite unit

# As docs/open-mpi.md has it, but that tests of other suites need not be built for it.
check "it is installed" kept_log install chroot_run sh -c "meson install --no-rebuild -C '$FOLDER/build' && ldconfig"
check "ompi_info lists the component's parameters" says 'mtl_mx_priority' chroot_run ompi_info --param mtl mx --level 9
line=$(grep -o 'export OMPI_MCA_mca_base_component_path=.*' "$FOLDER/install.log")
check "the line that is told stands in docs/open-mpi.md" grep -qF "$line" docs/open-mpi.md
check "a ring and NetPIPE over it" kept_log mpi chroot_run bash -c "$line; tests/release/mpi13.sh '$FOLDER'"
# shellcheck disable=SC2016 # of the shell within
check "a ring between two hosts of tools/netlab" says '^ring of 4: good$' chroot_run bash -c \
    'mpicc -O2 -o /tmp/ring tests/release/ring.c && tools/netlab 2 --build "$1" -- mpirun -n 4 /tmp/ring' _ "$FOLDER/build"
check "its broadcasts by one frame for all hosts" says '^ring of 4: good$
x group frames sent' chroot_run bash -c 'mpicc -O2 -o /tmp/ring tests/release/ring.c && tools/netlab 2 --build "$1" -- \
        sh -c "mpirun --mca coll_mx_enable 1 -n 4 /tmp/ring && omx_counters"' _ "$FOLDER/build"
finish

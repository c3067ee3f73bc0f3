#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# docs/slurm.md followed to the letter: Debian's slurmctld, slurmd and munge on two hosts, and what users start there.
#
#   tests/run-pages/slurm.sh
cd "$(dirname "$0")/../.." || exit 1
export TMPDIR=/var/tmp # each host has a /tmp of its own
. tests/support/netlab.sh
. tests/support/packages.sh
netlab_begin "$PWD/tests/run-pages/slurm.sh" "$@"
. tests/run-pages/hosts.sh
NETLAB_WATCH=$hosts_build/tests/watch/wirewatch
page=docs/slurm.md
hosts_root
pages_packages slurm || exit 1

# A board and a user of it, another user, and what all hosts of a cluster have in common.
prepare() {
    hosts_board "$1" eth0:N=9000 || return
    in_host "$1" bash -e <<-END
	useradd -M -u 12346 bob
	[ "$1" = 1 ] || usermod -G '' alice # the page says that node1's groups are enough
	install -d -o slurm /var/lib/slurm /var/lib/slurm/slurmctld /var/lib/slurm/slurmd
	# There is no tree of cgroups in these hosts, for which slurmd looks all the same.
	echo CgroupPlugin=cgroup/v1 > /etc/slurm/cgroup.conf
	END
    python3 tests/run-pages/steps.py block $page 'smallest that works:' | in_host "$1" tee /etc/slurm/slurm.conf
    in_host "$1" install -o munge -m 400 /dev/stdin /etc/munge/munge.key <"$NETLAB_TMP/key"
}

# The message stands in the page, and the command ends with it.
told() {
    local message=$1
    shift
    grep -qF "| \`$message\`" $page || { echo "$page has no row for: $message"; return 1; }
    refuses "$message" "$@"
}
as_alice() { user_in_host 1 alice timeout $hosts_hung "$@"; }
open_on() { in_host "$1" omx_endpoint_info | grep -q "^$2 of 32 endpoints open"; }
# A job of two servers that wait for clients, until it is ended so.
ended() { # COMMAND...
    local job
    job=$(as_alice sbatch --parsable -N2 -n2 --output=/dev/null --wrap 'srun ./mx_pingpong')
    until_ok $hosts_hung open_on 1 1 && until_ok $hosts_hung open_on 2 1 && "$@" "$job" &&
        until_ok $hosts_hung open_on 1 0 && until_ok $hosts_hung open_on 2 0
}
one_dies() { in_host 2 sh -c "kill -9 $(in_host 2 omx_endpoint_info | sed -n 's/.*open by pid \([0-9]*\) .*/\1/p')"; }
hosts_make 2 9000 && hosts_install || exit 1
head -c 128 /dev/urandom >"$NETLAB_TMP/key"
install -d -o 12345 "$NETLAB_TMP/home/alice"
install -d -o 12346 "$NETLAB_TMP/home/bob"
install -m 644 -o 12345 docs/examples/*.c "$NETLAB_TMP/home/alice"
{ prepare 1 && prepare 2; } >"$NETLAB_TMP/prepared" 2>&1 || { cat "$NETLAB_TMP/prepared"; exit 1; }
page_steps $page on_hosts
as_alice sh -c 'cc mx_pingpong.c -o mx_pingpong $(pkg-config --cflags --libs myriexpress)' || exit 1
check 'srun --mpi=pmi2 is told' told "OMPI was not built with SLURM's PMI support" as_alice srun --mpi=pmi2 -N2 -n2 ./mpi_ring
check 'srun --mpi=none of Fast Messages is told' \
    told 'no job; start the program by mpirun, or set FM_HOSTS' as_alice srun --mpi=none -N2 -n2 ./fm_stencil
check 'a user who is not in the group is told' told 'Open MPI cannot use MX: ' \
    user_in_host 1 bob timeout $hosts_hung env OMPI_MCA_pml=cm OMPI_MCA_mtl=mx srun -N2 -n2 ../alice/mpi_ring
check 'scancel leaves no endpoint open' ended as_alice scancel
check 'the death of a process leaves no endpoint open' ended one_dies
finish

# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# shellcheck shell=sh
# Open MPI's collectives through coll/mx over the module, between hosts made of network namespaces: by frames to
# groups, which the module takes and sends (arguments: of tests/mpi/coll).
failed=0
. /check.sh
. /root.sh

hostname emxguest
load llc stp bridge veth && insmod /ethermx.ko || exit 1
check "the files of the machine around" mount_root
[ $failed = 0 ] || exit 1

check "collectives by frames to groups" in_root tests/mpi/coll -b "$BUILD" "$@"
check "nothing pinned" grep -qx '0 pages pinned' /sys/kernel/debug/ethermx/memory
check "unload" rmmod ethermx
check "nobody is left in the machine's files" unmount_root
exit $failed

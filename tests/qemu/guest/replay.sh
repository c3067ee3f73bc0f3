# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# shellcheck shell=sh
# The captures of a real MXoE peer, played against the module in the place of either host: tests/interop, with a
# board of the module instead of the engine's. What it sends is compared, and judged. The arguments are test cases (all).
failed=0
. /check.sh
. /root.sh

hostname emxguest
load veth && insmod /ethermx.ko || exit 1
check "the files of the machine around" mount_root
[ $failed = 0 ] || exit 1

# Catch2 takes names with commas between them.
cases=$(echo "$*" | tr " " ,)
check "replay" in_root env EMX_WATCH="$BUILD/tests/watch/wirewatch" "$BUILD/tests/interop/replay_engine" ${cases:+"$cases"}
check "nothing pinned" grep -qx '0 pages pinned' /sys/kernel/debug/ethermx/memory
check "unload" rmmod ethermx
check "nobody is left in the machine's files" unmount_root
exit $failed

# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# shellcheck shell=sh
# Open MPI's collectives through coll/mx over the module, between hosts made of network namespaces: by frames to
# groups, which the module takes and sends (arguments: of tests/mpi/coll).
. /check.sh
. /root.sh

begin_over_module llc stp bridge veth
check "collectives by frames to groups" in_root tests/mpi/coll -b "$BUILD" "$@"
end_over_module

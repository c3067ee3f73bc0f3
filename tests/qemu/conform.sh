#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# The conformance suite over the module: two hosts with jumbo frames; with EMX_FULL=1 every column, and one
# with commands by io_uring.
#
#   conform.sh DIR     as for run.sh, which says what the environment must hold
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
dir=$1
columns=(N9000/2hosts)
[ "${EMX_FULL:-0}" != 1 ] || columns=(N9000/2hosts N1500/2hosts W/2hosts N9000/1host W/1host 2boards)
export EMX_QEMU_TIMEOUT=${EMX_QEMU_TIMEOUT:-900}
status=0
: >"$dir/columns.log"
column() { # COLUMN [VARIABLE=VALUE]
	EMX_GUEST_ARGS="--config $1" EMX_GUEST_ENV=${2:-} "$here/run.sh" "$dir" conform | tee -a "$dir/columns.log"
}
for name in "${columns[@]}"; do
	column "$name" || status=1
done
[ "${EMX_FULL:-0}" != 1 ] || column N1500/2hosts EMX_COMMANDS=uring || status=1
# A line for all: columns of one host are two, with and without shared memory.
tr -d '\r' <"$dir/columns.log" | awk '
	/^[0-9]+ passed, [0-9]+ failed, [0-9]+ skipped$/ { passed += $1; failed += $3; skipped += $5 }
	END { printf "%d passed, %d failed, %d skipped\n", passed, failed, skipped }'
exit $status

#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# The largest messages over the module, 1 GiB and 4 GiB - 1, once, in a guest that has memory for them.
#
#   largest.sh DIR     as for run.sh, which says what the environment must hold
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
export EMX_QEMU_MEMORY=${EMX_QEMU_MEMORY:-5120} EMX_QEMU_TIMEOUT=${EMX_QEMU_TIMEOUT:-7000}
exec "$here/run.sh" "$1" conform,--config,N9000/2hosts,--big,--filter,one_gibibyte_message,--filter,longest_message

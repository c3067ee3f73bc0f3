#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# omx_perf and NetPIPE's MX module over the module, to 64 MiB; with EMX_FULL=1 NetPIPE measures all its lengths, and
# each more often.
#
#   programs.sh DIR     as for run.sh, which says what the environment must hold
set -euo pipefail
. "$(dirname "$0")/common.sh"
[ -n "${EMX_USER_BUILD:-}" ] || fail "programs.sh: EMX_USER_BUILD is not set"
mkdir -p "$1"
netpipe=$(cd "$1" && pwd)/netpipe
mkdir -p "$netpipe"
"$TOP/tests/netns/netpipe_build.sh" "$EMX_USER_BUILD" "$netpipe" >"$netpipe/log" 2>&1 || {
	tail -n 20 "$netpipe/log" >&2
	fail "NetPIPE does not build: $netpipe/log"
}
options="-n 1 -p 0"
[ "${EMX_FULL:-0}" != 1 ] || options="-n 3"
# A kernel that watches itself: half as fast as the guest takes one to be.
[ -z "${EMX_KDIR:-}" ] || options+=" -s 16"
export EMX_QEMU_TIMEOUT=${EMX_QEMU_TIMEOUT:-1800} EMX_GUEST_ARGS="$netpipe $options"
exec "$TOP/tests/qemu/run.sh" "$1" programs

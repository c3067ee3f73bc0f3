#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# Prepares what the guests of the suite qemu boot: prepare.sh for the newest stock kernel.
#
#   images.sh DIR     as for run.sh, which says what the environment must hold
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
. "$here/common.sh"

[ $# = 1 ] || fail "usage: images.sh DIR"
mkdir -p "$1"
choose_kernel
"$here/prepare.sh" "$(cd "$1" && pwd)"

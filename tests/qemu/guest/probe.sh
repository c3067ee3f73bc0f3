# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# shellcheck shell=sh
# Reaching user space is the whole test: tells whether an accelerator can run this kernel.
echo "user space reached: $(uname -r)"

# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# shellcheck shell=bash
# Shared by the scripts here: where the source is, which stock kernel to use, how to skip.
#
# EMX_KVER         kernel version to build for and boot (default: newest installed 6.x that has
#                  headers, an image, or both, as the caller asks)
# EMX_KDIR         a kernel built from source to use instead: debug-kernel.sh's folder "build"
# EMX_NO_SKIP=1    a missing program or package is a failure, not a skip; CI sets it

# shellcheck disable=SC2034 # for those that include this
TOP=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)

fail() {
	echo "FAILED: $*" >&2
	exit 1
}

# Meson takes exit code 77 for "skipped".
skip() {
	[ "${EMX_NO_SKIP:-0}" = 1 ] && fail "$*"
	echo "SKIPPED: $*" >&2
	exit 77
}

need() {
	local program
	for program in "$@"; do
		command -v "$program" >/dev/null || skip "no $program: apt-get install $program"
	done
}

# The newest stock kernel with every one of the files given (%V stands for the version).
# Never the running kernel's unless that is itself such a kernel: a test must not depend on the
# machine it happens to run on.
stock_kernel() {
	local dir version path usable
	if [ -n "${EMX_KDIR:-}" ]; then
		cat "$EMX_KDIR/include/config/kernel.release" || fail "no built kernel in $EMX_KDIR: debug-kernel.sh makes one"
		return
	fi
	if [ -n "${EMX_KVER:-}" ]; then
		echo "$EMX_KVER"
		return
	fi
	for dir in $(printf '%s\n' /lib/modules/*-amd64 | sort -rV); do
		version=${dir##*/}
		usable=yes
		for path in "$@"; do
			[ -e "${path//%V/$version}" ] || usable=no
		done
		[ $usable = yes ] && echo "$version" && return
	done
	skip "no stock kernel with $*: apt-get install linux-image-amd64 linux-headers-amd64"
}

# Where a version is built against, its image, and its modules.
kernel_build() { echo "${EMX_KDIR:-/lib/modules/$1/build}"; }
kernel_image() {
	if [ -n "${EMX_KDIR:-}" ]; then echo "$EMX_KDIR/arch/x86/boot/bzImage"; else echo "/boot/vmlinuz-$1"; fi
}
kernel_modules() { echo "${EMX_KDIR:-/lib/modules/$1/kernel}"; }

# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# shellcheck shell=bash
# Shared by the scripts here: where the source is, which stock kernel to use.
#
# EMX_KVER         kernel version to build for and boot (default: newest installed 6.x that has
#                  headers, an image, or both, as the caller asks)
# EMX_KDIR         a kernel built from source to use instead: debug-kernel.sh's folder "build"

# shellcheck disable=SC2034 # for those that include this
TOP=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)

# Meson takes exit code 77 for "skipped".
skip() {
	[ "${CI:-}" != true ] && [ "${EMX_NO_SKIP:-0}" != 1 ] || fail "$*; no test may be skipped here"
	echo "SKIPPED: $*" >&2
	exit 77
}

fail() {
	echo "FAILED: $*" >&2
	exit 1
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

# A guest needs headers to build for, an image to boot and modules to load.
choose_kernel() {
	EMX_KVER=$(stock_kernel /boot/vmlinuz-%V /lib/modules/%V/build /lib/modules/%V/kernel) || exit
	export EMX_KVER
}

# unchanged STAMP FILE...: the files and folders and the variables below are as they were when STAMP was made by
# `remember_inputs`. A file counts by its size and its time of change.
inputs_of() {
	printf '%s\n' "${EMX_KVER:-}" "${EMX_KDIR:-}" "${EMX_USER_BUILD:-}"
	find "$@" \( -type f -o -type l \) -printf '%p %s %T@\n' | sort
}
unchanged() {
	local stamp=$1
	shift
	[ -e "$stamp" ] && inputs_of "$@" | cmp -s - "$stamp"
}
remember_inputs() {
	local stamp=$1
	shift
	inputs_of "$@" >"$stamp"
}

#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# Runs the kernel's checkpatch.pl --strict over the kernel C of this project.
#
#   checkpatch.sh DIR     DIR keeps the script once it was taken out of the kernel source package
#
# EMX_CHECKPATCH    path of checkpatch.pl (default: linux headers, else linux-source)
set -euo pipefail
. "$(dirname "$0")/common.sh"

[ $# = 1 ] || fail "usage: checkpatch.sh DIR"
mkdir -p "$1"
dir=$(cd "$1" && pwd)

need perl

# Headers packages of some distributions carry the script; Debian's source package always does.
find_checkpatch() {
	local file
	for file in "${EMX_CHECKPATCH:-}" /lib/modules/*/build/scripts/checkpatch.pl \
		"$dir"/checkpatch/scripts/checkpatch.pl; do
		[ -e "$file" ] && echo "$file" && return
	done
	file=$(printf '%s\n' /usr/src/linux-source-6.*.tar.xz | sort -V | tail -n 1)
	[ -e "$file" ] || skip "no checkpatch.pl: apt-get install linux-source"
	need xz
	mkdir -p "$dir/checkpatch"
	tar -xJf "$file" -C "$dir/checkpatch" --strip-components=1 --wildcards --occurrence=1 \
		'*/scripts/checkpatch.pl' '*/scripts/spelling.txt' '*/scripts/const_structs.checkpatch'
	echo "$dir/checkpatch/scripts/checkpatch.pl"
}

# Differences from a kernel patch, and their reasons:
#  SPDX_LICENSE_TAG        the whole project uses one licence expression and one comment form
#  FILE_PATH_CHANGES, MAINTAINERS do not exist here
#  PREFER_KERNEL_TYPES     the core and the wire headers are also user-space code: __u32
#  PREFER_DEFINED_ATTRIBUTE_MACRO  for the same reason: __cold and noinline are the kernel's
#  LINUX_VERSION_CODE, CONSTANT_COMPARISON  we build for several kernels; compat.h, and it only, asks
#  SPLIT_STRING and others stay on
checkpatch=$(find_checkpatch)
mapfile -t files < <(find "$TOP/driver/linux" "$TOP/driver/core" "$TOP/tests/qemu/softdma" -name '*.[ch]' | sort)
# It takes a second over a file: in the CI tier over those that have changed, of which there may be none.
if [ -z "${EMX_FULL:-}" ]; then
	mapfile -t files < <(cd "$TOP" && python3 tests/tidy/tidy.py --changed "${files[@]#"$TOP"/}" | sed -n "s,^.,$TOP/&,p")
	[ ${#files[@]} -gt 0 ] || exit 0
fi
# TRACE_EVENT is written so in the kernel itself. It gives out lists and declarations, which no parentheses may enclose.
#  COMPLEX_MACRO, TRAILING_SEMICOLON, MACRO_ARG_REUSE  an entry of a list, and a list over which such an entry is made
#  OPEN_ENDED_LINE, PARENTHESIS_ALIGNMENT              TP_STRUCT__entry( and the fields below it
tracepoints=COMPLEX_MACRO,TRAILING_SEMICOLON,MACRO_ARG_REUSE,OPEN_ENDED_LINE,PARENTHESIS_ALIGNMENT

# Where it runs it leaves a file of its own, if that is the top of a git tree.
cd "$dir"
check_files() { # IGNORED FILE...
	local ignored=SPDX_LICENSE_TAG,PREFER_KERNEL_TYPES,PREFER_DEFINED_ATTRIBUTE_MACRO,LINUX_VERSION_CODE,CONSTANT_COMPARISON$1
	shift
	[ $# = 0 ] || perl "$checkpatch" --no-tree --terse --strict --show-types --max-line-length=100 --ignore "$ignored" --file "$@" ||
		fail "checkpatch.pl is not satisfied"
}
others=() headers=()
for file in "${files[@]}"; do
	case $file in */trace.h) headers+=("$file") ;; *) others+=("$file") ;; esac
done
check_files '' "${others[@]}"
check_files ",$tracepoints" "${headers[@]}"

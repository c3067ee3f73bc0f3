#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# The public headers compile in every dialect that clients use, one by one and in any order; each alone
# defines all that its declarations need in use; and their layout is the recorded one, for LP64 and for i386.
# Usage: check-headers.sh SOURCE_ROOT [INCLUDE_DIR]
set -eu
root=$1
inc=${2:-$root/include}
abi=$root/compat/abi
failed=0

fail() {
    echo "FAIL: $*" >&2
    failed=1
}

# try LABEL SOURCE COMPILER...: compiles SOURCE, warnings are errors
try() {
    label=$1 source=$2
    shift 2
    printf '%s\n' "$source" | "$@" -Wall -Wextra -Werror -fsyntax-only -I"$inc" - || fail "$label"
}

main='int main(void) { return 0; }'
for h in myriexpress.h mx_extensions.h mx_io.h mx_raw.h open-mx.h \
         mx_internals/mx__fops.h mx_internals/mx__driver_interface.h; do
    twice="#include \"$h\"
#include \"$h\"
$main"
    for bits in -m64 -m32; do
        try "$h C89 $bits" "$twice" gcc $bits -xc -std=c89 -pedantic
        try "$h C17 $bits" "$twice" gcc $bits -xc -std=c17 -pedantic
        try "$h C++ $bits" "$twice" g++ $bits -xc++ -std=c++98 -Wno-long-long
        try "$h C++20 $bits" "$twice" g++ $bits -xc++ -std=c++20
    done
    calls=$("$abi/calls.py" "$h" "$inc") || fail "$h: calls.py"
    try "$h calls, C11" "$calls" gcc -xc -std=c11 -pedantic
    try "$h calls, C++17" "$calls" g++ -xc++ -std=c++17
done

all="#include \"open-mx.h\"
#include \"mx_internals/mx__driver_interface.h\"
#include \"mx_raw.h\"
#include \"mx_extensions.h\"
$main"
try "all headers together, C" "$all" gcc -xc -std=c89 -pedantic
try "all headers together, C++" "$all" g++ -xc++
try "internal headers by their own directory" '#include "mx__driver_interface.h"
#include "mx__fops.h"
int main(void) { return mx_open_board(0, 0); }' gcc -xc -I"$inc/mx_internals"

for bits in -m64 -m32; do
    gcc $bits -std=gnu11 -Wall -Wextra -Werror -fsyntax-only -I"$inc" "$abi/layout.c" ||
        fail "layout.c $bits: the headers changed what existing binaries depend on"
done

[ $failed = 0 ] && echo "headers and layout: ok"
exit $failed

#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# The report of figures: a quick one is whole, its tables and pictures are well formed; impossible options are refused. No
# verdict depends on a time: of figures it is judged that they are there, and above zero.
#
#   tests/netns/report.sh
cd "$(dirname "$0")/../.." || exit 1
. tests/support/check.sh
temporary=$(mktemp -d "${TMPDIR:-/tmp}/emx-report.XXXXXX") || exit 1
trap 'rm -rf "$temporary"' EXIT
check_dir "$temporary"
perf=${EMX_BUILD:-$PWD/build}/plain/tools/omx_perf
report=$temporary/report
hung=1800

quick() {
    timeout $hung "$perf" --report "$report" --quick 2>"$temporary/steps"
    local status=$?
    cat "$temporary/steps"
    return $status
}

# Progress counts up to the number that it names.
progress() {
    cat "$temporary/steps"
    awk -F'[][/,]' '/^\[/ { if ($2 != ++n) bad++; all = $3 } END { exit bad || n < 15 || n != all }' "$temporary/steps"
}

whole() { python3 tests/netns/report_check.py "$report"; }

not_ours() {
    mkdir "$temporary/other" && echo precious >"$temporary/other/report.md" || return
    refuses 'a report.md that is not ours' "$perf" --report "$temporary/other" --quick
    [ "$(cat "$temporary/other/report.md")" = precious ]
}

check 'a quick report' quick
check 'progress is shown' progress
check 'its pages, tables and pictures' whole
check 'a report of others is left alone' not_ours
check 'a folder that cannot be' refuses 'cannot write to' "$perf" --report "$perf/x"
check 'a report with a peer' refuses 'leave -d out' "$perf" --report "$report" -d node2
check 'no folder' refuses 'wants the name of a folder' "$perf" --report ''
check 'quick without a report' refuses 'quick is for --report' "$perf" --quick
finish

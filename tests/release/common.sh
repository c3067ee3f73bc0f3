# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# shellcheck shell=bash
# Shared by the scripts of rows.conf. Source it in the top folder.
#
#   row NAME                      what it builds, keeps and logs goes to $FOLDER, EMX_BUILD/release/NAME
#   needs PACKAGE...              installs those of packages.txt that are missing, or ends the row
#   kept_log NAME COMMAND...      the output goes to $FOLDER/NAME.log; of a failure the end is shown
#   configures OPTION...          a test: the build $FOLDER/build is configured, made anew
#   builds SUITE...               a test: what is installed, and the programs of these suites, build without a warning
#   suite NAME...                 runs suites of that build, and counts their tests among those of the row
. tests/support/check.sh
. tests/support/packages.sh
TOP=$PWD
export CCACHE_NOHASHDIR=1 CCACHE_BASEDIR=$TOP

row() {
    FOLDER=${EMX_BUILD:=$TOP/build}/release/$1
    export EMX_BUILD
    mkdir -p "$FOLDER/said" && check_dir "$FOLDER/said"
}

needs() {
    need_packages tests/release/packages.txt "$@" && return
    check "packages are there: $*" false
    finish
}

kept_log() {
    local log=$FOLDER/$1.log
    shift
    "$@" >"$log" 2>&1 && return
    grep -nE 'error:|ERROR|FAILED|undefined reference' -A 3 "$log" | tail -n 30
    tail -n 8 "$log"
    echo "log: $log"
    return 1
}

configures() {
    rm -rf "$FOLDER/build"
    check "it is configured" kept_log setup ${INSIDE:-} meson setup "$FOLDER/build" -Dwerror=true "$@"
}

# Targets of a build that are installed, and those that tests of these suites run.
targets() {
    ${INSIDE:-} meson introspect --targets "$FOLDER/build" | python3 -c '
import json, os, sys
for target in json.load(sys.stdin):
    if target["installed"]:
        print(*(os.path.relpath(name, sys.argv[1]) for name in target["filename"]), sep="\n")' "$FOLDER/build" &&
        { [ $# = 0 ] || ${INSIDE:-} python3 tests/support/run_suite.py --targets "$FOLDER/build" "$@"; }
}

lacks() { ! grep -n "$1" "$2"; } # PATTERN FILE

builds() {
    local wanted
    mapfile -t wanted < <(targets "$@" | sort -u)
    check "it builds" kept_log ninja ${INSIDE:-} ninja -C "$FOLDER/build" "${wanted[@]}"
    # Those of a linker that compiles (LTO) are no errors.
    check "without a warning" lacks 'warning:' "$FOLDER/ninja.log"
    # Without a program suites would say nothing of use.
    [ "$failed" = 0 ] || finish
}

suite() {
    local name counts
    for name in "$@"; do
        kept_log "$name" ${INSIDE:-} ${UNDER:+env EMX_UNDER="$UNDER"} python3 tests/support/run_suite.py "$FOLDER/build" "$name"
        counts=$(grep -E '^[0-9]+ passed, [0-9]+ failed, [0-9]+ skipped$' "$FOLDER/$name.log" | tail -n 1)
        echo "suite $name: ${counts:-no tests ran}"
        [[ $counts =~ ^([0-9]+)\ passed,\ ([0-9]+)\ failed,\ ([0-9]+)\ skipped$ ]] ||
            { failed=$((failed + 1)); continue; }
        passed=$((passed + BASH_REMATCH[1])) failed=$((failed + BASH_REMATCH[2])) skipped=$((skipped + BASH_REMATCH[3]))
    done
}

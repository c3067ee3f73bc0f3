#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# For suites over netlab.sh, sourced behind netlab_begin: counts what holds and what does not; starts board agents and ends them.
# shellcheck disable=SC2034 # read by the suites
passed=0 failed=0 AGENTS=()
: "${EXPECT_ONLY:=.}" "${EXPECT_TELLS:=0}" # a pattern of the names to run; 1 shows what holds, too, and how long it took

expect() { # expect NAME COMMAND...: a test; when it fails, the end of what it printed is shown
    local name=$1 began=$SECONDS
    shift
    grep -qE -- "$EXPECT_ONLY" <<<"$name" || return
    if "$@" >"$NETLAB_TMP/expect.out" 2>&1; then
        passed=$((passed + 1))
        [ "$EXPECT_TELLS" = 0 ] || echo "ok $name ($((SECONDS - began)) s): $(tr '\n' ';' <"$NETLAB_TMP/expect.out")"
    else
        failed=$((failed + 1))
        echo "FAILED: $name"
        tail -n 40 "$NETLAB_TMP/expect.out" | sed 's/^/    /'
    fi
}

stop_agents() { # those whose process ids are in AGENTS
    local pid
    for pid in "${AGENTS[@]}"; do
        netlab_stop "$pid"
    done
    AGENTS=() NETLAB_PID=''
}

agents() { # agents BOARD...: host I serves the I-th, which may have options of omxd behind it; none for "-"
    local i board
    stop_agents
    for ((i = 1; i <= $#; i++)); do
        [ "${!i}" = - ] && continue
        read -r -a board <<<"${!i}"
        netlab_bg $i "$NETLAB_TMP/omxd$i" "$EMX_OMXD" --foreground --boards "${board[@]}" --group "${GROUP:-root}"
        AGENTS+=("$NETLAB_PID")
        until grep -qs ' serving ' "$NETLAB_TMP/omxd$i"; do
            kill -0 "$NETLAB_PID" || { cat "$NETLAB_TMP/omxd$i"; return 1; }
        done
    done
}

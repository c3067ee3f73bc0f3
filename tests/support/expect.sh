#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# For suites over netlab.sh, sourced behind netlab_begin: counts what holds and what does not, and ends agents.
# shellcheck disable=SC2034 # read by the suites
passed=0 failed=0 AGENTS=()

expect() { # expect NAME COMMAND...: a test; when it fails, the end of what it printed is shown
    local name=$1
    shift
    if "$@" >"$NETLAB_TMP/said" 2>&1; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "FAILED: $name"
        tail -n 40 "$NETLAB_TMP/said" | sed 's/^/    /'
    fi
}

stop_agents() { # those whose process ids are in AGENTS
    local pid
    for pid in "${AGENTS[@]}"; do
        netlab_stop "$pid"
    done
    AGENTS=() NETLAB_PID=''
}

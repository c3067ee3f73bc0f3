# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# shellcheck shell=bash
# What a script that used netlab left behind. Source it.
#
#   traces_of MARK PID FOLDER    prints, ends and returns 1 if there are: processes with MARK in their
#                                environment as a variable of that name=value, namespaces of the script
#                                that ran as process PID, anything in its folder for temporary files

traces_of() {
    local mark=$1 script=$2 folder=$3 process left=0
    for process in /proc/[0-9]*; do
        if tr '\0' '\n' 2>/dev/null <"$process/environ" | grep -qxF "$mark"; then
            echo "still there: $(tr '\0' ' ' <"$process/cmdline")"
            kill -9 "${process#/proc/}"
            left=1
        fi
    done
    ip netns list | grep -E "^emx$script(h|sw)" && left=1
    find "$folder" -mindepth 1 | grep . && left=1
    return $left
}

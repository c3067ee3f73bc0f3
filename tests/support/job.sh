# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# shellcheck shell=bash
# For suites of layers that run as a job (compat/job), sourced behind traffic.sh: a node on each of some hosts.
#
#   job_of NAME                     the layer's word in NAME_HOSTS and NAME_NODE of the environment
#   job HOSTS PROGRAM [ARGUMENT OF A NODE]...
#                                   a node on each of these hosts; all end well. What they print is shown
#   alone VARIABLE=VALUE... PROGRAM [ARGUMENT]...
#                                   on host 1, with this environment
# shellcheck disable=SC2154 # hung: of traffic.sh
job_of() { JOB=$1; }
alone() { netlab_in 1 env "$@"; }

job() {
    local hosts=$1 program=$2 list='' i host status=0 ends=() used=()
    shift 2
    for host in $hosts; do
        list+=${list:+,}${NETLAB_NAME[host]}:0:${used[host]:=0}
        used[host]=$((used[host] + 1))
    done
    i=0
    for host in $hosts; do
        netlab_bg "$host" "$NETLAB_TMP/node$i" env "${JOB}_HOSTS=$list" "${JOB}_NODE=$i" timeout $hung "$program" ${1:+"$1"}
        ends+=("$NETLAB_PID")
        i=$((i + 1))
        [ $# = 0 ] || shift
    done
    for i in "${!ends[@]}"; do
        wait "${ends[i]}" || status=$?
        cat "$NETLAB_TMP/node$i"
    done
    return $status
}

# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# shellcheck shell=bash
# Open MPI on hosts made of network namespaces. Source it after netlab.sh.
#
#   mpilab_check MTU DIALECT           do they fit? or says why not
#   mpilab_make N SLOTS MTU DIALECT BUILD
#                                      N hosts node1 to nodeN, all set up in the environment: mpirun with its
#                                      hosts, its agent and interfaces; EtherMX with boards, names and programs
#   mpilab_hosts HOSTSxRANKS...        prints how many hosts these shapes of jobs need
#   mpilab_transport mx|tcp BUILD      what MPI shall use
#   mpilab_component BUILD             has it the component of Open MPI? or says what to do
#   mpilab_run COMMAND...              runs it (mpirun ...) in host 1, without input
#   mpilab_end                         removes the hosts; mpilab_make may make others
#   mpilab_left NAME                   prints processes of that name that still live in the hosts
#
# Everything goes through the environment, which on_host hands to the other hosts, so that mpirun
# needs no options, and options given to it win.

mpilab_fail() {
    echo "$*" >&2
    return 1
}

mpilab_check() {
    local size
    case $2 in
    W) size=4144 ;;
    N=*[!0-9]* | N=) mpilab_fail "a dialect is W or N=SIZE, not \"$2\""; return ;;
    N=*) size=${2#N=} ;;
    *) mpilab_fail "a dialect is W or N=SIZE, not \"$2\""; return ;;
    esac
    [ "${#size}" -le 5 ] && [ "$size" -le "$1" ] ||
        mpilab_fail "dialect $2 needs an interface MTU of $size at least, not $1: give --mtu $size, or a smaller dialect"
}

mpilab_hosts() {
    printf '%s\n' "${@%%x*}" | sort -n | tail -n 1
}

mpilab_make() {
    local n=$1 slots=$2 mtu=$3 dialect=$4 build=$5 i
    for ((i = 1; i <= n; i++)); do
        NETLAB_NAMES="${NETLAB_NAMES:-}${NETLAB_NAMES:+ }node$i"
    done
    NETLAB_DIALECTS=${NETLAB_DIALECTS:-$dialect} netlab_make "$n" "$mtu" && netlab_names || return
    for ((i = 1; i <= n; i++)); do
        echo "node$i slots=$slots" >>"$NETLAB_TMP/hostfile" || return
    done
    mkdir "$NETLAB_TMP/bin" "$NETLAB_TMP/jobs" && ln -s "$NETLAB_DIR/on_host" "$NETLAB_TMP/bin/on" || return
    for i in info counters endpoint_info; do
        ln -s "$build/tools/omx_$i" "$NETLAB_TMP/bin/mx_$i" || return
    done
    export PATH=$NETLAB_TMP/bin:$build/tools:$build/tools/omxd:$build/tools/setup:$PATH
    export LD_LIBRARY_PATH=$build/libmx${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
    netlab_boards "$dialect" "$build" && mpilab_launch $((n * slots))
}

mpilab_end() {
    netlab_remove 2>/dev/null
    NETLAB_NAMES=''
    rm -rf "${NETLAB_TMP:?}"/{bin,jobs,hostfile,peers,hosts}
}

# mpilab_default NAME VALUE: an Open MPI parameter, unless the reader's environment has it.
mpilab_default() {
    local name=OMPI_MCA_$1
    [ -n "${!name+set}" ] || export "$name=$2"
}

# Open MPI 5 starts ranks by PRRTE, which has parameters of its own: mpilab_prte NAME VALUE.
mpilab_prte() {
    local name=PRTE_MCA_$1
    [ -n "${!name+set}" ] || export "$name=$2"
}

# mpilab_launch SLOTS-IN-ALL: where and how mpirun starts.
mpilab_launch() {
    export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
    mpilab_default orte_default_hostfile "$NETLAB_TMP/hostfile"
    mpilab_default plm_rsh_agent "$NETLAB_DIR/on_host"
    mpilab_default plm_rsh_no_tree_spawn 1 # the agent would find its way, but mpirun's output not
    mpilab_default oob_tcp_if_include eth0
    mpilab_default btl_tcp_if_include eth0
    mpilab_default rmaps_base_mapping_policy node:OVERSUBSCRIBE # all hosts take part, also with few ranks
    mpilab_default hwloc_base_binding_policy none               # or every host's first rank binds to the same core
    mpilab_prte prte_default_hostfile "$NETLAB_TMP/hostfile"
    mpilab_prte plm_ssh_agent "$NETLAB_DIR/on_host"
    mpilab_prte plm_ssh_no_tree_spawn 1
    mpilab_prte prte_if_include eth0
    mpilab_prte rmaps_default_mapping_policy node:OVERSUBSCRIBE
    mpilab_prte hwloc_default_binding_policy none
    mpilab_prte prte_tmpdir_base "$NETLAB_TMP/jobs"
    # All that jobs leave in files goes with the hosts.
    mpilab_default orte_tmpdir_base "$NETLAB_TMP/jobs"
    mpilab_default btl_vader_backing_directory "$NETLAB_TMP/jobs"
    # mpirun takes each host's slots for processors, but our hosts share theirs.
    [ "$1" -le "$(nproc)" ] || mpilab_default mpi_yield_when_idle 1
    # Debian turns it off; with Open MPI 4 nothing else makes windows across hosts.
    command -v prterun >/dev/null || mpilab_default osc pt2pt
}

mpilab_component() {
    local component=$1/compat/openmpi/mca_mtl_mx.so
    [ -f "$component" ] || mpilab_fail "no $component: install libopenmpi-dev and build there, or use transport tcp"
}

mpilab_transport() {
    case $1 in
    mx)
        mpilab_component "$2" || return
        export OMPI_MCA_mca_base_component_path=$2/compat/openmpi:SYSTEM_DEFAULT
        # Open MPI 5 gives PMIx the same folders, unless it has its own (compat/openmpi/installed.sh).
        if command -v prterun >/dev/null; then
            PMIX_MCA_mca_base_component_path=$(pkg-config --variable=libdir pmix)/pmix
            export PMIX_MCA_mca_base_component_path
        fi
        mpilab_default pml cm
        mpilab_default mtl mx
        ;;
    tcp)
        mpilab_default pml ob1
        mpilab_default btl self,vader,tcp
        ;;
    *) mpilab_fail "a transport is mx or tcp, not \"$1\"" ;;
    esac
}

mpilab_run() {
    netlab_run 1 "$@"
}

mpilab_left() {
    local ns pid found=1
    for ns in "${NETLAB_NS[@]}"; do
        for pid in $(ip netns pids "$ns"); do
            ps -o pid=,stat=,args= -p "$pid" | grep -v '^ *[0-9]* Z' | grep -w -- "$1" && found=0
        done
    done
    return $found
}

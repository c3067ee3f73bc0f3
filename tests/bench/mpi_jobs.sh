# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# shellcheck shell=bash
# Jobs of tests/bench/mpi_perf over some transport, for tests/bench/mpi and compare. Source it after rounds.sh and
# mpilab.sh, with hosts made.
#
#   mpi_choose WHAT               sets the environment for a transport, in a subshell of the caller's
#   mpi_pair CSV PATTERN HOST HOST OPTION...   two ranks, each on a processor of its own
#   mpi_crowd CSV PATTERN RANKS OPTION...      ranks in turns on all hosts, which share all processors

# Settings of Open MPI; the offloads are those of the interface. EtherMX has them on, as users have: its large messages may go
# by TCP or in datagrams.
mpi_choose() {
    netlab_offloads off
    case $1 in
    mx | mx-list | mx-packed | mx-udp)
        netlab_offloads on
        export OMPI_MCA_mca_base_component_path=$BENCH_BUILD/compat/openmpi:SYSTEM_DEFAULT OMPI_MCA_pml=cm OMPI_MCA_mtl=mx
        case $1 in
        mx-list) export OMPI_MCA_mtl_mx_gather_min=1 ;;
        mx-packed) export OMPI_MCA_mtl_mx_gather_min=2147483647 ;;
        mx-udp)
            export EMX_BOARDS=udp:eth0 XDG_STATE_HOME=$NETLAB_TMP EMX_PEERS=$NETLAB_TMP/hosts_of_boards
            printf 'node%d board%d\n' 1 1 2 2 >"$EMX_PEERS"
            ;;
        esac
        ;;
    ob1 | ob1-offloads)
        export OMPI_MCA_pml=ob1 OMPI_MCA_btl=self,tcp
        [ "$1" = ob1 ] || netlab_offloads on
        ;;
    vader) export OMPI_MCA_pml=ob1 OMPI_MCA_btl=self,vader ;;
    ucx | ucx-offloads | ucx-shm)
        export OMPI_MCA_pml=ucx OMPI_MCA_pml_ucx_tls=any OMPI_MCA_pml_ucx_devices=any UCX_TLS=tcp,self UCX_NET_DEVICES=eth0
        case $1 in
        ucx-offloads) netlab_offloads on ;;
        ucx-shm) export UCX_TLS=posix,sysv,cma,self UCX_NET_DEVICES=all ;;
        esac
        ;;
    ofi) export OMPI_MCA_pml=cm OMPI_MCA_mtl=ofi OMPI_MCA_opal_common_ofi_provider_include=tcp FI_TCP_IFACE=eth0 ;;
    *) echo "nothing is called \"$1\" here" >&2; return 1 ;;
    esac
}

# mpi_lines CSV PATTERN COMMAND...: of what a job prints, the pattern's lines; what else it said stays where it failed.
mpi_lines() {
    local csv=$1 pattern=$2
    mpilab_run timeout -k 10 300 "${@:3}" >"$csv.all" 2>"$csv.log" &&
        sed -n "s/^pattern,//p; s/^$pattern,//p" "$csv.all" >"$csv" && [ "$(wc -l <"$csv")" -ge 2 ] && rm "$csv.all" "$csv.log"
}

mpi_pair() {
    local csv=$1 pattern=$2 program=("$BENCH_BUILD/tests/bench/mpi_perf" -t "$BENCH_TIME" "${@:5}" "$2")
    mpi_lines "$csv" "$pattern" mpirun -n 1 --host "$3" taskset -c "${BENCH_CPUS[0]}" "${program[@]}" : \
        -n 1 --host "$4" taskset -c "${BENCH_CPUS[1]}" "${program[@]}"
}

mpi_crowd() {
    OMPI_MCA_mpi_yield_when_idle=1 mpi_lines "$1" "$2" mpirun -n "$3" --map-by node \
        "$BENCH_BUILD/tests/bench/mpi_perf" -t "$BENCH_TIME" "${@:4}" "$2"
}

#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# Open MPI over UDP boards: four hosts, which a list names by their host names; and an ordinary user without any
# capability, by the commands of docs/udp-boards.md, on hosts of which one stands behind a router.
cd "$(dirname "$0")/../.." || exit 1
. tests/support/netlab.sh
. tests/support/mpilab.sh
netlab_begin "$PWD/tests/mpi/udp_boards.sh" "$@"
build=${EMX_BUILD:-$PWD/build}/plain hung=1200
NETLAB_WATCH='' # it knows frames, and none shall be there
mpilab_make 4 2 1500 N=1500 "$build" && mpilab_transport mx "$build" || exit 1
export XDG_STATE_HOME=$NETLAB_TMP EMX_BOARDS=udp:eth0 EMX_PEERS=$NETLAB_TMP/hosts_of_boards
for host in 1 2 3 4; do echo "node$host board$host"; done >"$EMX_PEERS"

job() { says "$2" mpilab_run timeout $hung mpirun -n 8 "$build/tests/mpi/$1"; }
no_frames() { # the agent serves UDP, and no process has a packet socket
    ip netns exec "${NETLAB_NS[1]}" ss -lun | grep -q ':34783 ' &&
        [ "$(ip netns exec "${NETLAB_NS[1]}" awk 'NR > 1' /proc/net/packet)" = '' ]
}
end_agents() { # those that serve root
    local host pid
    for host in 1 2 3 4; do
        for pid in $(ip netns pids "${NETLAB_NS[host]}"); do
            [ "$(cat "/proc/$pid/comm" 2>/dev/null)" != omxd ] || { kill "$pid" && lab_gone "$pid"; }
        done
    done
}
check "data types" job mpi_types 'done types'
check "no frames" no_frames
check "truncated messages" job mpi_truncation 'done truncation'

# ---- as an ordinary user, by the page ----

# Host 3 moves behind a router, to the address that the page's list has of it.
behind_router() {
    local router=${NETLAB_PREFIX}rt host
    NETLAB_NS[5]=$router # removed with the hosts
    lab_host "$router" && lab_port "$NETLAB_SWITCH" pr 1500 "$router" eth0 02:45:4d:58:01:01 &&
        ip -n "$router" addr add 10.77.9.1/16 dev eth0 && ip netns exec "$router" sysctl -qw net.ipv4.ip_forward=1 &&
        ip -n "${NETLAB_NS[3]}" link del eth0 &&
        lab_pair 1400 "$router" eth1 02:45:4d:58:01:02 "${NETLAB_NS[3]}" eth0 02:45:4d:58:01:03 &&
        ip -n "$router" addr add 10.88.0.1/24 dev eth1 && ip -n "${NETLAB_NS[3]}" addr add 10.88.0.2/24 dev eth0 &&
        ip -n "${NETLAB_NS[3]}" route add default via 10.88.0.1 || return
    for host in 1 2; do ip -n "${NETLAB_NS[host]}" route add 10.88.0.0/24 via 10.77.9.1 || return; done
    sed -i 's/^[0-9.]* node3 /10.88.0.2 node3 /; s/ node2 / node2 node2.example.org /' "$NETLAB_HOSTS"
}

# The user has no capability, and of this script's environment the way to the programs of the build and a stand-in for
# ssh. Its programs get host names from /etc/hosts, as everybody's.
user=65534 home=$NETLAB_TMP/user
powerless=(setpriv --reuid "$user" --regid "$user" --clear-groups --bounding-set=-all --inh-caps=-all --no-new-privs
           env -i "HOME=$home" "PATH=$PATH" "LD_LIBRARY_PATH=$LD_LIBRARY_PATH" "EMX_REMOTE=$home/remote"
           "OMPI_MCA_plm_rsh_agent=$PWD/tests/support/remote.py" "PRTE_MCA_plm_ssh_agent=$PWD/tests/support/remote.py"
           "OMPI_MCA_mca_base_component_path=$OMPI_MCA_mca_base_component_path"
           OMPI_MCA_mpi_yield_when_idle=1)
[ -z "${PMIX_MCA_mca_base_component_path:-}" ] ||
    powerless+=("PMIX_MCA_mca_base_component_path=$PMIX_MCA_mca_base_component_path")
serve_user() {
    local host
    mkdir -p "$home/remote" && ln -s "$build/tests/mpi/mpi_types" "$home/program" && chown -R $user "$home" &&
        chmod 711 "$NETLAB_TMP" || return
    for host in 1 2 3; do
        netlab_bg "$host" "$NETLAB_TMP/remote$host" "${powerless[@]}" tests/support/remote.py serve "$home/remote" "node$host"
        until_ok 60 grep -q serving "$NETLAB_TMP/remote$host" || { cat "$NETLAB_TMP/remote$host"; return 1; }
    done
}
is_powerless() {
    says 'CapEff:.0000000000000000' netlab_run 1 "${powerless[@]}" cat /proc/self/status &&
        says 'CapBnd:.0000000000000000' netlab_run 1 "${powerless[@]}" cat /proc/self/status
}
# All that the page has a user type, but for mpirun's interface: namespaces have no other that leads anywhere.
page() {
    sed -n '/^## As an ordinary user/,/^## /s/^       //p' docs/udp-boards.md |
        sed 's/^mpirun /&--mca oob_tcp_if_include eth0 --mca btl_tcp_if_include eth0 /'
}
user_job() { # user_job SLOTS HOST...: 8 processes on these hosts
    local slots=$1
    shift
    printf "%s slots=$slots\n" "$@" >"$home/hosts" && page >"$home/page" && grep -q '^mpirun .*-n 8 ./program' "$home/page" &&
        says 'done program' netlab_run 1 "${powerless[@]}" timeout $hung sh -ec 'cd; . ./page'
}
end_agents
unset XDG_STATE_HOME EMX_BOARDS EMX_PEERS
check "host 3 moves behind a router" behind_router
check "a user who has no capability" is_powerless
check "hosts that the user reaches" serve_user
check "a job of an ordinary user on two hosts, by the page's commands" user_job 4 node1 node2
check "the same with a third host, behind a router" user_job 3 node1 node2 node3
check "nothing needed a packet socket" no_frames
finish

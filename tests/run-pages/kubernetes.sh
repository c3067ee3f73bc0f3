#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# The manifests of docs/examples/kubernetes, without Kubernetes: their fields are judged by its models; the plugin of CNI
# takes the network; commands run with the capabilities, users and groups that the pods have, and no more.
#
#   tests/run-pages/kubernetes.sh
cd "$(dirname "$0")/../.." || exit 1
export TMPDIR=/var/tmp # each host has a /tmp of its own
. tests/support/netlab.sh
. tests/support/packages.sh
netlab_begin "$PWD/tests/run-pages/kubernetes.sh" "$@"
. tests/run-pages/hosts.sh
NETLAB_WATCH=$hosts_build/tests/watch/wirewatch
hosts_root
pages_packages kubernetes || exit 1
folder=docs/examples/kubernetes
# Debian's, which has Debian's packages.
manifests() { /usr/bin/python3 tests/run-pages/manifests.py "$@"; }

# with SED PATTERN FILE: the file, changed so, is refused with that.
with() {
    sed "$1" "$folder/$3" >"$NETLAB_TMP/changed.yaml"
    ! cmp -s "$folder/$3" "$NETLAB_TMP/changed.yaml" || { echo "nothing is changed"; return 1; }
    refuses "$2" manifests "$NETLAB_TMP/changed.yaml"
}

value() { manifests --value "$folder/$1" "$2" "$3"; }
has() { value "$@" >/dev/null 2>&1; }

# as_container HOST FILE KIND PATH [COMMAND...]: there, with what the first container of the pod at that path adds to no
# capabilities, as root or as the pod's user; its own command, for the interface that there is, or this one.
as_container() {
    local host=$1 file=$2 kind=$3 path=$4 capability bounding=-all user=() words
    shift 4
    ! has "$file" "$kind" "$path.containers.0.securityContext.capabilities.add" ||
        for capability in $(value "$file" "$kind" "$path.containers.0.securityContext.capabilities.add"); do
            bounding+=",+${capability,,}"
        done
    ! has "$file" "$kind" "$path.securityContext.runAsUser" ||
        user=(--reuid "$(value "$file" "$kind" "$path.securityContext.runAsUser")"
              --regid "$(value "$file" "$kind" "$path.securityContext.runAsGroup")"
              --groups "$(value "$file" "$kind" "$path.securityContext.supplementalGroups")")
    read -r -a words <<<"$(value "$file" "$kind" "$path.containers.0.command" | sed 's/eth1/eth0/')"
    [ $# -gt 0 ] || set -- "${words[@]}"
    in_host "$host" setpriv --no-new-privs --inh-caps=-all --ambient-caps=-all \
        --bounding-set "$bounding" "${user[@]}" "$@"
}
program() { as_container "$1" program.yaml Pod spec "${@:2}"; }

# The agents of both nodes, with the capabilities of the DaemonSet: in a container there is no /etc/ethermx.
agents_serve() {
    local i
    for i in 1 2; do
        in_host $i sh -c "$(sed -n 's/^RUN \(groupadd .*\)/\1/p' docs/examples/containers/Dockerfile)" || return
        as_container $i agent.yaml DaemonSet spec.template.spec >"$NETLAB_TMP/agent$i" 2>&1 &
        until_ok $hosts_hung grep -q ' serving eth0:N=9000' "$NETLAB_TMP/agent$i" || { cat "$NETLAB_TMP/agent$i"; return 1; }
        says 'runs as user ethermx with CAP_NET_RAW' cat "$NETLAB_TMP/agent$i" || return
    done
}

# A pod with a network of its own on each node, made by the plugin of CNI from what Multus hands to it.
pod_network() {
    local i
    for i in 1 2; do
        POD[i]=${NETLAB_PREFIX}pod$i
        ip netns add "${POD[i]}" && ip -n "${POD[i]}" link set lo up || return
        NETLAB_NS[i + 2]=${POD[i]} # which netlab removes
        value macvlan.yaml NetworkAttachmentDefinition spec.config | sed 's/eth1/eth0/' |
            in_host $i env CNI_COMMAND=ADD CNI_CONTAINERID=pod$i CNI_NETNS="/proc/$$/root/run/netns/${POD[i]}" CNI_IFNAME=net1 \
                CNI_PATH=/usr/lib/cni /usr/lib/cni/macvlan && lab_carrier "${POD[i]}" net1 || return
    done
}
POD=()
own_board() {
    local HOSTS_NET=${POD[$1]}
    as_container "$1" macvlan.yaml Pod spec env "EMX_BOARDS=$(value macvlan.yaml Pod spec.containers.0.env.0.value)" "${@:2}"
}

said_or_ended() { grep -q 'waiting for a client' "$NETLAB_TMP/server" || lab_ended "$1"; }
# meet RUNNER NAME: a server on node2, a client on node1, which knows it by that name.
meet() {
    "$1" 2 omx_perf >"$NETLAB_TMP/server" 2>&1 &
    until_ok $hosts_hung said_or_ended $! && says 'waiting for a client' cat "$NETLAB_TMP/server" &&
        says '^length *1048576:' "$1" 1 timeout $hosts_hung omx_perf -d "$2" -V -N 10 --patience 100
}
own_boards() { meet own_board "$(ip netns exec "${POD[2]}" cat /sys/class/net/net1/address)"; }

manifests_pass() { says 'DaemonSet omxd
Pod program
NetworkAttachmentDefinition boards' manifests $folder/*.yaml; }
hosts_make 2 9000 && hosts_install || exit 1
check 'the models of Kubernetes take the manifests' manifests_pass
check 'a field that there is not' with 's/hostNetwork:/hostNet:/' 'V1PodSpec has no such field' agent.yaml
check 'a number for a list' with 's/drop: .*/drop: 7/' 'capabilities.drop: a list is needed' program.yaml
check 'a name that is missing' with '/- name: omxd/s/name: omxd/image: a/; /  image: r/d' 'must not be `None`' agent.yaml
check 'a volume that there is not' with '/volumes:/,$s/name: socket/name: plug/' 'omxd mounts socket, which is no volume' agent.yaml
check 'labels that nobody selects' with '/matchLabels/,/template/s/app: omxd/app: other/' 'selector does not match' agent.yaml
check "the DaemonSet's capabilities are enough for the agent" agents_serve
check "the program of another pod has the node's board" says 'board #0 name eth0' program 1 # omx_info
check 'programs of two nodes exchange messages' meet program node2:0
check 'the plugin of CNI makes the second interface' pod_network
check 'pods with boards of their own exchange messages' own_boards
finish

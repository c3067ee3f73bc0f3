#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# docs/affinity.md followed to the letter, on two hosts of namespaces: they share the machine's processors.
#
#   tests/run-pages/affinity.sh
cd "$(dirname "$0")/../.." || exit 1
export TMPDIR=/var/tmp # each host has a /tmp of its own
. tests/support/netlab.sh
. tests/support/packages.sh
netlab_begin "$PWD/tests/run-pages/affinity.sh" "$@"
. tests/run-pages/hosts.sh
NETLAB_WATCH=$hosts_build/tests/watch/wirewatch
hosts_root
[ "$(nproc)" -ge 2 ] || { skip "two processors are needed"; finish; }
pages_packages affinity || exit 1

hosts_make 2 9000 && hosts_install || exit 1
install -d -o 12345 "$NETLAB_TMP/home/alice"
for host in 1 2; do
    hosts_board $host eth0:N=9000 >"$NETLAB_TMP/prepared" 2>&1 || { cat "$NETLAB_TMP/prepared"; exit 1; }
done
# handed PROCESSOR: frames that RPS has handed to it
handed() { echo $((0x$(awk -v line=$(($1 + 1)) 'NR == line { print $10 }' /proc/net/softnet_stat))); }
before=$(handed 0)
page_steps docs/affinity.md on_hosts
check 'RPS hands frames of MXoE to the processor of the mask' [ "$(handed 0)" -gt $((before + 20)) ]
check 'the rules of boards of metal are refused by a veth' \
    refuses 'Operation not supported' in_host 1 ethtool -N eth0 flow-type ether proto 0x86df action 0
finish

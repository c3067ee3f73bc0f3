#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# omx_check over paths that are good, and over paths with one thing wrong: its verdict and its exit status.
cd "$(dirname "$0")/../.." || exit 1
. tests/support/netlab.sh
netlab_begin "$PWD/tests/netns/check.sh" "$@"
. tests/support/traffic.sh
AS=() PARTNER='' OPEN_MX=''

# checks STATUS PATTERN NAME [OPTION...]: host 1 tests the path to host 2, or to what -- is followed by. Each
# line of PATTERN must be in the output.
checks() {
    local status=$1 pattern=$2 name=$3
    shift 3
    [[ " $* " = *' -- '* ]] || set -- "$@" -- "$(netlab_mac 2)"
    check "$name" ends "$status" "$pattern" netlab_in 1 timeout $hung "${AS[@]}" "$tools/omx_check" "$@"
}

come_so() { says "$1" netlab_in 1 timeout $hung "${AS[@]}" "$tools/omx_check" -N 100 -- "$(netlab_mac 2)"; }

boards() { # agents, without a partner
    [ -z "$PARTNER" ] || netlab_stop "$PARTNER"
    PARTNER=''
    agents "$@"
}

partner() { # on host 2, as its last agent's user, until the next boards
    netlab_bg 2 "$NETLAB_TMP/partner" "$tools/omx_check" -s
    PARTNER=$NETLAB_PID
    tells "$NETLAB_TMP/partner" serving "$PARTNER"
}

good_paths() {
    local config
    for config in eth0:N=9000 eth0:N=1500 eth0:W; do
        boards $config $config
        checks 0 "answers +yes\$
dialect +${config#*:}, as here
largest frames +arrive there
loss +0 of 1000
reordering +0 of 1000
round trip +[0-9.]+ us
Not tested: bandwidth, .*start omx_check -s there
^OK, as far as tested" "a good path, $config, without a partner"
        partner
        checks 0 "answers +yes; omx_check -s serves
dialect +${config#*:}, as here
loss +0 of 300
latency +[0-9.]+ us
bandwidth +[1-9][0-9]* MB/s there, [1-9][0-9]* MB/s back
large messages +come by TCP\$
^OK\$" "a good path, $config, with a partner" -N 300
    done
}

# Without a partner what is not answered takes seconds: in the CI tier only once for each verdict.
other_settings() {
    local here there tier wrong='^WRONG: dialect mismatch: that host speaks'
    while read -r here there tier; do
        boards "eth0:$here" "eth0:$there"
        [ "$tier" = full ] && [ -z "${EMX_FULL:-}" ] || checks 1 "dialect +$there, but $here here
$wrong $there, this one $here\\. Give both the same" "$here here, $there on the other side"
        partner
        checks 1 "$wrong $there, this one $here" "$here here, $there on the other side, with a partner" -N 100
    done <<'LIST'
N=9000 W
W N=9000
W N=1500 full
N=9000 N=1500 full
N=1500 N=9000
N=9000 N=8999 full
LIST
}

narrow_bridge() {
    boards eth0:N=9000 eth0:N=9000
    ip -n "$NETLAB_SWITCH" link set p2 mtu 1500
    checks 1 'largest frames +of 9000 bytes vanish; at most 151[48] bytes arrive there
^WRONG: MTU mismatch on the way: nothing arrives above 151[48] bytes .*, and N=9000 needs an MTU of 8986\. .*or give all hosts N=151[48]
loss +0 of' "a bridge with a smaller MTU"
    ip -n "$NETLAB_SWITCH" link set p2 mtu 9000
}

# A frame that the dialect needs passes, but not one that both interfaces would take.
narrow_for_interfaces() {
    boards eth0:W eth0:W
    ip -n "$NETLAB_SWITCH" link set p2 mtu 5000
    checks 0 'largest frames +arrive there .MTU 4130' "a bridge with an MTU that dialect W needs" -N 100
    partner
    checks 1 'largest frames +of [0-9]+ bytes vanish; at most 501[48] bytes arrive there
^WRONG: MTU mismatch on the way: nothing arrives above 501[48] bytes .*, and both interfaces have an MTU of 9000\. .*lower it' \
        "but less than both interfaces" -N 100
    ip -n "$NETLAB_SWITCH" link set p2 mtu 9000
}

# The remedy of narrow_bridge: frames of the extension are not longer either.
narrow_by_dialect() {
    boards eth0:N=1514 eth0:N=1514
    ip -n "$NETLAB_SWITCH" link set p2 mtu 1500
    partner
    checks 0 'largest frames +arrive there .MTU 1500
bandwidth +[1-9][0-9]* MB/s there, [1-9][0-9]* MB/s back
large messages +come by TCP
^OK$' "a bridge with a smaller MTU, and a dialect that says so" -N 100
    check "eager messages, too" eager
    ip -n "$NETLAB_SWITCH" link set p2 mtu 9000
}
eager() { messages 1 2 -V -S 1000 -E 32769 -M 2 -N 50; }

# Long frames are lost on their way to host 1 only.
narrow_way_back() {
    boards eth0:N=9000 eth0:N=9000
    partner
    netlab_loss 1 1000 && netlab_loss_longer 1 1600
    checks 1 'largest frames +arrive there
bandwidth +[1-9][0-9]* MB/s there, nothing comes back
^WRONG: MTU mismatch on the way back' "a smaller MTU on the way back"
    netlab_loss_off 1
}

narrow_interface() {
    boards eth0:N=9000 eth0:N=9000
    ip -n "${NETLAB_NS[1]}" link set eth0 mtu 4000
    checks 1 'WRONG: MTU mismatch: eth0 here refuses frames above 4014 bytes' "an interface with a smaller MTU"
    ip -n "${NETLAB_NS[1]}" link set eth0 mtu 9000
}

losses() {
    boards eth0:N=9000 eth0:N=9000
    netlab_loss 2 50 || return
    checks 1 'loss +[1-9][0-9]* of 2000
^WRONG: frames are lost: [1-9][0-9]* of 2000' "5 % of the frames lost" -N 2000
    netlab_loss_off 2
    checks 0 '^OK' "and none again"
}

# Host 3 as one of Open-MX: the model peer, which takes no frame without the index that it told, and of pull requests
# looks at the endpoint alone.
open_mx() { # open_mx DIALECT
    [ -z "$OPEN_MX" ] || netlab_stop "$OPEN_MX"
    netlab_bg 3 "$NETLAB_TMP/open_mx" env "EMX_BOARDS=eth0:$1" EMX_MODEL=index=7,helper,refusals,trailing,spare=255 \
        python3 -c '
import ctypes, signal, sys
mx = ctypes.CDLL(sys.argv[1])
endpoint = ctypes.c_void_p()
if mx.mx__init_api(0x301) == 0 and mx.mx_open_endpoint(0, 0, 1, None, 0, ctypes.byref(endpoint)) == 0:
    print("serving", flush=True)
    signal.pause()' "$plain/tests/model/libmodel_mx.so"
    OPEN_MX=$NETLAB_PID
    tells "$NETLAB_TMP/open_mx" serving "$OPEN_MX"
}

open_mx_hosts() {
    local here there status dialect rest mac
    mac=$(netlab_mac 3)
    while read -r here there status dialect rest; do
        boards "eth0:$here" -
        check "an Open-MX host, $there" open_mx "$there"
        checks "$status" "answers +yes\$
dialect +$dialect
largest frames +arrive there
loss +0 of 300
reordering +0 of 300
round trip +[0-9.]+ us
$rest" "$here here, Open-MX with $there" -N 300 -- "$mac"
    done <<'LIST'
W W 0 W,.as.here ^OK, as far as tested
N=9000 N=9000 0 N,.as.here Not tested: .*the frame size of its dialect
N=9000 W 1 W,.but.N=9000.here ^WRONG: dialect mismatch: that host speaks W, this one N=9000
W N=9000 1 N,.but.W.here ^WRONG: dialect mismatch: that host speaks N, .*NAME N=SIZE
LIST
    open_mx W
    ip -n "$NETLAB_SWITCH" link set p3 mtu 1500
    checks 1 '^WRONG: MTU mismatch on the way: nothing arrives above 151[48] bytes' "Open-MX behind a smaller MTU" -N 100 -- "$mac"
    ip -n "$NETLAB_SWITCH" link set p3 mtu 9000
    netlab_loss 3 50 || return
    checks 1 '^WRONG: frames are lost: [1-9][0-9]* of 2000' "Open-MX, 5 % of the frames lost" -N 2000 -- "$mac"
    netlab_loss_off 3
    netlab_stop "$OPEN_MX"
    OPEN_MX=''
}

nobody() {
    local wrong='^WRONG: nothing answers at 02:45:4d:58:00:0'
    boards eth0:N=9000 -
    checks 1 "${wrong}2\\. Is the host up.*Does EtherMX serve" "a host without EtherMX" -p 1
    checks 1 "answers +no
${wrong}9\\." "an address that nobody has" -p 1 -- 02:45:4d:58:00:09
    echo "$(netlab_mac 3) node3:0" >"$NETLAB_TMP/list"
    boards eth0:N=9000 "eth0:N=9000 --peers $NETLAB_TMP/list"
    checks 1 "${wrong}2.*omx_init_peers 02:45:4d:58:00:01 node1:0 there adds it" "a closed peer table there" -p 1
    boards "eth0:N=9000 --peers $NETLAB_TMP/list" eth0:N=9000
    checks 255 'that board is not in it: add it with omx_init_peers 02:45:4d:58:00:02' "a closed peer table here" -p 1
    boards eth0:N=9000 eth0:N=9000
    netlab_link 1 down
    checks 1 '^WRONG: the link of eth0 is down here' "the link is down" -p 1
    netlab_link 1 up
    netlab_carrier
}

# Host 3 gets the address of host 2, and the bridge gives all frames to both; then to host 3 only slowly, so that its
# answers come when frames that were sent long after have been answered.
two_of_one_address() {
    local ns=${NETLAB_NS[3]} port
    local twice='^WRONG: frames are answered twice .*two boards have the address 02:45:4d:58:00:02'
    ip -n "$ns" link set eth0 down && ip -n "$ns" link set eth0 address "$(netlab_mac 2)" && ip -n "$ns" link set eth0 up
    for port in p1 p2 p3; do
        ip -n "$NETLAB_SWITCH" link set "$port" type bridge_slave learning off
    done
    ip netns exec "$NETLAB_SWITCH" bridge fdb flush dev br0 2>/dev/null ||
        for port in p1 p2 p3; do
            ip -n "$NETLAB_SWITCH" link set "$port" type bridge_slave fdb_flush
        done
    netlab_carrier
    boards eth0:N=9000 eth0:N=9000 eth0:N=9000
    checks 1 "$twice" "two boards of one address"
    check "a slow way to one of them" tc -n "$NETLAB_SWITCH" qdisc add dev p3 root tbf rate 400kbit burst 9100 limit 10m
    checks 1 "$twice" "two boards of one address, one of them slow"
    tc -n "$NETLAB_SWITCH" qdisc del dev p3 root
}

unprivileged() {
    GROUP=nogroup boards eth0:N=9000 eth0:N=9000
    AS=(setpriv --reuid 65534 --regid 65534 --clear-groups --inh-caps=-all)
    checks 0 'Not tested: .*only root can
^OK, as far as tested' "an ordinary user"
    AS=()
}

# Host 1 takes nothing of that protocol at our ports.
deaf_to() {
    netlab_in 1 nft -f - <<END
table inet emx {
    chain in { type filter hook input priority 0; $1 dport 34527-34782 drop; }
}
END
}
hears_again() { netlab_in 1 nft delete table inet emx; }

# The carrier of large messages from host 2, and why not TCP or datagrams.
carriers() {
    local come='large messages +come in'
    boards eth0:N=9000 eth0:N=9000
    partner
    deaf_to tcp
    checks 0 "$come frames: no connection came: does a firewall drop TCP .*; frames of 9[0-9]* bytes are faster" \
        "a firewall before TCP" -N 100
    hears_again
    AS=(env EMX_BULK=tcp)
    checks 0 'large messages +come by TCP$' "large messages by TCP" -N 100
    AS=(env EMX_BULK=udp)
    # A way on which nothing came for a moment, as a host had no processor, is tried again soon.
    check "large messages in datagrams" until_ok $hung come_so "$come datagrams\$"
    AS=(env EMX_BULK=raw)
    checks 0 "$come frames: EMX_BULK=raw, here" "large messages in frames by the program's wish" -N 100
    AS=(env EMX_BULK=udp)
    deaf_to udp
    checks 0 "$come frames: datagrams do not arrive, or no longer: does a firewall drop UDP ports" "a firewall" -N 100
    hears_again
    ip -n "${NETLAB_NS[1]}" addr del "$(netlab_ip 1)/16" dev eth0
    checks 0 "$come frames: eth0 has no IPv4 address here" "no IP address" -N 100
    ip -n "${NETLAB_NS[1]}" addr add "$(netlab_ip 1)/16" dev eth0
    EMX_EXTENSION=0 checks 0 "$come frames: that host does not speak the extension" "no extension" -N 100
    boards eth0:N=9000 eth0:N=9000
    EMX_BULK=raw partner
    checks 0 "$come frames: that host offers no datagrams" "frames by the other host's wish" -N 100
    AS=()
}

nonsense() {
    checks 255 'wanted one HOST, or -s' "no host" --
    checks 255 'wanted one HOST, or -s' "two hosts" -- a b
    checks 255 '-s takes no HOST' "a server with a host" -s -- a
    checks 255 'no board is called "zebra"' "an unknown name" -p 0 -- zebra
    checks 255 'is this board itself' "itself" -- "$(netlab_mac 1)"
    checks 255 'no board #7' "no such board" -b 7
    checks 255 'not a number from 0 to 255' "an impossible endpoint" -e 256
    checks 255 'not a number from 0 to 1000000' "an impossible number" -N -1
    checks 255 'usage: ' "help" -h
}

# shellcheck disable=SC2034 # read by netlab_make
NETLAB_NAMES="node1 node2 node3" \
    NETLAB_DIALECTS="W N=9000 N=1500 N=8999 N=1514" NETLAB_WATCH_OPTIONS="--spare 255 --not $(netlab_mac 3)"
netlab_make 3 9000 || exit 1
good_paths
nonsense
other_settings
carriers
narrow_bridge
narrow_for_interfaces
narrow_by_dialect
narrow_way_back
narrow_interface
losses
open_mx_hosts
nobody
unprivileged
netlab_unwatch # who speaks for two boards at a time is not judged
two_of_one_address
finish

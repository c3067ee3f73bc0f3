#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# Our stack and the model peer (tests/model) between namespaces, in real time: messages of every length at
# which the protocol does something else, both ways, with and without loss, in each dialect; messages in
# any order of matching; and a mixed fabric of five hosts on one network.
#
#   tests/netns/fabric.sh [-k PATTERN] [-s SEED]      only tests whose names match; of orders and lengths
#
# Between two hosts in one dialect; EMX_FULL=1: in each, and up to 16 MiB with loss, too.
cd "$(dirname "$0")/../.." || exit 1
. tests/support/netlab.sh
netlab_begin "$PWD/tests/netns/fabric.sh" "$@"
. tests/support/traffic.sh
everybody=$plain/tests/netns/everybody exchange=$plain/tests/netns/exchange
seed=1 PIDS=() CHECK_TELLS=1 configs=(9000:W)
[ -z "${EMX_FULL:-}" ] || configs+=(1500:N=1500 9000:N=9000)
while getopts k:s: option; do
    case $option in
    k) CHECK_ONLY=$OPTARG ;;
    s) seed=$OPTARG ;;
    *) sed -n '3,9s/^# \{0,1\}//p' tests/netns/fabric.sh >&2; exit 2 ;;
    esac
done
planter=02:00:00:00:00:99
# All that a stranger may do and we had better not mind. Frames without padding are not among it: no wire delivers them.
rude=garbage,trailing,windows,offsets,odd

# rank HOST KIND MANNER COMMAND...: starts it in the background, on our stack (KIND is its boards) or, with
# "model BOARD", on the model.
rank() {
    local host=$1 kind=$2 manner=$3 environment
    shift 3
    environment=("EMX_BOARDS=${kind#model }")
    [ "$kind" = "${kind#model }" ] || environment+=("LD_PRELOAD=$plain/tests/model/libmodel_mx.so" "EMX_MODEL=$manner")
    netlab_bg "$host" "$NETLAB_TMP/rank$host" env "${environment[@]}" timeout 800 "$@"
    PIDS[host]=$NETLAB_PID
}

# Prints what the ranks said; true if all of them ended well. When one did not, the others wait for it in vain.
ended_well() {
    local host ended=some status=0
    # It knows not those that ended before it was called, but the other "wait" does.
    while [ $status = 0 ] && [ -n "$ended" ]; do
        ended=''
        wait -n -p ended "${PIDS[@]}" 2>/dev/null || [ -z "$ended" ] || status=1
    done
    [ $status = 0 ] || kill "${PIDS[@]}" 2>/dev/null
    for host in "${!PIDS[@]}"; do
        wait "${PIDS[host]}" || status=1
    done
    for host in "${!PIDS[@]}"; do
        sed "s/^/host $host: /" "$NETLAB_TMP/rank$host"
    done
    PIDS=()
    return $status
}

meeting() {
    rm -f "$NETLAB_TMP/meeting" && touch "$NETLAB_TMP/meeting"
}

# nothing_misjudged HOST...: our stack found nothing wrong with the frames of peers that keep to the rules; what
# comes twice, late or for an endpoint that is gone is no fault of them.
# An answer to a question that was asked twice may come twice; the second finds no question, and counts as a "bad nack".
nothing_misjudged() {
    local host harmless='bad nack|repeated|misplaced|outside the window|no such endpoint|not ready|stale|of no pull|no such partner|full'
    for host in "$@"; do
        says received tool "$host" omx_counters || return
        ! grep 'drop: ' "$said" | grep -vE "$harmless" || return
    done
}

# both DIALECT MANNER LONGEST [SEED OF THE MODEL]: our stack on host 1, the model on host 2
both() {
    local hosts=("E@$(netlab_mac 1)" "$1@$(netlab_mac 2)")
    meeting
    rank 1 "eth0:$1" '' "$everybody" -r 0 -m "$NETLAB_TMP/meeting" -l "$3" -s "$seed" -t 600 "${hosts[@]}"
    rank 2 "model eth0:$1" "$2" "$everybody" -r 1 -m "$NETLAB_TMP/meeting" -l "$3" -s "${4:-$seed}" -t 600 "${hosts[@]}"
    ended_well
}

without_loss() { # without_loss DIALECT
    both "$1" "$rude,offset=$((seed * 1371 % 4096))" $((1 << 24)) && nothing_misjudged 1
}

# with_loss DIALECT LONGEST: the model is no quicker to repeat than Open-MX is
with_loss() {
    local before1 before2
    netlab_loss 1 20 && netlab_loss 2 20 || return
    before1=$(netlab_lost 1) before2=$(netlab_lost 2)
    both "$1" "$rude,offset=$((seed * 2113 % 4096))" "$2" || return
    echo "lost $(($(netlab_lost 1) - before1)) and $(($(netlab_lost 2) - before2))"
    [ "$(netlab_lost 1)" -gt "$before1" ] && [ "$(netlab_lost 2)" -gt "$before2" ]
}

in_any_order() { # in_any_order DIALECT MESSAGES
    local arguments=(-m "$NETLAB_TMP/meeting" -n "$2" -e 4 -l 40 -s "$seed" -t 600)
    meeting
    rank 1 "eth0:$1" '' "$exchange" -r 0 -p "$(netlab_mac 2)" "${arguments[@]}"
    rank 2 "model eth0:$1" "$rude" "$exchange" -r 1 -p "$(netlab_mac 1)" "${arguments[@]}"
    ended_well
}

# Ranks that expect other messages than they get must say so.
another_order() { refuses 'instead of|differs|longer than the receive buffer' both "$1" "$rude" 40000 $((seed + 1)); }

# A frame that a careful sender does not send ends the model. It comes from an address of its own, whose frames nobody
# else judges.
bad_frame() {
    meeting
    rank 2 "model eth0:W" '' "$everybody" -r 1 -m "$NETLAB_TMP/meeting" "E@$(netlab_mac 1)" "W@$(netlab_mac 2)"
    until_ok $hung planted_or_ended
    ends 90 '' wait "${PIDS[2]}"
    local status=$?
    PIDS=()
    cat "$NETLAB_TMP/rank2"
    [ $status = 0 ] && grep -q '^model peer: ' "$NETLAB_TMP/rank2"
}
planted_or_ended() {
    lab_ended "${PIDS[2]}" && return
    netlab_in 1 python3 -c '
import socket, sys
s = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
s.bind(("eth0", 0))
s.send(bytes.fromhex((sys.argv[1] + sys.argv[2]).replace(":", "") + "86df" + "ffff" + "25") + bytes(43))' \
        "$(netlab_mac 2)" "$planter"
    return 1
}

# Hosts 1 and 2 are models of dialect W, 3 is one of dialect N, 4 and 5 have our stack on a board of dialect W,
# whose list of peers pins host 3.
all_to_all() { # all_to_all MANNER LONGEST [OPTION OF everybody]...
    local manner=$1 arguments=(-m "$NETLAB_TMP/meeting" -l "$2" -s "$seed" -t 600) hosts i
    shift 2
    hosts=("W@$(netlab_mac 1)" "W@$(netlab_mac 2)" "N=1500@$(netlab_mac 3)" "E@$(netlab_mac 4)" "E@$(netlab_mac 5)")
    meeting
    for i in 1 2; do
        rank $i "model eth0:W" "$manner" "$everybody" -r $((i - 1)) "${arguments[@]}" "$@" "${hosts[@]}"
    done
    rank 3 "model eth0:N=1500" "$manner" "$everybody" -r 2 "${arguments[@]}" "$@" "${hosts[@]}"
    for i in 4 5; do
        rank $i "eth0:W" '' "$everybody" -r $((i - 1)) "${arguments[@]}" "$@" "${hosts[@]}"
    done
    ended_well
}

mixed_peers() {
    local i
    for i in 1 2 4 5; do
        echo "$(netlab_mac $i) host$i:0"
    done
    echo "$(netlab_mac 3) host3:0 N=1500"
}

for config in "${configs[@]}"; do
    dialect=${config#*:} longest=$((1 << 20))
    [ "$dialect" = N=1500 ] && longest=$((1 << 18)) # a lost frame costs a block of 32, and Open-MX a second
    [ -z "${EMX_FULL:-}" ] || longest=$((1 << 24))
    NETLAB_DIALECTS=$dialect NETLAB_WATCH_OPTIONS="--not $(netlab_mac 2) --not $planter"
    # An agent that a program starts ends soon after it, with the counters.
    netlab_make 2 "${config%%:*}" && agent 1 "eth0:$dialect" || exit 1
    check "every length, $dialect" without_loss "$dialect"
    check "any order, $dialect" in_any_order "$dialect" 2000
    check "another order is noticed, $dialect" another_order "$dialect"
    [ "$dialect" != W ] || check "a bad frame is noticed" bad_frame
    check "every length, $dialect, 20 of 1000 frames lost" with_loss "$dialect" $longest
    check "any order, $dialect, 20 of 1000 frames lost" in_any_order "$dialect" 1000
    netlab_remove 2>/dev/null
done
# shellcheck disable=SC2034 # read by netlab_make
NETLAB_DIALECTS="W N=1500" NETLAB_WATCH_OPTIONS="--not $(netlab_mac 1) --not $(netlab_mac 2) --not $(netlab_mac 3)"
netlab_make 5 9000 || exit 1
export EMX_PEERS=$NETLAB_TMP/peers
mixed_peers >"$EMX_PEERS"
agent 4 eth0:W --peers "$EMX_PEERS" && agent 5 eth0:W --peers "$EMX_PEERS" || exit 1
check "mixed fabric, strangers that keep to themselves" all_to_all "$rude" $((1 << 20)) --strangers-apart
check "mixed fabric, all to all" all_to_all windows,offsets $((1 << 20))
check "mixed fabric, nothing is misjudged" nothing_misjudged 4 5
finish

#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# Messages of every size arrive intact, once and in order while an eBPF program loses 1 % and 5 % of
# the frames in both directions, in each dialect.
#
#   tests/netns/loss.sh [-n MESSAGES] [-s SEED] [-c MTU:DIALECT]... [-r PERMILLE]...
#                       [-l PERMILLE OF LARGE MESSAGES] [-e ENDPOINTS PER HOST]
#
# 2000 messages per dialect at 5 %; with EMX_FULL=1 10000 at both rates, three seeds, and more and longer
# messages. A failing run prints its seed; losses are random all the same.
cd "$(dirname "$0")/../.." || exit 1
. tests/support/netlab.sh
netlab_begin "$PWD/tests/netns/loss.sh" "$@"
. tests/support/traffic.sh
exchange=${EMX_EXCHANGE:-$plain/tests/netns/exchange}
messages=2000 seeds=(1) configs=() rates=() large=40 endpoints=16
[ -n "${EMX_FULL:-}" ] && messages=10000 seeds=(1 2 3) rates=(10 50) large=100 endpoints=4
while getopts n:s:c:r:l:e: option; do
    case $option in
    n) messages=$OPTARG ;;
    s) seeds=("$OPTARG") ;;
    c) configs+=("$OPTARG") ;;
    r) rates+=("$OPTARG") ;;
    l) large=$OPTARG ;;
    e) endpoints=$OPTARG ;;
    *) sed -n '3,10s/^# \{0,1\}//p' tests/netns/loss.sh >&2; exit 2 ;;
    esac
done
[ ${#configs[@]} -gt 0 ] || configs=(9000:N=9000 1500:N=1500 9000:W)
[ ${#rates[@]} -gt 0 ] || rates=(50)
CHECK_TELLS=1

# both SEED SEED: the two ranks; each ends well only if all it was to get arrived as it should.
both() {
    local meeting=$NETLAB_TMP/meeting other status
    rm -f "$meeting" && touch "$meeting"
    local arguments=(--meeting "$meeting" --messages "$messages" --large "$large" --endpoints "$endpoints"
                     --patience 500)
    netlab_bg 2 "$NETLAB_TMP/rank1" "$exchange" --rank 1 --peer "$(netlab_mac 1)" --seed "$1" "${arguments[@]}"
    other=$NETLAB_PID
    netlab_in 1 "$exchange" --rank 0 --peer "$(netlab_mac 2)" --seed "$2" "${arguments[@]}" 2>&1
    status=$?
    wait "$other" || status=1
    sed 's/^/rank 1: /' "$NETLAB_TMP/rank1"
    return $status
}

# enough_lost PERMILLE BEFORE HOST: the program has dropped at least half of what that rate makes of
# one frame for each message that came to the host; there were more frames than that.
enough_lost() {
    local lost
    lost=$(($(netlab_lost "$3") - $2))
    echo "host $3 lost $lost frames"
    [ $lost -ge $((messages / 2 * $1 / 1000 / 2)) ] || { echo "too few: the loss program does not work"; return 1; }
}

lossy() { # lossy PERMILLE SEED
    local before1 before2 host
    for host in 1 2; do
        tool $host omx_counters -c && netlab_loss $host "$1" || return
    done
    before1=$(netlab_lost 1) before2=$(netlab_lost 2)
    both "$2" "$2" || { echo "seed $2"; return 1; }
    enough_lost "$1" "$before1" 1 && enough_lost "$1" "$before2" 2 && says 'messages repeated' tool 1 omx_counters
}

# A fault must be seen: rank 1 sends another plan than rank 0 expects.
another_plan() { refuses 'instead of|got message' both 1 2; }

for config in "${configs[@]}"; do
    export EMX_BOARDS=eth0:${config#*:}
    # Agents that programs start end soon after them, with the counters.
    NETLAB_DIALECTS=${config#*:} netlab_make 2 "${config%%:*}" && agents "$EMX_BOARDS" "$EMX_BOARDS" || exit 1
    for rate in "${rates[@]}"; do
        for seed in "${seeds[@]}"; do
            check "$messages messages, MTU $config, $rate of 1000 frames lost, seed $seed" lossy "$rate" "$seed"
        done
    done
    [ "$config" != "${configs[0]}" ] || check "an exchange that does not go to plan is noticed" another_plan
    netlab_remove 2>/dev/null
done
finish

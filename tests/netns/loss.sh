#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# Messages of every size arrive intact, once and in order while an eBPF program loses 1 % and 5 % of
# the frames in both directions, in each dialect.
#
#   tests/netns/loss.sh [-n MESSAGES] [-s SEED] [-c MTU:DIALECT]... [-r PERMILLE]...
#                       [-l PERMILLE OF LARGE MESSAGES] [-e ENDPOINTS PER HOST]
#
# 10000 messages per dialect and rate; with EMX_FULL=1 further seeds, more and longer messages. A
# failing run prints its seed; losses are random all the same.
cd "$(dirname "$0")/../.." || exit 1
. tests/support/netlab.sh
netlab_begin "$PWD/tests/netns/loss.sh" "$@"
BENCH_BUILD=${EMX_BUILD:-$PWD/build}/plain
# shellcheck disable=SC2034 # read by netlab_make
NETLAB_WATCH=$BENCH_BUILD/tests/watch/wirewatch
. tests/bench/rounds.sh
exchange=${EMX_EXCHANGE:-$BENCH_BUILD/tests/netns/exchange}
messages=10000 seeds=(1) configs=() rates=() large=40
endpoints=16
[ -n "${EMX_FULL:-}" ] && seeds=(1 2 3) large=100 endpoints=4
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
[ ${#rates[@]} -gt 0 ] || rates=(10 50)
# shellcheck disable=SC2034 # read by expect.sh
EXPECT_TELLS=1
. tests/support/expect.sh

# both SEED SEED: the two ranks; each ends well only if all it was to get arrived as it should.
both() {
    local meeting=$NETLAB_TMP/meeting other status
    rm -f "$meeting" && touch "$meeting"
    local arguments=(--meeting "$meeting" --messages "$messages" --large "$large" --endpoints "$endpoints"
                     --patience 200)
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
        netlab_in $host "$BENCH_BUILD/tools/omx_counters" -c || return
    done
    netlab_loss 1 "$1" && netlab_loss 2 "$1" || return
    before1=$(netlab_lost 1) before2=$(netlab_lost 2)
    both "$2" "$2" || { echo "seed $2"; return 1; }
    enough_lost "$1" "$before1" 1 && enough_lost "$1" "$before2" 2 || return
    netlab_in 1 "$BENCH_BUILD/tools/omx_counters" | grep -E 'repeated|drop' >"$NETLAB_TMP/counters"
    cat "$NETLAB_TMP/counters"
    grep -q 'messages repeated' "$NETLAB_TMP/counters" || { echo "nothing was repeated"; return 1; }
}

# What goes wrong must be seen: rank 1 sends another plan than rank 0 expects.
another_plan() {
    local said
    said=$(both 1 2) && { echo "not noticed: $said"; return 1; }
    grep -E 'instead of|got message' <<<"$said" || { echo "ended for another reason: $said"; return 1; }
}

for config in "${configs[@]}"; do
    bench_config "$config" || exit 1
    for rate in "${rates[@]}"; do
        for seed in "${seeds[@]}"; do
            expect "$messages messages, MTU $config, $rate of 1000 frames lost, seed $seed" lossy "$rate" "$seed"
        done
    done
    bench_config_end
done
bench_config "${configs[0]}" && expect "an exchange that does not go to plan is noticed" another_plan
echo "$passed passed, $failed failed, 0 skipped"
[ "$failed" = 0 ]

#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# A one-way stream without loss causes no repeat, of messages or of pulls, in each dialect, with a
# receiver that is always there and with one that computes between its calls, helped or alone.
#
#   tests/netns/resends.sh [-t MS] [-n MEASUREMENTS OF MS PER LENGTH] [-c MTU:DIALECT]...
#
# That repeats are counted is checked too, on a link that loses frames.
cd "$(dirname "$0")/../.." || exit 1
. tests/support/netlab.sh
netlab_begin "$PWD/tests/netns/resends.sh" "$@"
BENCH_BUILD=${EMX_BUILD:-$PWD/build}/plain
# shellcheck disable=SC2034 # read by netlab_make
NETLAB_WATCH=$BENCH_BUILD/tests/watch/wirewatch
. tests/bench/rounds.sh
sizes=0,64,1K,4K,8K,16K,32K,100K time=150 rounds=1 configs=() passed=0 failed=0
[ -n "${EMX_FULL:-}" ] && rounds=14
while getopts t:n:c: option; do
    case $option in
    t) time=$OPTARG ;;
    n) rounds=$OPTARG ;;
    c) configs+=("$OPTARG") ;;
    *) sed -n '3,8s/^# \{0,1\}//p' tests/netns/resends.sh >&2; exit 2 ;;
    esac
done
[ ${#configs[@]} -gt 0 ] || configs=(9000:N=9000 1500:N=1500 9000:W)

stream() { # stream OPTION...: what both ranks print, a line per length; 0 when nothing was repeated
    local meeting=$NETLAB_TMP/meeting other status
    rm -f "$meeting" && touch "$meeting"
    local arguments=(--meeting "$meeting" --time "$time" --rounds "$rounds" "$@")
    netlab_bg 2 "$NETLAB_TMP/rank1" timeout 100 "$BENCH_BUILD/tests/netns/stream" --rank 1 \
        --peer "$(netlab_mac 1)" "${arguments[@]}"
    other=$NETLAB_PID
    netlab_in 1 timeout 100 "$BENCH_BUILD/tests/netns/stream" --rank 0 --peer "$(netlab_mac 2)" "${arguments[@]}" 2>&1
    status=$?
    wait "$other" || status=1
    sed 's/^/receiver: /' "$NETLAB_TMP/rank1"
    return $status
}

# One test for each length; a length that did not get its turn has failed, too.
streams() { # streams TITLE LENGTHS OPTION...
    local title=$1 list=$2 good wanted
    shift 2
    stream --lengths "$list" "$@" >"$NETLAB_TMP/out"
    good=$(grep -v '^receiver:' "$NETLAB_TMP/out" | grep -v ': 0 messages' | grep -c ' 0 repeats$')
    wanted=$(tr ',' '\n' <<<"$list" | wc -l)
    passed=$((passed + good)) failed=$((failed + wanted - good))
    echo "$title: $good of $wanted lengths without a repeat"
    [ "$good" = "$wanted" ] || sed 's/^/    /' "$NETLAB_TMP/out"
}

# The counters see repeats when there are some.
counts_repeats() {
    netlab_loss 2 50 || return
    stream --lengths 4K >"$NETLAB_TMP/out"
    netlab_loss_off 2
    grep -E '[1-9][0-9]* repeats' "$NETLAB_TMP/out" | grep -qv '^receiver'
}

for config in "${configs[@]}"; do
    bench_config "$config" || exit 1
    streams "MTU $config, receiver present" "$sizes"
    streams "MTU $config, receiver computes" "$sizes" --compute 30
    # Pulls are overdue each time it comes back, and their answers there.
    EMX_HELPER_MS=0 streams "MTU $config, receiver computes without help" 32K,100K --compute 5 --rounds 2
    streams "MTU $config, now and then a message, receiver computes for long" 64,4K,100K \
        --compute 250 --pause 90 --time 400 --rounds 1
    if counts_repeats; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "FAILED: MTU $config: no repeat is counted where frames are lost"
        sed 's/^/    /' "$NETLAB_TMP/out"
    fi
    bench_config_end
done
echo "$passed passed, $failed failed, 0 skipped"
[ "$failed" = 0 ]

# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# shellcheck shell=sh
# shellcheck disable=SC2034 # cards.sh reads $card and $meet_limit
# One of the two hosts of cards.sh: b sends mutated frames to a (mutants.c), first in dialect N, then in W. Programs of a
# take what is accepted (sink.c), one of them killed all the time; beside them messages of all classes are verified, between
# programs of a and between a and b. Arguments: a or b, the card, seconds of mutants, seed.
failed=0
me=$1
card=$2
seconds=$3
seed=$4
. /check.sh
. /hosts.sh
. /cards.sh
meet_limit=$((seconds + 900))
least=$((seconds * 50)) # frames that must have come in half of the time
own=02:00:00:00:00:0$me
PATH=/emx/tools:/emx/tests/qemu:$PATH
export EMX_DEVICE=kernel EMX_SPIN_US=0
# Words between programs of one host pass the module, too.
export OMX_DISABLE_SHARED=1

# ---- host a

# Messages of all classes with that board, over and over.
rounds() { # NAME MAC
	until [ -e /tmp/enough ]; do
		timeout 400 omx_perf -d "$2" -r 8 --patience 100 -w -V -P 0 -W 1 -T 0 -N 2 -S 2 -E 300000 -M 7 \
			>"/tmp/$1.log" 2>&1 || return
		echo >>"/tmp/$1.rounds"
	done
}

rounds_of() { wc -l <"/tmp/$1.rounds"; }
has_rounds() { [ "$(rounds_of "$1")" -ge "$2" ]; }

restless() { # ENDPOINT: its program never lives long
	until [ -e /tmp/enough ]; do
		timeout -s KILL 3 sink "$1"
	done
}

# shellcheck disable=SC2154 # eval sets them
traffic() {
	rm -f /tmp/enough
	: >/tmp/within.rounds
	: >/tmp/between.rounds
	for endpoint in 20 21; do
		sink $endpoint >/tmp/sink$endpoint 2>&1 &
		eval "sink$endpoint=$!"
	done
	restless 22 >/tmp/sink22 2>&1 &
	restless=$!
	serve
	rounds within "$own" &
	within=$!
	rounds between "$peer" &
	between=$!
	until_ok has_rounds within 1 && until_ok has_rounds between 1 && return
	cat /tmp/within.log /tmp/between.log
	return 1
}

frames() { cat /sys/class/net/eth0/statistics/rx_packets; }

have_come() { [ $(($(frames) - before)) -ge $least ]; }

enough_came() {
	echo "$(($(frames) - before)) frames came, $least are enough"
	have_come
}

ended_well() { # NAME PID ROUNDS-BEFORE
	wait "$2"
	status=$?
	echo "$(rounds_of "$1") rounds, $3 before the mutants"
	[ $status = 0 ] && has_rounds "$1" $(($3 + 1)) && return
	cat "/tmp/$1.log"
	return 1
}

lived() { # ENDPOINT PID
	kill "$2"
	wait "$2"
	status=$?
	cat "/tmp/sink$1"
	return $status
}

# In a short run one of them alone may get none of a class.
took_all_classes() {
	for class in tiny small medium large; do
		grep -qE " [1-9][0-9]* $class" /tmp/sink20 /tmp/sink21 || return
	done
}

no_endpoint_is_left() { [ "$(cat /sys/kernel/debug/ethermx/*/endpoints | wc -l)" = 0 ]; }

under_mutants() { # DIALECT
	check "dialect $1" omx_attach "eth0:$1"
	check "all frames sent are watched" watch --dangers --dialect "$1" /proc/self/ns/net
	check "both have a board" meet
	check "messages" traffic
	before=$(frames) rounds_within=$(rounds_of within) rounds_between=$(rounds_of between)
	check "mutants begin" meet
	check "mutants end" meet
	touch /tmp/enough
	check "mutants came" enough_came
	check "messages within the host went on and arrived" ended_well within $within "$rounds_within"
	check "messages between the hosts went on and arrived" ended_well between $between "$rounds_between"
	# shellcheck disable=SC2154 # traffic sets them
	{
		check "a program that takes mutants lives on" lived 20 "$sink20"
		check "a second program that takes mutants lives on" lived 21 "$sink21"
	}
	check "both programs took messages of all classes" took_all_classes
	wait $restless
	check "the other host has nothing more to say" meet
	kill $server
	check "no endpoint is left" until_ok no_endpoint_is_left
	check "nothing pinned" nothing_pinned
	sed -n '/^0 /!p' /sys/kernel/debug/ethermx/eth0/counters
	check "nothing dangerous was sent" nothing_forbidden
	check "detach" omx_attach -d eth0
}

leave_under_mutants() {
	check "dialect N" omx_attach eth0:N=9000
	before=$(frames)
	check "mutants begin once more" meet
	check "they come" until_ok have_come
	check "detach meanwhile" omx_attach -d eth0
	check "unload" rmmod ethermx
	check "mutants end" meet
}

# ---- host b

serve() {
	omx_perf -w -k -e 8 >/tmp/server 2>&1 &
	server=$!
}

mutants() { # DIALECT SECONDS MOST
	/mutants eth0 /seeds 02:00:00:00:00:0a "$2" "$3" "$seed" "$1" 20 21 22
}

send_mutants() { # DIALECT
	check "dialect $1" omx_attach "eth0:$1"
	check "both have a board" meet
	serve
	check "ready" meet
	# Losses in the card decide how far a short run comes.
	check "mutants" mutants "${1%%=*}" $((seconds / 2)) $((seconds / 2 + 120))
	check "that is all" meet
	check "the other host is done" meet
	kill $server
	check "no endpoint is left" until_ok no_endpoint_is_left
	check "detach" omx_attach -d eth0
}

# Nobody is there to take them, nor, soon, a board.
send_to_nobody() {
	check "unload" rmmod ethermx
	check "ready" meet
	mutants N 10 10
	status=$?
	check "mutants" [ $status -le 1 ]
	check "that is all" meet
}

# ---- both

hostname "host-$me"
check "card" load_card
check "interface" start_card
check "module loads" insmod /ethermx.ko
[ $failed = 0 ] || exit 1
check "the other host is there" meet
[ $failed = 0 ] || exit 1
case $me in
a)
	under_mutants N=9000
	under_mutants W
	least=300
	leave_under_mutants
	;;
b)
	send_mutants N=9000
	send_mutants W
	send_to_nobody
	;;
esac
exit $failed

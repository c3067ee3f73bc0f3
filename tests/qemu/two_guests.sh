# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# shellcheck shell=bash
# shellcheck disable=SC2154 # the includer sets dir and here
# Shared by the scripts that boot two guests back to back. The includer has set $dir and $here, and has included
# common.sh and boot.sh.

need_guests() {
	need qemu-system-x86_64 setpriv ethtool
	choose_kernel
}

# guest NAME NETDEV-OPTIONS [OPTION OF QEMU]...: with a card that has the address 02:00:00:00:00:0NAME. On the default
# machine ACPI computes where a card's interrupt goes, which takes a kernel that watches itself longer than it allows
# itself; q35 has a table.
guest() {
	local name=$1 options=$2
	shift 2
	EMX_GUEST_ENV="${EMX_GUEST_ENV:-} emx.keep" boot "$accel" "$limit" "$logs-$name" "$test,$name,${args// /,}" \
		-netdev "stream,id=net,${options}addr.type=unix,addr.path=$link/wire" \
		-machine q35 -device "$card,netdev=net,mac=02:00:00:00:00:0$name,romfile=" "$@"
}

# two_guests LOGS CARD SECONDS TEST ARGS [OPTION OF QEMU]...: builds what they need in $dir and runs guest/TEST.sh in both, with
# the arguments a or b and ARGS. Logs go to LOGS-a and LOGS-b; the options are the first guest's. Ends the script
# unless both pass.
two_guests() {
	local logs=$1 card=$2 limit=$3 test=$4 args=$5 link accel server name status_a=0 status_b=0
	shift 5
	need_guests
	mkdir -p "$logs-a" "$logs-b"
	"$here/prepare.sh" "$dir"
	accel=$(choose_accel)
	# Unix sockets have short names.
	link=$(mktemp -d "${TMPDIR:-/tmp}/emx-pair.XXXXXX")
	# shellcheck disable=SC2064 # that folder
	trap "rm -rf '$link'" EXIT
	echo "booting $EMX_KVER twice with $accel, at most $limit s"
	# One after the other: when two boot at once on few processors, now and then one never gets beyond its first timers.
	rm -f "$logs-b/result.log"
	guest b server=on, &
	server=$!
	until [ -s "$logs-b/result.log" ] || ! kill -0 $server 2>/dev/null; do
		# tidy-allow(sleep): between two looks whether the guest's test has begun
		sleep 0.1
	done
	guest a server=off, "$@" || status_a=$?
	wait $server || status_b=$?
	# The one that ended badly explains the other.
	[ $status_b = 0 ] || [ $status_a != 0 ] || judge $status_b "$logs-b" "$test,b,${args// /,}"
	[ $status_a = 0 ] || explain "$logs-b" >&2
	judge $status_a "$logs-a" "$test,a,${args// /,}"
	judge $status_b "$logs-b" "$test,b,${args// /,}"
	for name in a b; do
		echo "--- guest $name:"
		cat "$logs-$name/result.log"
	done
}

# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# shellcheck shell=sh
# The conformance suite over the module; arguments go to conform_engine, as --config N9000/2hosts. CASES is a file with names
# of cases: no others run then.
# Time limits of its cases are ten times as long: two emulated processors do what two real ones do in
# a tenth of the time.
failed=0
. /check.sh

hostname emxguest
export EMX_WATCH=/emx/tests/watch/wirewatch
load llc stp bridge veth && insmod /ethermx.ko || exit 1
if [ -n "${CASES:-}" ]; then
	for name in $(grep -v '^#' "$CASES"); do
		set -- "$@" --filter "$name"
	done
fi
check "conformance" /emx/tests/conform/conform_engine --device kernel --patience 10 --verbose "$@"
cat /sys/kernel/debug/ethermx/memory
[ "${EMX_COMMANDS:-}" != uring ] ||
	check "commands by io_uring" grep -qE '^[1-9][0-9]+ commands by io_uring' /sys/kernel/debug/ethermx/memory
check "nothing pinned" grep -qx '0 pages pinned' /sys/kernel/debug/ethermx/memory
check "unload" rmmod ethermx
exit $failed

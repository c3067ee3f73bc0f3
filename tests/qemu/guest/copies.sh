# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# shellcheck shell=sh
# EMP's promises of large messages hold over the module, by its counters: they leave from the program's pages, and each byte
# is copied once, into the memory of a receive that was posted first; short messages are none of them. The same memory,
# used again, is found pinned.
failed=0
. /check.sh
. /hosts.sh

paged() { account 'reply payloads sent as pages'; }
copied() { account 'reply payloads copied'; }
placed() { account 'bytes of pulls copied by the processor'; }
found() { account 'messages found their memory pinned'; }

mebibytes() { perf -S 1M -T 0 -N 5 -W 1; } # 12 of them, both ways

# The hosts share their counters; a frame that was repeated has its bytes copied once all the same.
copied_once() {
	pages=$(paged) copies=$(copied) bytes=$(placed)
	mebibytes || return
	echo "$(($(paged) - pages)) payloads sent as pages, $(($(copied) - copies)) copied; $(($(placed) - bytes)) bytes copied at receivers"
	[ "$(copied)" = "$copies" ] && [ "$(paged)" -gt "$pages" ] && [ $(($(placed) - bytes)) = $((12 * 1048576)) ]
}

found_again() {
	before=$(found) usual=$(cat /sys/module/ethermx/parameters/keep_ms)
	echo 600000 >/sys/module/ethermx/parameters/keep_ms # a slow guest may take longer than that for a message
	mebibytes && [ "$(found)" -gt "$before" ]
	again=$?
	echo "$usual" >/sys/module/ethermx/parameters/keep_ms
	return $again
}

eager() {
	pages=$(paged) bytes=$(placed)
	perf -S 0 -E 32769 -M 4 -T 0 -N 5 -W 1 && [ "$(paged)" = "$pages" ] && [ "$(placed)" = "$bytes" ]
}

hostname emxguest
export EMX_DEVICE=kernel
load veth
check "hosts" make_hosts
check "all frames sent are watched" watch --both /run/netns/a --dialect N=9000
check "module loads" insmod /ethermx.ko
check "attach" attach eth0:N=9000
[ $failed = 0 ] || exit 1

check "large messages leave from the program's pages, and are copied once" copied_once
check "memory that is used again is found pinned" found_again
check "messages up to 32 KiB are no large ones" eager
check "nothing pinned" nothing_pinned
check "nothing forbidden was sent" nothing_forbidden
check "detach" detach
check "unload" rmmod ethermx
check "hosts go" hosts_go
exit $failed

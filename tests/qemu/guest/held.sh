# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# shellcheck shell=sh
# For the tests of this folder: what the module holds, before and after. Source it behind hosts.sh.

# Pages pinned, areas of virtual memory and objects on the heap that functions of the module asked for, its users. The
# heap's objects are told apart by who asked, where the kernel was started with slub_debug=U,kmalloc-*; else none show. What a board needs
# may be here or there, as memory happens to be. KASAN keeps for a while what was freed, unless its cache is to shrink.
# A processor that idles keeps the address space of who ran last on it, though that was killed, and so what the kernel
# has allocated there for who wants to know of its changes. What a soft interrupt asks for is not that function's in which
# it came: sending a frame lets the kernel's own IP go on, for one, which then remembers a neighbour.
held() {
	for processor in /sys/devices/system/cpu/cpu[0-9]*; do
		taskset -c "${processor##*/cpu}" true
	done
	echo 1 >/proc/sys/vm/stat_refresh
	for cache in /sys/kernel/slab/kmalloc-*/shrink; do
		echo 1 >"$cache"
	done
	awk '/^nr_foll_pin_acquired/ { n += $2 } /^nr_foll_pin_released/ { n -= $2 } END { print n, "pages pinned" }' /proc/vmstat
	echo "$(grep '\[ethermx\]' /proc/vmallocinfo | grep -vcE 'attach|board') areas"
	cat /sys/kernel/debug/slab/kmalloc-*/alloc_traces 2>/dev/null | awk '
		/^ *[0-9]+ / { if (ours) sum += count; count = $1; ours = above = 0 }
		/softirq|irq_exit/ { above = 1 }
		/\[ethermx\]/ && !above { ours = 1 }
		END { if (ours) sum += count; print sum + 0, "objects" }'
	echo "$(cat /sys/module/ethermx/refcnt) users"
}

# Memory that was given back before may be freed a moment later.
remember() {
	held >/tmp/held
	until_ok settled
	askers >/tmp/held_askers
	cat /tmp/held
}

settled() {
	mv /tmp/held /tmp/earlier
	# tidy-allow(sleep): how long nothing more may be freed
	sleep 2
	held >/tmp/held
	cmp -s /tmp/earlier /tmp/held
}

# Nothing more is held. Less may be, where something was given back late.
as_before() {
	held >/tmp/now
	awk 'NR == FNR { was[$2 $3] = $1; next } $1 > was[$2 $3] { more = 1 } END { exit more }' /tmp/held /tmp/now
}

# Objects on the heap as lines "COUNT FUNCTION below FUNCTION": the one that asked the kernel for them, and ours that it was called by.
askers() {
	cat /sys/kernel/debug/slab/kmalloc-*/alloc_traces 2>/dev/null | awk '
		function name(word) { sub(/\+.*/, "", word); return word }
		/^ *[0-9]+ / { count = $1; asker = name($2); ours = $3 == "[ethermx]" ? asker : "" ; seen = 0 }
		/softirq|irq_exit/ { seen = 1 }
		/\[ethermx\]/ && !seen { seen = 1; sum[asker " below " (ours ? ours : name($1))] += count }
		END { for (way in sum) print sum[way], way }' | sort -k2
}

# Functions that have asked for more than was given back are told first, with how many objects.
nothing_lost() {
	until_ok as_before && return
	askers >/tmp/askers
	awk 'NR == FNR { n = $1; $1 = ""; was[$0] = n; next }
		{ n = $1; $1 = ""; if (n > was[$0]) print n - was[$0], "more objects:" $0 }' /tmp/held_askers /tmp/askers
	echo "were: $(tr '\n' ';' </tmp/held) are: $(tr '\n' ';' </tmp/now)"
	return 1
}

no_endpoint_is_left() { [ "$(cat /sys/kernel/debug/ethermx/*/endpoints | wc -l)" = 0 ]; }

# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# shellcheck shell=sh
# For the tests of this folder: what hosts send is judged, and how to wait for what happens.

# watch OPTION...: by wirewatch, from now on. A host whose namespace the test deletes must not be watched itself, which
# would keep it: "--both" of the other one hears it as well. The watcher is no job: no "wait" waits for it.
watch() {
	: >/tmp/watch # what it said the last time must not be taken for an answer
	(/emx/tests/watch/wirewatch --while $$ --ring 32768 "$@" >/tmp/watch 2>&1 </dev/null & echo $! >/tmp/watch.pid)
	until_ok grep -qE '^(watching|wirewatch:)' /tmp/watch
	grep -q '^watching' /tmp/watch && return
	cat /tmp/watch
	return 1
}

nothing_forbidden() { # and from now on nothing is judged
	kill "$(cat /tmp/watch.pid)"
	until_ok grep -q '^wirewatch:' /tmp/watch
	cat /tmp/watch
	grep -qE '^wirewatch: [1-9][0-9]* frames judged, .*, 0 violations$' /tmp/watch
}

until_ok() { # COMMAND...: until it succeeds, or hangs
	given_up=$(($(hundredths) + HUNG * 100))
	until "$@"; do
		[ "$(hundredths)" -lt $given_up ] || return 1
		# tidy-allow(sleep): between two looks at what another process does
		usleep 100000
	done
}

# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# shellcheck shell=sh
# For the tests of this folder: one line per check; the test begins with failed=0 and exits with it.
. /clock.sh

check() { # DESCRIPTION COMMAND...
	what=$1 check_began=$(hundredths)
	shift
	if "$@"; then echo "ok      $what ($(seconds_since "$check_began") s)"; else
		echo "NOT OK  $what ($(seconds_since "$check_began") s)"
		# shellcheck disable=SC2034 # the test reads it
		failed=1
	fi
}

# Modules of the kernel's own, by their order: those that a test of the same boot has left loaded stay.
load() { # MODULE...
	for module in "$@"; do
		[ -d "/sys/module/$module" ] || grep -qsx "$module" /built-in || insmod "/$module.ko" || return
	done
}

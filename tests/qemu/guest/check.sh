# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# shellcheck shell=sh
# For the tests of this folder: one line per check; the test begins with failed=0 and exits with it.

check() { # DESCRIPTION COMMAND...
	what=$1
	shift
	if "$@"; then echo "ok      $what"; else
		echo "NOT OK  $what"
		# shellcheck disable=SC2034 # the test reads it
		failed=1
	fi
}

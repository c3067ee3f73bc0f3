# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# shellcheck shell=dash
# The words in which tests in shell say what must hold: for bash, dash and busybox. Source it.
#
#   check_dir FOLDER                temporary files go there (/tmp)
#   check NAME COMMAND...           a test: the command succeeds; if not, the end of what it printed is shown
#   says PATTERN COMMAND...         it succeeds and prints that
#   ends STATUS PATTERN COMMAND...  it ends with that status and prints that
#   refuses PATTERN COMMAND...      it fails and prints that, which is not because of "timeout"
#   until_ok SECONDS COMMAND...     until it succeeds; the limit only tells what hangs: 20 times the usual and more
#   skip REASON [NUMBER]            so many tests (1) cannot run here; with CI=true or EMX_NO_SKIP=1 they have failed
#   finish                          prints "N passed, N failed, N skipped" and exits: 0, 1, or 77 if all were skipped
#
# A PATTERN is an extended regular expression for each line of it, all of which must be found; what was printed is in
# the file $said. Of variables, CHECK_ONLY is a pattern of the names to test. CHECK_TELLS=1 shows what holds, too, how
# long it took and the last line; CHECK_TELLS=all shows everything as it comes.
passed=0 failed=0 skipped=0
: "${CHECK_ONLY:=.}" "${CHECK_TELLS:=0}" "${CHECK_DIR:=/tmp}"
check_dir() { CHECK_DIR=$1 said=$1/said; }
check_dir "$CHECK_DIR"

check() {
	local name began status
	name=$1 began=0 status=0
	shift
	[ "$CHECK_ONLY" = . ] || printf '%s\n' "$name" | grep -qE -- "$CHECK_ONLY" || return 0
	[ "$CHECK_TELLS" = 0 ] || began=$(date +%s)
	if [ "$CHECK_TELLS" = all ]; then
		"$@" || status=$?
		: >"$CHECK_DIR/check"
	else
		"$@" >"$CHECK_DIR/check" 2>&1 || status=$?
	fi
	if [ $status = 0 ]; then
		passed=$((passed + 1))
		[ "$CHECK_TELLS" = 0 ] || echo "ok   $name ($(($(date +%s) - began)) s) $(tail -n 1 "$CHECK_DIR/check")"
	else
		failed=$((failed + 1))
		echo "FAIL $name"
		tail -n 40 "$CHECK_DIR/check" | sed 's/^/     | /'
	fi
	return 0
}

ends() {
	local wanted patterns pattern status
	wanted=$1 patterns=$2 status=0
	shift 2
	"$@" >"$said" 2>&1 || status=$?
	ended_with=$status
	[ "$CHECK_TELLS" = 0 ] || cat "$said"
	# shellcheck disable=SC2254 # refuses gives a pattern
	case $status in
	$wanted) ;;
	*) tell_said "status $status, not $wanted"; return 1 ;;
	esac
	while IFS= read -r pattern; do
		[ -z "$pattern" ] || grep -qE -- "$pattern" "$said" || { tell_said "nothing like /$pattern/"; return 1; }
	done <<-END
		$patterns
	END
}
tell_said() {
	[ "$CHECK_TELLS" != 0 ] || cat "$said"
	echo "$1"
}

says() { ends 0 "$@"; }

refuses() { ends '[!0]*' "$@" && { [ "$ended_with" != 124 ] || { echo "it hangs"; return 1; }; }; }

until_ok() {
	local tries
	tries=$(($1 * 50))
	shift
	until "$@" >"$CHECK_DIR/until" 2>&1; do
		tries=$((tries - 1))
		[ $tries -gt 0 ] || { cat "$CHECK_DIR/until"; echo "it never came to that: $*"; return 1; }
		sleep 0.02 # tidy-allow(sleep): between two looks at what another process does
	done
}

skip() {
	if [ "${CI:-}" = true ] || [ "${EMX_NO_SKIP:-0}" = 1 ]; then
		failed=$((failed + ${2:-1}))
		echo "FAIL, not to be skipped: $1"
	else
		skipped=$((skipped + ${2:-1}))
		echo "skipped: $1"
	fi
}

finish() {
	echo "$passed passed, $failed failed, $skipped skipped"
	[ $failed = 0 ] || exit 1
	[ $passed -gt 0 ] || exit 77
	exit 0
}

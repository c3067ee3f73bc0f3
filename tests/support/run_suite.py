#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""Runs the tests that meson.build files put into a suite, and counts what ran inside them.

usage: run_suite.py BUILD SUITE               runs it; BUILD is a folder below $EMX_BUILD
       run_suite.py --targets BUILD SUITE...  prints what ninja must build for these suites

A test that prints "N passed, N failed, N skipped" is counted so; a Catch2 program by its test
cases, of which one that says "skipped: NAME: REASON" is skipped; exit status 77 is a skip; anything
else is one test. Output of tests is passed through as it comes, so that what a time limit ends has
said what it did; the end says again what failed, since whoever prints only the tail of a log must
find it there.

EMX_UNDER is the beginning of a command under which the build's programs run: an emulator of their processor.
With EMX_NO_SKIP=1, which CI=true implies, a test that skips itself whole has failed, and so has a
case of a Catch2 program.
"""
import json
import os
import re
import select
import subprocess
import sys
import time

SUMMARY = re.compile(r"^(\d+) passed, (\d+) failed, (\d+) skipped$", re.M)
CATCH_ALL = re.compile(r"^All tests passed \(\d+ assertions? in (\d+) test cases?\)$", re.M)
CATCH_SOME = re.compile(r"^test cases:\s*(\d+) \|(.*)$", re.M)
CATCH_SKIPPED = re.compile(r"^skipped: \S+: \S", re.M)
CATCH_NONE = re.compile(r"^(No tests ran|test cases: 0)", re.M)
FAILURE = re.compile(r"^\s*(FAIL|NOT OK\b|not ok\b|.*(\bFAILED\b|\berror:|Sanitizer:|over its limit))")
EXIT_SKIP = 77
# A limit says only that a test hangs: those of meson.build files are for a quiet machine.
HUNG_AT_LEAST = 900
LINES_AGAIN, LINES_BEFORE, LINES_AFTER = 40, 4, 4


def catch_counts(line):
    """(passed, failed) of "test cases: 5 | 3 passed | 2 failed"; cases expected to fail pass."""
    found = {word: int(n) for n, word in re.findall(r"(\d+) (\w+)", line)}
    return found.get("passed", 0), found.get("failed", 0)


def catch_skips(output, passed, failed):
    """(passed, failed, skipped): Catch2 takes a case that skips itself for one that passes."""
    skips = len(CATCH_SKIPPED.findall(output))
    return (passed - skips, failed + skips, 0) if may_not_skip() else (passed - skips, failed, skips)


def may_not_skip():
    return os.environ.get("CI") == "true" or os.environ.get("EMX_NO_SKIP") == "1"


def count(output, status):
    """(passed, failed, skipped) of one finished test."""
    own = SUMMARY.findall(output)
    if own:
        passed, failed, skipped = map(int, own[-1])
    elif CATCH_ALL.search(output):
        passed, failed, skipped = catch_skips(output, int(CATCH_ALL.findall(output)[-1]), 0)
    elif CATCH_SOME.search(output):
        passed, failed, skipped = catch_skips(output, *catch_counts(CATCH_SOME.findall(output)[-1][1]))
    elif CATCH_NONE.search(output):
        passed, failed, skipped = 0, 1, 0
    elif status == EXIT_SKIP:
        return (0, 1, 0) if may_not_skip() else (0, 0, 1)
    else:
        return (1, 0, 0) if status == 0 else (0, 1, 0)
    if status not in (0, EXIT_SKIP) and failed == 0:
        failed = 1  # it crashed after its last check, or a sanitizer spoke at the end
    return passed, failed, skipped


def say_again(name, output):
    """The words of a failed test: the lines that name a failure and a few around each, else its last ones."""
    lines = [line for line in output.splitlines() if line.strip()]
    named = [n for n, line in enumerate(lines) if FAILURE.match(line)]
    kept = sorted({k for n in named for k in range(n - LINES_BEFORE, n + LINES_AFTER + 1)})
    shown = [lines[k] for k in kept if 0 <= k < len(lines)][:LINES_AGAIN] or lines[-LINES_AGAIN:]
    return [f"failed: {name}"] + ["  " + line for line in shown]


def run_passing_through(command, env, folder, limit):
    """Output and exit status of a command whose output is shown as it comes; it ends when all who hold its
    output have closed it, or after `limit` seconds (0: never)."""
    parts = []

    def show(part):
        parts.append(part)
        sys.stdout.buffer.write(part)
        sys.stdout.buffer.flush()

    end = time.monotonic() + limit
    with subprocess.Popen(command, env=env, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          stdin=subprocess.DEVNULL) as process:
        while select.select([process.stdout], [], [], max(0, end - time.monotonic()) if limit else None)[0]:
            part = os.read(process.stdout.fileno(), 1 << 16)
            if not part:
                status = process.wait()
                break
            show(part)
        else:
            process.kill()
            show(f"\nover its limit of {limit} s\n".encode())
            status = 1
    return b"".join(parts).decode(errors="replace"), status


def command_of(test, build):
    """Its words. A script runs as it is, and what it starts as well."""
    under = os.environ.get("EMX_UNDER", "").split()
    return [*under, *test["cmd"]] if under and test["cmd"][0].startswith(build + os.sep) else test["cmd"]


def run(test, build):
    """One test, started where `meson test` starts it: its counts, and what to say of its failure."""
    # UBSan would go on after what it finds, and the test pass.
    env = {"UBSAN_OPTIONS": "halt_on_error=1:print_stacktrace=1", **os.environ, **test["env"]}
    if may_not_skip():
        env["EMX_NO_SKIP"] = "1"
    command = command_of(test, build)
    print(f"== {test['name']}: {' '.join(command)}", flush=True)
    began = time.monotonic()
    output, status = run_passing_through(command, env, test["workdir"] or build,
                                         test["timeout"] and max(test["timeout"], HUNG_AT_LEAST))
    print("" if output.endswith("\n") else "\n", end="")
    result = count(output, status)
    print(f"-- {test['name']}: exit status {status}; {result[0]} / {result[1]} / {result[2]}; "
          f"{time.monotonic() - began:.0f} s", flush=True)
    return result, say_again(test["name"], output) if result[1] else []


def introspect(build, what):
    return json.loads(subprocess.check_output(["meson", "introspect", "--" + what, build]))


def tests_of(build, suites):
    """The tests of a build folder that are in one of the suites; an unknown suite ends the program."""
    listed = introspect(build, "tests")
    found = {s: [t for t in listed if any(n == s or n.endswith(":" + s) for n in t["suite"])] for s in suites}
    for suite, tests in found.items():
        if not tests:
            sys.exit(f"no test of {build} is in suite {suite}")
    return [test for tests in found.values() for test in tests]


def print_targets(build, suites):
    wanted = {target for test in tests_of(build, suites) for target in test["depends"]}
    for target in introspect(build, "targets"):
        if target["id"] in wanted:
            for name in target["filename"]:
                print(os.path.relpath(name, build))


def main():
    args = [a for a in sys.argv[1:] if a != "--targets"]
    if len(args) < 2 or (len(args) > 2 and len(args) == len(sys.argv) - 1):
        sys.exit(__doc__)
    build = os.path.abspath(os.path.join(os.environ.get("EMX_BUILD", "build"), args[0]))
    if len(args) < len(sys.argv) - 1:
        return print_targets(build, args[1:])
    total, failures = [0, 0, 0], []
    for test in tests_of(build, args[1:]):
        counts, failure = run(test, build)
        total = [a + b for a, b in zip(total, counts)]
        failures += failure
    print("\n".join(failures), end="\n" if failures else "")
    print(f"{total[0]} passed, {total[1]} failed, {total[2]} skipped")
    sys.exit(1 if total[1] else 0)


if __name__ == "__main__":
    main()

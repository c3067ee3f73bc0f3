# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""Builds what the chosen suites need, runs them side by side where they leave a processor free, and counts.

Started by tests/run, which documents the options. A suite is a command that ends with a line
"N passed, N failed, N skipped"; one that prints none, runs no test, or does not end has failed.
"""

import argparse
import json
import os
import re
import signal
import subprocess
import sys
import time

import builds
import release
import suites as tables

TOP = os.path.realpath(os.path.join(os.path.dirname(__file__), '..', '..'))
BUILD = os.environ['EMX_BUILD']
LOGS = os.path.join(BUILD, 'logs')
DURATIONS = os.path.join(BUILD, 'durations.json')
RUN_MESON = os.path.join('tests', 'support', 'run_suite.py')
TEST = re.compile(r'^ *(?:\| *)?(?:failed: |FAIL(?:ED)?:? |NOT OK +|not ok +)(.*)')
SUMMARY = re.compile(r'^(\d+) passed, (\d+) failed, (\d+) skipped$', re.M)
# A limit says only that a suite hangs: budgets are for a quiet machine, others may be much slower.
HUNG = 20
HUNG_AT_LEAST = 900


def read_durations():
    """Seconds that suites took last: {"ci": {name: seconds}, "full": ...}."""
    try:
        with open(DURATIONS, encoding='utf-8') as file:
            return json.load(file)
    except (OSError, ValueError):
        return {}


def remember(tier, name, seconds):
    durations = read_durations()
    durations.setdefault(tier, {})[name] = round(seconds)
    with open(DURATIONS + '.new', 'w', encoding='utf-8') as file:
        json.dump(durations, file, indent=1, sort_keys=True)
    os.replace(DURATIONS + '.new', DURATIONS)


def show_list(suites):
    """Names, budgets, and beside each budget the seconds of the last run here."""
    durations = read_durations()
    print(f'{"suite":14}{"CI":>8}{"last":>7}{"full":>8}{"last":>7}  command')
    for suite in suites.values():
        columns = ''
        for tier, budget in (('ci', suite.ci), ('full', suite.full)):
            columns += f'{budget or tables.ABSENT:>8}{durations.get(tier, {}).get(suite.name, ""):>7}'
        print(f'{suite.name:14}{columns}  {" ".join(suite.command)}')


class Running:
    """A suite that has been started, its output in a log."""

    def __init__(self, suite, full):
        self.suite, self.began, self.processor = suite, time.monotonic(), 0
        self.budget = suite.budget(full)
        self.log = os.path.join(LOGS, suite.name + '.log')
        command = [sys.executable, RUN_MESON, *suite.command[1:]] if suite.build else suite.command
        limit = max(HUNG * self.budget, HUNG_AT_LEAST) if self.budget else 0 # none
        with open(self.log, 'w', encoding='utf-8') as output:
            # timeout(1) leads a process group of its own and ends all of it.
            self.process = subprocess.Popen(['timeout', '-k', '30', str(limit), *command], cwd=TOP,
                                            stdin=subprocess.DEVNULL, stdout=output, stderr=output)

    def collect(self):
        """Once it has ended: takes its status, and the processor seconds of all it waited for."""
        _, status, used = os.wait4(self.process.pid, 0)
        self.process.returncode = os.waitstatus_to_exitcode(status)
        self.processor = used.ru_utime + used.ru_stime

    def verdict(self):
        """(passed, failed, skipped, note) once the process has ended."""
        with open(self.log, encoding='utf-8', errors='replace') as file:
            found = SUMMARY.findall(file.read())
        status, note = self.process.returncode, ''
        passed, failed, skipped = map(int, found[-1]) if found else (0, 1, 0)
        if not found:
            note = ' (no summary line)'
        elif passed + failed == 0:
            failed, note = 1, ' (it ran no test)'
        if status in (124, 137):
            note = ' (it hangs)'
        return passed, max(failed, int(status != 0)), skipped, note

    def tell(self):
        """Prints the verdict and, of a failure, the end of the log; returns the three counts."""
        seconds = time.monotonic() - self.began
        passed, failed, skipped, note = self.verdict()
        if not failed and self.budget and seconds > self.budget:
            note += f' (budget {self.budget} s)'
        word = 'FAIL' if failed else 'ok'
        print(f'{word:5}{self.suite.name:14}{passed:6} passed{failed:4} failed{skipped:4} skipped{seconds:7.0f} s'
              f'{self.processor:6.0f} s of processor{note}',
              flush=True)
        if failed:
            print(f'     log: {os.path.relpath(self.log, TOP)}')
            print('\n'.join('     | ' + line for line in what_failed(self.log)), flush=True)
        return (passed, failed, skipped), seconds


def what_failed(log):
    """Failures come first: a reader of a part of it reads the beginning. run_suite.py sums it up at its end, check.sh
    says it as it comes."""
    with open(log, encoding='utf-8', errors='replace') as file:
        lines = file.read().splitlines()
    for word in ('failed: ', 'FAIL'):
        first = next((n for n, line in enumerate(lines) if line.startswith(word)), None)
        if first is not None:
            return lines[first:first + 60]
    return lines[-40:]


def names_of(suite, log):
    """The suite's tests that failed, as "suite: test", or the suite where the log names none."""
    found = (TEST.match(line) for line in what_failed(log))
    return [f'{suite}: {test[1].strip()}' for test in found if test] or [suite]


def next_of(waiting, running, free, processors):
    """The first suite for which enough processors are free, and whose build is neither to come nor under way."""
    builds_left = {s.name for s in waiting} | {r.suite.name for r in running}
    return next((s for s in waiting if min(s.width, processors) <= free and s.needs not in builds_left), None)


def drop_those_without(build, waiting):
    """Tells of the suites that a failed build leaves out; returns those that stay."""
    for suite in waiting:
        if suite.needs == build:
            print(f'FAIL {suite.name}: not run, since {build} failed', flush=True)
    return [s for s in waiting if s.needs != build]


def run_all(chosen, full, processors, told):
    """Runs suites in their order, each as soon as enough processors are free and its build is there, and hands name,
    seconds and counts of each to `told`; returns the sums. What failed is named once more at the end, for a reader of
    the end."""
    waiting, running, sums, failures = list(chosen), [], [0, 0, 0], []
    try:
        while waiting or running:
            free = processors - sum(min(r.suite.width, processors) for r in running)
            following = next_of(waiting, running, free, processors)
            if following:
                waiting.remove(following)
                running.append(Running(following, full))
                continue
            pid = os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOWAIT).si_pid
            ended = next((r for r in running if r.process.pid == pid), None)
            if not ended: # a process that lost its parent, where we are the first of a container
                os.waitpid(pid, 0)
                continue
            ended.collect()
            running.remove(ended)
            counts, seconds = ended.tell()
            sums = [a + b for a, b in zip(sums, counts)]
            told(ended.suite.name, seconds, counts)
            if counts[1]:
                failures += names_of(ended.suite.name, ended.log)
                left = drop_those_without(ended.suite.name, waiting)
                sums[1] += len(waiting) - len(left)
                waiting = left
    finally:
        for left in running:
            left.process.terminate()
        print(''.join(f'failed: {name}\n' for name in failures), end='')
    return sums


def build():
    """True if the plain tree is built; tells the errors otherwise."""
    began, path = time.monotonic(), os.path.join(LOGS, 'build.log')
    try:
        with open(path, 'w', encoding='utf-8') as log:
            builds.build_plain(BUILD, log)
    except builds.BuildError:
        print(f'FAIL build: log {os.path.relpath(path, TOP)}\nfailed: build')
        with open(path, encoding='utf-8', errors='replace') as log:
            lines = log.read().splitlines()
        marked = {k for n, line in enumerate(lines) if re.search('FAILED|error:|ERROR', line) for k in range(n, n + 9)}
        print('\n'.join('     | ' + lines[k] for k in sorted(marked or range(len(lines))) if k < len(lines))[-8000:])
        return False
    print(f'ok   {"build":14}{time.monotonic() - began:45.0f} s', flush=True)
    return True


def sanitized(chosen):
    """A row for each build with a sanitizer that suites need: it takes what others, many of which wait, leave of the processors."""
    kinds = dict.fromkeys(s.build for s in chosen if s.needs)
    return [tables.Suite(f'build-{kind}', None, None, 1,
                         ('nice', '-n', '5', sys.executable, 'tests/runner/builds.py', kind,
                          *(s.meson_suite for s in chosen if s.build == kind))) for kind in kinds]


def run_suites(chosen, full):
    """Builds what they need and runs them; returns the sums."""
    tier = 'full' if full else 'ci'
    if not chosen:
        return 0, 0, 0
    return run_all(sanitized(chosen) + chosen, full, os.cpu_count(), lambda name, seconds, _: remember(tier, name, seconds)) \
        if build() else (0, 1, 0)


def run_release(rows):
    """Runs rows of tests/release/rows.conf, which build by themselves; returns the sums."""
    return run_all([row.suite() for row in rows], False, os.cpu_count(), lambda name, _, counts: release.keep(BUILD, name, counts))


def choose(options, suites):
    """The suites that the options ask for."""
    if options.changed is None:
        return tables.select(suites, options.full, options.suite)
    affected = tables.Affected(os.path.join(TOP, 'tests', 'affected.conf'), suites)
    files = tables.changed_files(TOP, options.changed)
    names = affected.suites_of(files)
    print(f'{len(files)} files changed; suites: {" ".join(s for s in suites if s in names) or "none"}', flush=True)
    return [s for s in suites.values() if s.name in names]


def main():
    parser = argparse.ArgumentParser(prog='tests/run', add_help=False)
    parser.add_argument('--full', action='store_true')
    parser.add_argument('--suite', action='append', default=[])
    parser.add_argument('--list', action='store_true')
    parser.add_argument('--changed', nargs='?', const='', default=None)
    parser.add_argument('--release', nargs='*', default=None)
    options = parser.parse_args()
    if options.release is not None and (options.full or options.suite or options.changed is not None):
        parser.error('--release runs its own rows (tests/release/rows.conf): leave the other options out')
    if options.changed is not None and options.suite:
        parser.error('--changed chooses the suites itself: leave --suite out')
    try:
        suites = tables.read_suites(os.path.join(TOP, 'tests', 'suites.conf'))
        if options.list:
            return show_list(suites)
        rows = None if options.release is None else release.choose(release.read_rows(), options.release)
        chosen = choose(options, suites) if rows is None else []
    except tables.TableError as error:
        sys.exit(f'tests/run: {error}')
    if options.full:
        os.environ['EMX_FULL'] = '1'
    if os.environ.get('CI') == 'true':
        os.environ['EMX_NO_SKIP'] = '1'
    os.makedirs(LOGS, exist_ok=True)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # ends what runs, as Ctrl-C does
    passed, failed, skipped = run_suites(chosen, options.full) if rows is None else run_release(rows)
    print(f'{passed} passed, {failed} failed, {skipped} skipped')
    return int(failed > 0)


if __name__ == '__main__':
    sys.exit(main())

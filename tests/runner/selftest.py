#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""The runner judges made-up suites as it says, and its tables have no hole."""

import contextlib
import importlib
import importlib.machinery
import importlib.util
import io
import os
import sys
import tempfile
import unittest
import unittest.mock

TOP = os.path.realpath(os.path.join(os.path.dirname(__file__), '..', '..'))
SCRATCH = tempfile.TemporaryDirectory()
os.environ['EMX_BUILD'] = SCRATCH.name

import main  # noqa: E402  it reads EMX_BUILD
import release  # noqa: E402
import suites as tables  # noqa: E402

os.makedirs(main.LOGS)


def suite(name, script, width=1, budget=100):
    return tables.Suite(name, budget, budget, width, ('sh', '-c', script))


def table(text, suites=None):
    """Reads a table with that text."""
    path = os.path.join(SCRATCH.name, 'table')
    with open(path, 'w', encoding='utf-8') as file:
        file.write(text)
    return tables.Affected(path, suites) if suites is not None else tables.read_suites(path)


class Verdicts(unittest.TestCase):
    def judged(self, script):
        running = main.Running(suite('made-up', script), False)
        running.process.wait()
        return running.verdict()[:3]

    def test_counts_are_those_of_the_last_summary(self):
        self.assertEqual(self.judged('echo "9 passed, 9 failed, 9 skipped"; echo "3 passed, 0 failed, 1 skipped"'), (3, 0, 1))

    def test_a_failure_is_one(self):
        self.assertEqual(self.judged('echo "3 passed, 2 failed, 0 skipped"; exit 1'), (3, 2, 0))

    def test_a_bad_status_is_a_failure(self):
        self.assertEqual(self.judged('echo "3 passed, 0 failed, 0 skipped"; exit 1'), (3, 1, 0))

    def test_no_summary_is_a_failure(self):
        self.assertEqual(self.judged('echo done'), (0, 1, 0))

    def test_what_failed_comes_first(self):
        self.judged('echo "ok one"; echo "FAIL two"; seq 100; echo "1 passed, 1 failed, 0 skipped"; exit 1')
        self.assertEqual(main.what_failed(os.path.join(main.LOGS, 'made-up.log'))[:2], ['FAIL two', '1'])

    def test_what_failed_is_named(self):
        log = os.path.join(main.LOGS, 'made-up.log')
        self.judged('echo "ok one"; echo "FAIL two"; echo "     | FAILED: three"; echo "1 passed, 2 failed, 0 skipped"; exit 1')
        self.assertEqual(main.names_of('mpi', log), ['mpi: two', 'mpi: three'])
        self.judged('echo "failed: ring"; exit 1')
        self.assertEqual(main.names_of('mpi', log), ['mpi: ring'])
        self.judged('echo done')
        self.assertEqual(main.names_of('mpi', log), ['mpi'])

    def test_no_test_is_a_failure(self):
        self.assertEqual(self.judged('echo "0 passed, 0 failed, 4 skipped"'), (0, 1, 4))

    def test_what_hangs_is_ended_and_fails(self):
        main.HUNG_AT_LEAST, before = 1, main.HUNG_AT_LEAST
        try:
            running = main.Running(suite('hangs', 'echo "1 passed, 0 failed, 0 skipped"; cat /dev/zero >/dev/null', budget=0.05),
                                   False)
            running.process.wait()
            self.assertEqual(running.verdict(), (1, 1, 0, ' (it hangs)'))
        finally:
            main.HUNG_AT_LEAST = before


class Counts(unittest.TestCase):
    """Cases of a Catch2 program that skip themselves."""
    CATCH = 'skipped: one__case: the emulator does not\n{}\n'

    def counted(self, line, no_skip='0'):
        loader = importlib.machinery.SourceFileLoader('run_suite', os.path.join(TOP, 'tests', 'support', 'run_suite.py'))
        run_suite = importlib.util.module_from_spec(importlib.util.spec_from_loader('run_suite', loader))
        loader.exec_module(run_suite)
        with unittest.mock.patch.dict(os.environ, EMX_NO_SKIP=no_skip, CI=''):
            return run_suite.count(self.CATCH.format(line), 0)

    def test_they_have_not_passed(self):
        self.assertEqual(self.counted('All tests passed (30 assertions in 7 test cases)'), (6, 0, 1))
        self.assertEqual(self.counted('test cases: 7 | 5 passed | 2 failed'), (4, 2, 1))

    def test_they_have_failed_where_nothing_may_be_skipped(self):
        self.assertEqual(self.counted('All tests passed (30 assertions in 7 test cases)', no_skip='1'), (6, 1, 0))


class Order(unittest.TestCase):
    """A suite that needs the machine never runs beside another; two that leave a processor free do."""

    def run_all(self, *chosen):
        return main.run_all(chosen, False, 2, lambda name, seconds, _: main.remember('ci', name, seconds))

    def test_two_run_side_by_side(self):
        # Each waits for the other: in turn they would hang.
        fifo = os.path.join(SCRATCH.name, 'fifo')
        os.mkfifo(fifo)
        end = 'echo "1 passed, 0 failed, 0 skipped"'
        self.assertEqual(self.run_all(suite('reads', f'read line <{fifo}; {end}'), suite('writes', f'echo x >{fifo}; {end}')),
                         [2, 0, 0])

    def test_a_wide_one_is_alone(self):
        held = os.path.join(SCRATCH.name, 'held')
        script = f'mkdir {held} && rmdir {held} && echo "1 passed, 0 failed, 0 skipped"'
        self.assertEqual(self.run_all(*(suite(f'wide{i}', script, width=2) for i in range(9))), [9, 0, 0])

    def test_a_suite_waits_for_its_build(self):
        needs, build = tables.Suite('needs', 1, 1, 1, ('meson', 'asan', 'x')), suite('build-asan', 'true')
        under_way = main.Running(build, False)
        self.assertIs(main.next_of([needs, build], [], 2, 2), build)
        self.assertIsNone(main.next_of([needs], [under_way], 1, 2))
        self.assertIs(main.next_of([needs], [], 2, 2), needs)
        under_way.process.wait()

    def test_a_suite_without_its_build_has_failed(self):
        needs = tables.Suite('needs', 1, 1, 1, ('meson', 'asan', 'x'))
        with contextlib.redirect_stdout(io.StringIO()) as printed:
            self.assertEqual(self.run_all(needs, suite('build-asan', 'echo "0 passed, 1 failed, 0 skipped"; exit 1')), [0, 2, 0])
        self.assertEqual(printed.getvalue().splitlines()[-1], 'failed: build-asan')

    def test_each_sanitizer_is_one_build(self):
        rows = main.sanitized([tables.Suite(name, 1, 1, 1, ('meson', kind, name)) for name, kind in (('a', 'asan'), ('b', 'plain'), ('c', 'asan'))])
        self.assertEqual([(r.name, r.command[-3:]) for r in rows], [('build-asan', ('asan', 'a', 'c'))])

    def test_durations_are_kept(self):
        self.run_all(suite('kept', 'echo "1 passed, 0 failed, 0 skipped"'))
        self.assertIn('kept', main.read_durations()['ci'])


class Tables(unittest.TestCase):
    def setUp(self):
        self.suites = tables.read_suites(os.path.join(TOP, 'tests', 'suites.conf'))
        self.affected = tables.Affected(os.path.join(TOP, 'tests', 'affected.conf'), self.suites)

    def test_every_file_has_a_row(self):
        files = tables.git(TOP, 'ls-files', '--cached', '--others', '--exclude-standard')
        self.assertEqual([f for f in files if not self.affected.row_of(f)], [])

    def test_every_folder_of_the_product_has_a_row_of_its_own_or_above(self):
        for folder in ('driver', 'libmx', 'tools', 'tests', 'compat'):
            for name in os.listdir(os.path.join(TOP, folder)):
                if os.path.isdir(os.path.join(TOP, folder, name)) and name != '__pycache__':
                    self.assertTrue(self.affected.suites_of([f'{folder}/{name}/x']), f'{folder}/{name}')

    def test_every_suite_of_the_ci_tier_stands_in_a_row(self):
        named = {name for names in self.affected.table.values() for name in names}
        self.assertEqual({s.name for s in self.suites.values() if s.ci} - named, set())

    def test_every_suite_is_documented(self):
        with open(os.path.join(TOP, 'docs', 'testing.md'), encoding='utf-8') as file:
            cells = [line.split('|')[1] for line in file if line.startswith('| ')]
        documented = {name.strip() for cell in cells for name in cell.split(',')}
        self.assertEqual(set(self.suites) - documented, set())

    def test_the_longest_row_decides(self):
        found = table('a one\na/b two\n', {'one': 0, 'two': 0})
        self.assertEqual(found.suites_of(['a/x']), {'one'})
        self.assertEqual(found.suites_of(['a/b/c/x']), {'two'})
        with self.assertRaisesRegex(tables.TableError, 'no row for c/x'):
            found.suites_of(['c/x'])

    def test_bad_rows_are_refused(self):
        for text in ('a 1 2 1\n', 'a 1 x 1 true\n', 'a - - 1 true\n', 'a 1 1 1 meson plain\n', 'a 1 1 1 true\na 1 1 1 true\n'):
            with self.assertRaisesRegex(tables.TableError, r':\d+: wanted'):
                table(text)
        with self.assertRaisesRegex(tables.TableError, 'no suite "two"'):
            table('a two\n', {'one': 0})

    def test_an_unknown_suite_is_told(self):
        with self.assertRaisesRegex(tables.TableError, 'no suite "nonsense": see ./tests/run --list'):
            tables.select(self.suites, False, ['nonsense'])


class Release(unittest.TestCase):
    """./tests/run --release, its rows and their table in docs/install.md."""

    def setUp(self):
        self.rows = release.read_rows()

    def test_table_and_rows_agree(self):
        documented = release.documented(os.path.join(TOP, 'docs', 'install.md'))
        self.assertEqual([cells[:-1] for cells in documented.values()], [row.cells for row in self.rows.values()])
        for cells in documented.values():
            self.assertRegex(cells[-1], release.RESULT)

    def test_every_row_has_its_script_and_its_own_name(self):
        for row in self.rows.values():
            self.assertTrue(os.access(os.path.join(TOP, row.command[0]), os.X_OK), row)
            if row.command[0].startswith('tests/release/'):
                self.assertEqual(row.command[1], row.name)

    def test_a_row_has_no_limit(self):
        running = main.Running(release.Row(tuple('abcdef'), ('sh', '-c', 'echo "1 passed, 0 failed, 0 skipped"')).suite(), False)
        self.assertEqual(running.process.args[3], '0')
        running.process.wait()
        self.assertEqual(running.tell()[0], (1, 0, 0))

    def test_results_are_kept(self):
        release.keep(SCRATCH.name, 'clang', (3, 0, 1))
        self.assertRegex(release.kept(SCRATCH.name)['clang'], release.RESULT)
        self.assertRegex('\n'.join(release.table(self.rows, release.kept(SCRATCH.name))), r'\| clang \|.*: 3 / 0 / 1 \|')

    def test_an_unknown_row_is_told(self):
        with self.assertRaisesRegex(tables.TableError, 'no row "nonsense" in tests/release/rows.conf: .*aarch64'):
            release.choose(self.rows, ['nonsense'])


class Soak(unittest.TestCase):
    def test_what_failed_is_named(self):
        loader = importlib.machinery.SourceFileLoader('soak', os.path.join(TOP, 'tests', 'soak'))
        soak = importlib.util.module_from_spec(importlib.util.spec_from_loader('soak', loader))
        loader.exec_module(soak)
        log = ['ok   unit   3 passed', 'FAIL mpi   1 passed   1 failed', '     | failed: ring', 'failed: mpi: ring', 'failed: build']
        self.assertEqual(soak.failures(log, 1), ['mpi: ring', 'build'])
        self.assertEqual(soak.failures(['ok   unit   3 passed'], 0), [])
        self.assertEqual(soak.failures([], 2), ['exit status 2'])


class Faults(unittest.TestCase):
    """tests/mutations: a change of a line that a fault stands in must change the fault."""

    def setUp(self):
        sys.path.insert(0, os.path.join(TOP, 'tests', 'mutations'))
        self.mutations = importlib.import_module('mutations')
        self.faults = self.mutations.read_faults(self.mutations.HERE / 'faults')

    def test_every_fault_fits_the_tree(self):
        files = {}
        for name in [f.file for f in self.faults] + ['meson.build', 'tests/qemu/guest/check.sh', 'driver/Kbuild', 'driver/linux/main.c']:
            with open(os.path.join(TOP, name), encoding='utf-8') as file:
                files[name] = file.read()
        self.mutations.mutate(files, self.faults, 'somewhere')
        for fault in self.faults:
            self.assertIn(f'emx_fault({fault.number})', files[fault.file])

    def test_what_does_not_fit_is_told(self):
        fault = self.mutations.Fault(1, 'made-up', 'a.c', good='x = 1;')
        self.assertEqual(fault.apply('x = 1;'), '{ if (!emx_fault(1)) { x = 1; } }')
        with self.assertRaisesRegex(self.mutations.FaultError, 'made-up: a.c has not once: x = 1;'):
            fault.apply('x = 2;')


if __name__ == '__main__':
    sys.stderr = sys.stdout
    unittest.main(verbosity=0)

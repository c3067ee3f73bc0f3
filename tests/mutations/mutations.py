# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""Faults of one line in a copy of the tree, one build for all, and the suites that find each.

Started by tests/mutations/run, which documents the options.
"""

import argparse
import dataclasses
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

TOP = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(TOP / 'tests/runner'))

import suites as tables  # pylint: disable=wrong-import-position

HERE = TOP / 'tests/mutations'
# They look at the text of the tree, or at what the mutated tree has for its own sake.
BLIND = {'tidy', 'abi', 'mpich'}
KERNEL_PARAMETER = '''
int emx_fault_number;
module_param_named(emx_fault, emx_fault_number, int, 0444);
'''
# In a guest EMX_FAULT is a word of the kernel's command line, which init has in its environment. insmod becomes a function:
# busybox's shell looks for no program of a name that is an applet of its own.
INSMOD = '''
insmod() {
	case $1 in
	*ethermx.ko) set -- "$@" emx_fault="${EMX_FAULT:-0}" ;;
	esac
	/bin/busybox insmod "$@"
}

'''


class FaultError(Exception):
    """A record that does not fit the tree; the text names the remedy."""


@dataclasses.dataclass
class Fault:
    """A record of the file faults."""
    number: int
    name: str
    file: str
    behind: str = ''
    good: str = ''
    bad: str = ''

    def apply(self, text):
        """The file's text with the fault, shown when its number is chosen."""
        start = text.find(self.behind)
        if start < 0 or text[start:].count(self.good) < 1 or (not self.behind and text.count(self.good) != 1):
            raise FaultError(f'{self.name}: {self.file} has not once: {self.good}')
        at = text.index(self.good, start)
        if self.bad:
            new = f'(emx_fault({self.number}) ? ({self.bad}) : ({self.good}))'
        else:
            new = f'{{ if (!emx_fault({self.number})) {{ {self.good} }} }}'
        return text[:at] + new + text[at + len(self.good):]


def read_faults(path):
    """All records in their order; numbers are places in the file, from 1."""
    faults = []
    for line in path.read_text(encoding='utf-8').splitlines():
        if line.startswith('#') or not line.strip():
            continue
        mark, rest = line[:2], line[2:]
        if mark == '@ ':
            faults[-1].behind = rest
        elif mark == '- ':
            faults[-1].good = rest
        elif mark == '+ ':
            faults[-1].bad = rest
        else:
            name, file = line.split()
            faults.append(Fault(len(faults) + 1, name, file))
    return faults


def put_before(text, mark, more, file):
    """A text with more before a mark that must be in it."""
    if mark not in text:
        raise FaultError(f'{file}: no "{mark}" to put something before')
    return text.replace(mark, more + mark, 1)


def mutate(files, faults, tree):
    """Puts all faults into the files (texts by name) of a tree, and what chooses one of them."""
    for fault in faults:
        files[fault.file] = fault.apply(files[fault.file])
    header = "add_project_arguments('-include', meson.project_source_root() / 'tests/mutations/fault.h', " \
             "language: ['c', 'cpp'])\n"
    for file, mark, more in (('meson.build', "add_project_arguments('-D_GNU_SOURCE'", header),
                             ('tests/qemu/guest/check.sh', 'check() {', INSMOD.lstrip('\n'))):
        files[file] = put_before(files[file], mark, more, file)
    files['driver/Kbuild'] += f'ccflags-y += -include {tree}/tests/mutations/fault.h\n'
    files['driver/linux/main.c'] += KERNEL_PARAMETER


def make_tree(folder, faults):
    """A mutated copy of the tree below `folder`; files that have not changed keep their time, and builds stay."""
    tree = folder / 'tree'
    names = subprocess.run(['git', '-C', TOP, 'ls-files', '-z', '--cached', '--others', '--exclude-standard'],
                           check=True, capture_output=True, text=True).stdout.split('\0')
    # Latin-1 has a letter for each byte, so that captures pass, too.
    files = {n: (TOP / n).read_bytes().decode('latin-1') for n in names if n and (TOP / n).is_file()}
    mutate(files, faults, tree)
    for name, text in files.items():
        path = tree / name
        if not path.exists() or path.read_bytes().decode('latin-1') != text:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(text.encode('latin-1'))
            shutil.copymode(TOP / name, path)
    for path in tree.rglob('*'):
        name = str(path.relative_to(tree))
        if path.is_file() and name not in files and not name.startswith('build/'):
            path.unlink()
    return tree


def order_of(tree, fault, affected, suites):
    """Names of the suites of --changed, the quick ones first."""
    try:
        known = json.loads((TOP / 'build/durations.json').read_text(encoding='utf-8')).get('ci', {})
    except (OSError, ValueError):
        known = {}
    names = [n for n in affected.suites_of([fault.file]) if n not in BLIND and suites[n].ci]
    return sorted(names, key=lambda n: known.get(n, suites[n].ci))


def has_failed(path, began):
    """True if the log of a suite that began then names a failed test."""
    try:
        if path.stat().st_mtime < began:
            return False
        with open(path, encoding='utf-8', errors='replace') as file:
            return any(line.startswith('FAIL ') for line in file)
    except FileNotFoundError:
        return False


def has_ended(process):
    """True if a process ends within a second."""
    try:
        process.wait(timeout=1)
        return True
    except subprocess.TimeoutExpired:
        return False


def run_suite(tree, name, number, log):
    """True if the suite passes with that fault (0: none). It is ended at its first failure: others may hang for long."""
    environment = dict(os.environ, EMX_FAULT=str(number), EMX_GUEST_ENV=f'EMX_FAULT={number}')
    environment.pop('EMX_BUILD', None)
    began, ended = time.time(), False
    with tempfile.TemporaryFile('w+', encoding='utf-8', errors='replace') as output:
        with subprocess.Popen([tree / 'tests/run', '--suite', name], env=environment, stdin=subprocess.DEVNULL,
                              stdout=output, stderr=subprocess.STDOUT) as suite:
            while not ended and not has_ended(suite):
                if has_failed(tree / f'build/logs/{name}.log', began):
                    ended = True
                    suite.terminate()
        output.seek(0)
        told = output.read()
    log.write(f'== {name}, fault {number}\n{told}' + ('ended at its first failure\n' if ended else ''))
    log.flush()
    if 'FAIL build' in told:
        raise FaultError('the mutated tree does not build:\n' + told[-3000:])
    return suite.returncode == 0 and not ended


def find(tree, fault, names, log):
    """The first suite that fails, or None."""
    for name in names:
        if not run_suite(tree, name, fault.number, log):
            return name
    return None


def main():
    parser = argparse.ArgumentParser(prog='tests/mutations/run', add_help=False)
    parser.add_argument('--list', action='store_true')
    parser.add_argument('--control', action='store_true')
    parser.add_argument('names', nargs='*')
    options = parser.parse_args()
    try:
        faults = read_faults(HERE / 'faults')
        suites = tables.read_suites(TOP / 'tests/suites.conf')
        affected = tables.Affected(TOP / 'tests/affected.conf', suites)
        unknown = set(options.names) - {f.name for f in faults}
        if unknown:
            raise FaultError(f'no fault {" ".join(sorted(unknown))}: see tests/mutations/run --list')
        chosen = [f for f in faults if not options.names or f.name in options.names]
        if options.list:
            for fault in faults:
                print(f'{fault.number:3} {fault.name:26} {fault.file}')
            return 0
        folder = TOP / 'build/mutations'
        tree = make_tree(folder, faults)
        missed = 0
        with open(folder / 'log', 'w', encoding='utf-8') as log:
            if options.control:
                for name in sorted({n for f in chosen for n in order_of(tree, f, affected, suites)}):
                    if not run_suite(tree, name, 0, log):
                        raise FaultError(f'{name} fails without a fault: {folder}/log')
            for fault in chosen:
                began = time.monotonic()
                suite = find(tree, fault, order_of(tree, fault, affected, suites), log)
                missed += suite is None
                print(f'{"found " if suite else "MISSED"} {fault.number:3} {fault.name:26} {suite or "-":14}'
                      f'{time.monotonic() - began:6.0f} s', flush=True)
    except (FaultError, tables.TableError) as error:
        sys.exit(f'tests/mutations/run: {error}')
    print(f'{len(chosen) - missed} passed, {missed} failed, 0 skipped')
    return int(missed > 0)


if __name__ == '__main__':
    sys.exit(main())

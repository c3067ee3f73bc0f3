# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""The tables of the runner: suites (tests/suites.conf), and which of them a change can affect (tests/affected.conf)."""

import os
import subprocess
from dataclasses import dataclass

ABSENT = '-'


class TableError(Exception):
    """A line of a table that cannot be read, or a name that no table has; the text names the remedy."""


@dataclass(frozen=True)
class Suite:
    """One row: budgets in seconds of the CI tier and of the full one (None: not in it), how many processors it
    keeps busy (part of one where it mostly waits), and its command, words that begin with "meson BUILD" when meson.build files hold its tests."""
    name: str
    ci: int | None
    full: int | None
    width: float
    command: tuple

    @property
    def build(self):
        """The build folder whose tests it runs, or None for a script."""
        return self.command[1] if self.command[0] == 'meson' else None

    @property
    def needs(self):
        """The name of the build that must have been made before, beside other suites; all of these have the plain one."""
        return None if self.build in (None, 'plain') else f'build-{self.build}'

    @property
    def meson_suite(self):
        return self.command[2] if self.build else None

    def budget(self, full):
        """Seconds in that tier; a suite that is only in the other one has the other's."""
        return (self.full or self.ci) if full else (self.ci or self.full)


def rows(path):
    """(line number, words) of each line that is neither empty nor a comment."""
    with open(path, encoding='utf-8') as file:
        for number, line in enumerate(file, 1):
            words = line.split('#', 1)[0].split()
            if words:
                yield number, words


def read_suites(path):
    """All suites by name, in the order of the file."""
    suites = {}
    for number, words in rows(path):
        try:
            name, ci, full, width, *command = words
            budgets = [None if text == ABSENT else int(text) for text in (ci, full)]
            suite = Suite(name, *budgets, float(width), tuple(command))
        except ValueError:
            raise TableError(f'{path}:{number}: wanted: name, CI budget, full budget, processors, command') from None
        if not command or (suite.build and len(command) != 3) or not any(budgets) or name in suites:
            raise TableError(f'{path}:{number}: wanted: a new name, a budget, "meson BUILD SUITE" or a command')
        suites[name] = suite
    return suites


def select(suites, full, names):
    """The suites of a tier, or those asked for by name."""
    for name in names:
        if name not in suites:
            raise TableError(f'no suite "{name}": see ./tests/run --list')
    return [s for s in suites.values() if (s.name in names if names else (s.full if full else s.ci))]


class Affected:
    """The suites that a change of a file can affect: the row with the longest folder (or file) that holds it."""

    def __init__(self, path, suites):
        self.path = path
        self.table = {}
        for number, (place, *names) in rows(path):
            unknown = [name for name in names if name not in suites]
            if unknown or place in self.table:
                raise TableError(f'{path}:{number}: ' + (f'no suite "{unknown[0]}"' if unknown else f'{place} again'))
            self.table[place] = names

    def row_of(self, file):
        """The place whose row decides, or None: the table has a hole."""
        place = file
        while place not in self.table and place:
            place = os.path.dirname(place)
        return place if place in self.table else None

    def suites_of(self, files):
        """Names of suites; an unknown file ends in a TableError that names it."""
        found = set()
        for file in files:
            place = self.row_of(file)
            if place is None:
                raise TableError(f'{self.path}: no row for {file}: name the suites that a change of it can affect')
            found.update(self.table[place])
        return found


def git(top, *words):
    """Lines that git prints."""
    result = subprocess.run(['git', '-C', top, *words], capture_output=True, text=True, check=False)
    if result.returncode:
        raise TableError(f'git {" ".join(words)}: {result.stderr.strip()}')
    return result.stdout.splitlines()


def changed_files(top, base):
    """Files that differ from a commit, those git does not know yet among them. Without a commit: from the last
    one, or from the one before if all is committed."""
    new = git(top, 'ls-files', '--others', '--exclude-standard')
    if not base:
        return changed_files(top, 'HEAD') or changed_files(top, 'HEAD~1')
    return sorted({*git(top, 'diff', '--name-only', '--no-renames', base, '--'), *new})

# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""The rows of tests/release/rows.conf: builds as users make them, in the places where users are.

./tests/run --release runs them one after the other, without a limit of time, and keeps the newest result of each.
`python3 tests/runner/release.py` prints the table of docs/install.md with these results.
"""

import json
import os
import re
import time
from dataclasses import dataclass

import suites as tables

TOP = os.path.realpath(os.path.join(os.path.dirname(__file__), '..', '..'))
ROWS = os.path.join(TOP, 'tests', 'release', 'rows.conf')
HEAD = ('row', 'distribution', 'compiler', 'mode', 'kernel', 'architecture', 'newest result')
RESULT = re.compile(r'^(\d{4}-\d\d-\d\d: \d+ / \d+ / \d+|not run yet)$')


@dataclass(frozen=True)
class Row:
    """One build: the cells that say which, and the command that makes and tests it."""
    cells: tuple
    command: tuple

    @property
    def name(self):
        return self.cells[0]

    def suite(self):
        """As the runner takes it: without a budget, and alone."""
        return tables.Suite(self.name, None, None, os.cpu_count(), self.command)


def read_rows(path=ROWS):
    """All rows by name, in the order of the file."""
    rows = {}
    for number, words in tables.rows(path):
        cells, command = tuple(words[:6]), tuple(words[6:])
        if not command or cells[0] in rows:
            raise tables.TableError(f'{path}:{number}: wanted: a new name, {", ".join(HEAD[1:6])}, command')
        rows[cells[0]] = Row(tuple(cell.replace('_', ' ') for cell in cells), command)
    return rows


def choose(rows, names):
    """Those rows, or all without a name."""
    for name in names:
        if name not in rows:
            raise tables.TableError(f'no row "{name}" in tests/release/rows.conf: {" ".join(rows)}')
    return [row for row in rows.values() if not names or row.name in names]


def kept(build):
    """Newest results by row."""
    try:
        with open(os.path.join(build, 'release', 'results.json'), encoding='utf-8') as file:
            return json.load(file)
    except (OSError, ValueError):
        return {}


def keep(build, name, counts):
    """Remembers the counts of a row that has run."""
    os.makedirs(os.path.join(build, 'release'), exist_ok=True)
    results = kept(build)
    results[name] = f'{time.strftime("%Y-%m-%d")}: {" / ".join(map(str, counts))}'
    with open(os.path.join(build, 'release', 'results.json'), 'w', encoding='utf-8') as file:
        json.dump(results, file, indent=1)


def documented(path):
    """The cells of each row of the table in a document, by the row's name."""
    with open(path, encoding='utf-8') as file:
        lines = file.read().splitlines()
    head = f'| {" | ".join(HEAD)} |'
    if head not in lines:
        raise tables.TableError(f'{path}: no table with the head {head}')
    found = {}
    for line in lines[lines.index(head) + 2:]:
        if not line.startswith('|'):
            break
        cells = tuple(cell.strip() for cell in line.strip('|').split('|'))
        found[cells[0]] = cells
    return found


def table(rows, results):
    """Lines of the table of the document."""
    yield f'| {" | ".join(HEAD)} |'
    yield '|---' * len(HEAD) + '|'
    for row in rows.values():
        yield f'| {" | ".join(row.cells)} | {results.get(row.name, "not run yet")} |'


if __name__ == '__main__':
    old = documented(os.path.join(TOP, 'docs', 'install.md'))
    newest = {name: cells[-1] for name, cells in old.items()} | kept(os.environ.get('EMX_BUILD', os.path.join(TOP, 'build')))
    print('\n'.join(table(read_rows(), newest)))

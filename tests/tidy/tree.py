# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""The files a gate looks at, and what it says about them."""

import functools
import pathlib
import subprocess
from dataclasses import dataclass

C_SUFFIXES = {'.c', '.h', '.cpp', '.hpp'}


@dataclass(frozen=True)
class Finding:
    """One broken rule: where (path relative to the top, line or 0) and what to do about it."""
    path: str
    line: int
    text: str

    def __str__(self):
        place = f'{self.path}:{self.line}' if self.line else self.path
        return f'{place}: {self.text}'


class Tree:
    """A source tree: `root`, its files (relative paths), and optionally a Meson build directory."""

    def __init__(self, root, build=None, full=False):
        self.root = pathlib.Path(root).resolve()
        self.build = pathlib.Path(build).resolve() if build else None
        self.full = full
        self.subjects_since = '4758353'  # later commits are held to the rule for subjects

    @functools.cached_property
    def files(self):
        """Everything under version control or about to be; in a tarball, everything."""
        git = subprocess.run(['git', '-C', self.root, 'ls-files', '-co', '--exclude-standard'],
                             capture_output=True, text=True, check=False)
        if git.returncode == 0 and (self.root / '.git').exists():
            names = git.stdout.splitlines()
        else:
            names = [str(p.relative_to(self.root)) for p in self.root.rglob('*') if p.is_file()]
        names = [n for n in names if not n.startswith(('build', '.git/'))]
        return sorted(n for n in names if (self.root / n).is_file())

    @functools.lru_cache(maxsize=None)
    def text(self, name):
        """Content of a file, or None when it is binary."""
        try:
            return (self.root / name).read_bytes().decode()
        except UnicodeDecodeError:
            return None

    def lines(self, name):
        """(number, line) of a text file; nothing for a binary one."""
        return enumerate((self.text(name) or '').splitlines(), 1)

    def under(self, *folders, suffixes=None):
        """Files below any of the folders ('' for all), with one of the suffixes if given."""
        for name in self.files:
            if any(name.startswith(f) for f in folders):
                if suffixes is None or pathlib.Path(name).suffix in suffixes:
                    yield name

    def scripts(self, *interpreters):
        """Files whose first line names one of the interpreters."""
        for name in self.files:
            first = (self.text(name) or '').split('\n', 1)[0]
            if first.startswith('#!') and any(i in first for i in interpreters):
                yield name

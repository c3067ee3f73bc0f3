# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""Remembers in what clang-tidy found nothing, so that it need not look again: ${EMX_CACHE:-~/.cache/ethermx}/tidy.

A record stands for a file, its command and the checks, and holds the hash of each file that it is made of. As with
ccache's direct mode, a header that a new one now hides is not noticed."""

import functools
import hashlib
import json
import os
import pathlib
import shlex
import subprocess

KEPT_MAX = 2000


def folder():
    """Where the records are."""
    kept = os.environ.get('EMX_CACHE') or pathlib.Path.home() / '.cache/ethermx'
    return pathlib.Path(kept) / 'tidy'


@functools.lru_cache(maxsize=None)
def hash_of(path):
    """Hash of a file's bytes; empty when there is none."""
    try:
        return hashlib.sha256(pathlib.Path(path).read_bytes()).hexdigest()
    except OSError:
        return ''


@functools.lru_cache(maxsize=None)
def version():
    return subprocess.run(['clang-tidy', '--version'], capture_output=True, text=True, check=True).stdout


class Look:
    """One look of clang-tidy at a file of a tree."""

    def __init__(self, root, build, name, command):
        self.root, self.command, self.name = root, command, name
        self.words = command.get('arguments') or shlex.split(command['command'])
        checks = hash_of(root / '.clang-tidy') + hash_of(root / pathlib.Path(name).parent / '.clang-tidy')
        words = [w.replace(str(build), '@build').replace(str(root), '@root') for w in self.words]
        key = hashlib.sha256(json.dumps([version(), checks, name, words]).encode()).hexdigest()
        self.record = folder() / key

    def _place(self, path):
        """Names of the tree's own files do not depend on where it stands."""
        path = pathlib.Path(os.path.normpath(pathlib.Path(self.command['directory']) / path))
        return str(path.relative_to(self.root)) if path.is_relative_to(self.root) else str(path)

    def _parts(self):
        """The files that it is made of, or None."""
        words = self.words[self.words[0] == 'ccache':]
        outputs = {i + n for i, w in enumerate(words) for n in (0, 1) if w in ('-o', '-MF', '-MQ', '-MT')}
        words = [w for i, w in enumerate(words) if i not in outputs and w not in ('-c', '-MD', '-MMD')]
        done = subprocess.run([*words, '-M', '-w'], cwd=self.command['directory'],
                              capture_output=True, text=True, check=False)
        if done.returncode:
            return None
        return done.stdout.split(':', 1)[1].replace('\\\n', ' ').split()

    def is_known_good(self):
        """True if a record says that nothing was found in exactly these files."""
        try:
            parts = json.loads(self.record.read_text(encoding='utf-8'))
        except (OSError, ValueError):
            return False
        os.utime(self.record)
        return all(hash_of(self.root / name) == kept for name, kept in parts.items())

    def was_good(self):
        """Remembers it."""
        parts = self._parts()
        if not parts:
            return
        kept = {name: hash_of(self.root / name) for name in map(self._place, parts)}
        if not all(kept.values()):
            return
        self.record.parent.mkdir(parents=True, exist_ok=True)
        made = self.record.with_suffix(f'.{os.getpid()}')
        made.write_text(json.dumps(kept), encoding='utf-8')
        made.replace(self.record)


def forget_oldest():
    """Records that were of no use for the longest time."""
    records = sorted(folder().glob('*'), key=lambda p: p.stat().st_mtime) if folder().is_dir() else []
    for record in records[:-KEPT_MAX]:
        record.unlink(missing_ok=True)

#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""Prints where packages and tree do not agree, and exits 1.

    packages.py BUILD

The version of meson.build is that of the packages, and has its place in the changelog. Each file that a build installs is
in exactly one package of Debian.
"""

import fnmatch
import json
import os
import pathlib
import re
import subprocess
import sys

TOP = pathlib.Path(__file__).resolve().parents[2]
DEBIAN = TOP / 'tools/packaging/debian'
# Triplets of a multiarch folder, which other prefixes than /usr lack.
LIBDIR = re.compile(r'^lib/[^/]*-linux-[^/]*/|^lib64/')


def only(pattern, path):
    """The one place of a pattern in a file."""
    found = re.search(pattern, path.read_text(encoding='utf-8'), re.M)
    return found.group(1) if found else 'none'


def versions():
    """Faults of versions."""
    wanted = only(r"^  version: '(.*)',$", TOP / 'meson.build')
    for path, pattern in (
        (DEBIAN / 'changelog', r'\Aethermx \((.*)-\w+\) '),
        (TOP / 'tools/packaging/rpm/ethermx.spec', r'^Version: +(.*)$'),
        (TOP / 'docs/CHANGELOG.md', rf'^## .*\b({re.escape(wanted)})\b'),
        (TOP / 'docs/install.md', r'dkms install ethermx/(\S*)$'),
    ):
        found = only(pattern, path)
        if found != wanted:
            yield f'{path.relative_to(TOP)}: version {found}, where meson.build has {wanted}'


def patterns():
    """Pairs of a package and a pattern of paths below the prefix."""
    for path in sorted(DEBIAN.glob('*.install')):
        for line in path.read_text(encoding='utf-8').splitlines():
            yield path.stem, line.split()[0]


def installed(build):
    """Paths that the build installs, below usr/ as a package has them; not the sources of the module."""
    told = subprocess.run(['meson', 'introspect', '--installed', build], check=True, capture_output=True, text=True)
    options = subprocess.run(['meson', 'introspect', '--buildoptions', build], check=True, capture_output=True, text=True)
    prefix = next(o['value'] for o in json.loads(options.stdout) if o['name'] == 'prefix')
    for path in sorted(json.loads(told.stdout).values()):
        inside = os.path.relpath(path, prefix)
        if inside.startswith('..') or inside.startswith('src/'):
            continue
        inside = LIBDIR.sub('lib/x86_64-linux-gnu/', inside)
        name = inside.rpartition('/')[2]
        if re.fullmatch(r'mca_\w+_mx\.so', name):
            inside = 'lib/x86_64-linux-gnu/openmpi/lib/openmpi3/' + name
        yield 'usr/' + inside


def contents(build):
    """Faults of contents."""
    rows = list(patterns())
    for path in installed(build):
        # A pattern may be that of a folder above.
        names = [path] + [str(parent) for parent in pathlib.PurePath(path).parents]
        owners = [package for package, pattern in rows if any(
            fnmatch.fnmatchcase(name, pattern) and name.count('/') == pattern.count('/') for name in names)]
        if len(owners) != 1:
            yield f'{path} is in {" and ".join(owners) or "no package"}: name it in one of tools/packaging/debian/*.install'


def main():
    faults = [*versions(), *contents(sys.argv[1])]
    print('\n'.join(faults) or 'packages agree with the tree')
    sys.exit(1 if faults else 0)


main()

# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""Gates that ask another program: nm, clang-format, clang-tidy, shellcheck."""

import concurrent.futures
import json
import os
import pathlib
import re
import shutil
import subprocess

import remembered
from tree import Finding

CORE_SYMBOLS = {'memcpy', 'memset', 'memcmp', 'memmove'}
# Symbols that compilers add by themselves: position independence, stack protector, sanitizers, coverage.
COMPILER_SYMBOLS = re.compile(r'_GLOBAL_OFFSET_TABLE_|__stack_chk_fail|__(asan|ubsan|tsan|msan)_\w+'
                              r'|__sanitizer_\w+|__gcov_\w+|__llvm_\w+|__start_\w+|__stop_\w+')

# A count, not a time, limits what the gates look at in the CI tier, so that a commit has one verdict on any machine.
LAST_COMMITS = 20
CHANGED_MAX = 16


class Missing(Exception):
    """A program or an input that a gate needs is not there."""


def need(program, package=None):
    if not shutil.which(program):
        raise Missing(f'no {program}: apt-get install {package or program}')


def run(*command, **options):
    return subprocess.run([str(c) for c in command], capture_output=True, text=True, check=False,
                          **options)


def core_symbols(tree):
    """The core as built for user space calls nothing but the four memory functions."""
    if not tree.build:
        raise Missing('no build directory given: --build DIR')
    need('nm', 'binutils')
    objects = sorted((tree.build / 'driver' / 'core').rglob('*.o'))
    if not objects and any(tree.under('driver/core/', suffixes={'.c'})):
        raise Missing(f'{tree.build} holds no objects of driver/core: run ninja first')
    defined = set()
    wanted = {}
    for path in objects:
        for line in run('nm', path).stdout.splitlines():
            kind, symbol = line.split()[-2:]
            if kind in 'Uvw':
                wanted.setdefault(symbol, path)
            else:
                defined.add(symbol)
    for symbol, path in sorted(wanted.items()):
        if symbol not in defined | CORE_SYMBOLS and not COMPILER_SYMBOLS.fullmatch(symbol):
            yield Finding(str(path.relative_to(tree.build)), 0, f'driver/core may not call {symbol}')


def formatted(tree):
    """C++, and C with a style of its own, are as clang-format would leave them."""
    need('clang-format')
    names = [*tree.under('', suffixes={'.cpp', '.hpp'}),
             *tree.under('driver/core/', 'driver/linux/', 'compat/openmpi/', suffixes={'.c', '.h'})]
    if not names:
        return
    result = run('clang-format', '--dry-run', '-Werror', *names, cwd=tree.root)
    first = {}
    for line in result.stderr.splitlines():
        match = re.match(r'(.*?):(\d+):\d+: error: ', line)
        if match:
            first.setdefault(match.group(1), int(match.group(2)))
    for name, number in first.items():
        yield Finding(name, number, 'run clang-format -i on it')
    if result.returncode and not first:
        yield Finding('.clang-format', 0, result.stderr.strip()[:300])


def changed(tree):
    """Files that differ from the main branch's fork point; on that branch those of the last commits, newest first."""
    git = ('git', '-C', tree.root)
    base = run(*git, 'merge-base', 'HEAD', 'main').stdout.strip()
    differ = run(*git, 'diff', '--name-only', 'HEAD').stdout.splitlines()
    if base and base != run(*git, 'rev-parse', 'HEAD').stdout.strip():
        differ += run(*git, 'diff', '--name-only', base).stdout.splitlines()
    else:
        differ += run(*git, 'log', f'-{LAST_COMMITS}', '--format=', '--name-only').stdout.splitlines()
    return list(dict.fromkeys(name for name in differ if name))


SUBJECT_MAX = 72


def subjects(tree):
    """Subjects of commits have at most 72 characters and no full stop."""
    git = ('git', '-C', tree.root)
    if run(*git, 'merge-base', '--is-ancestor', tree.subjects_since, 'HEAD').returncode:
        return
    for line in run(*git, 'log', '--format=%h %s', f'{tree.subjects_since}..HEAD').stdout.splitlines():
        commit, subject = line.split(' ', 1)
        if len(subject) > SUBJECT_MAX or subject.endswith('.'):
            yield Finding(f'commit {commit}', 0, f'shorten its subject to {SUBJECT_MAX} characters, without a full stop')


def in_turn(tree, names):
    """The files that a gate that takes seconds over a file looks at: all with --full, else what has changed, as far as it may."""
    if tree.full:
        return names
    names = set(names)
    return [n for n in changed(tree) if n in names][:CHANGED_MAX]


def shell(tree):
    """Shell scripts that have changed, with --full all, pass shellcheck."""
    need('shellcheck')
    names = in_turn(tree, sorted({*tree.under('', suffixes={'.sh'}), *tree.scripts('/sh', 'bash')}))
    command = ('shellcheck', '-x', '-S', 'warning', '-f', 'gcc')
    with concurrent.futures.ThreadPoolExecutor(max_workers=2) as pool:
        results = list(pool.map(lambda some: run(*command, *some, cwd=tree.root), (names[i::8] for i in range(min(8, len(names))))))
    for line in (line for result in results for line in result.stdout.splitlines()):
        match = re.match(r'(.*?):(\d+):\d+: \w+: (.*)', line)
        if match:
            yield Finding(match.group(1), int(match.group(2)), match.group(3))


def commands_of_files(tree):
    """A folder with compile_commands.json in which each file stands for itself, whatever the build joins."""
    folder = tree.build / 'single-files'
    made = folder / 'compile_commands.json'
    if not made.exists() or any((tree.root / name).stat().st_mtime > made.stat().st_mtime
                                for name in tree.files if pathlib.Path(name).name == 'meson.build'):
        shutil.rmtree(folder, ignore_errors=True)
        result = run('meson', 'setup', '-Dunity=off', folder, cwd=tree.root)
        if result.returncode:
            raise Missing(f'meson setup {folder}: ' + result.stdout.strip()[-300:])
    return folder


def tidy_findings(tree, folder, name, command):
    """Findings of clang-tidy in a file, or None when it is known that it finds nothing."""
    look = remembered.Look(tree.root, folder, name, command)
    if look.is_known_good():
        return None
    result = run('clang-tidy', '-p', folder, '--quiet', '--extra-arg=-Wno-unknown-warning-option',
                 tree.root / name, cwd=folder)
    found = []
    for line in result.stdout.splitlines():
        match = re.match(r'(.*?):(\d+):\d+: (?:warning|error): (.*)', line)
        if match:
            path = pathlib.Path(match.group(1))
            path = path.relative_to(tree.root) if path.is_relative_to(tree.root) else path
            found.append(Finding(str(path), int(match.group(2)), match.group(3)))
    if result.returncode and not found:
        found.append(Finding(name, 0, 'clang-tidy: ' + (result.stderr.strip() or 'failed')[-300:]))
    if not found:
        look.was_good()
    return found


def clang_tidy(tree):
    """clang-tidy on changed files; with --full on all."""
    need('clang-tidy')
    if not tree.build:
        raise Missing('no build directory given: --build DIR')
    names = in_turn(tree, tree.under('', suffixes={'.c', '.cpp'}))
    if not names:
        return
    folder = commands_of_files(tree)
    commands = json.loads((folder / 'compile_commands.json').read_text())
    known = {os.path.normpath(os.path.join(c['directory'], c['file'])): c for c in commands}
    names = [n for n in names if str(tree.root / n) in known]
    with concurrent.futures.ThreadPoolExecutor(max_workers=2) as pool:
        results = list(pool.map(lambda n: tidy_findings(tree, folder, n, known[str(tree.root / n)]), names))
    remembered.forget_oldest()
    looked = [found for found in results if found is not None]
    print(f'  clang-tidy looked at {len(looked)} files, and knew {len(results) - len(looked)} from before')
    seen = {finding for found in looked for finding in found}
    yield from sorted(seen, key=lambda f: (f.path, f.line))

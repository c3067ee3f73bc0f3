# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""Gates that ask another program: nm, clang-format, clang-tidy, shellcheck."""

import concurrent.futures
import hashlib
import json
import os
import pathlib
import re
import shutil
import subprocess

from tree import Finding

TIDY_SHARE = 12  # files; each takes 5 to 10 s
CORE_SYMBOLS = {'memcpy', 'memset', 'memcmp', 'memmove'}
# What compilers add by themselves: position independence, stack protector, sanitizers, coverage.
COMPILER_SYMBOLS = re.compile(r'_GLOBAL_OFFSET_TABLE_|__stack_chk_fail|__(asan|ubsan|tsan|msan)_\w+'
                              r'|__sanitizer_\w+|__gcov_\w+|__llvm_\w+|__start_\w+|__stop_\w+')


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


def shell(tree):
    """Shell scripts pass shellcheck."""
    need('shellcheck')
    names = sorted({*tree.under('', suffixes={'.sh'}), *tree.scripts('/sh', 'bash')})
    if not names:
        return
    result = run('shellcheck', '-x', '-S', 'warning', '-f', 'gcc', *names, cwd=tree.root)
    for line in result.stdout.splitlines():
        match = re.match(r'(.*?):(\d+):\d+: \w+: (.*)', line)
        if match:
            yield Finding(match.group(1), int(match.group(2)), match.group(3))


def changed(tree):
    """Files that differ from the main branch's fork point, or else from the last commit."""
    base = run('git', '-C', tree.root, 'merge-base', 'HEAD', 'main').stdout.strip()
    head = run('git', '-C', tree.root, 'rev-parse', 'HEAD').stdout.strip()
    if not base or base == head:
        base = 'HEAD~1'
    return set(run('git', '-C', tree.root, 'diff', '--name-only', base).stdout.splitlines())


def tidy_share(tree, names):
    """Those that one commit's run looks at: changed files, then a share that its hash chooses.

    A count, not a time, limits it, so that the same commit gets the same verdict on any machine.
    """
    head = run('git', '-C', tree.root, 'rev-parse', 'HEAD').stdout.strip() or 'no commit'
    fresh = changed(tree)

    def lot(name):
        return name not in fresh, hashlib.sha256(f'{head} {name}'.encode()).digest()

    return sorted(names, key=lot)[:TIDY_SHARE]


def tidy_findings(tree, name):
    result = run('clang-tidy', '-p', tree.build, '--quiet', '--extra-arg=-Wno-unknown-warning-option',
                 tree.root / name, cwd=tree.build)
    found = []
    for line in result.stdout.splitlines():
        match = re.match(r'(.*?):(\d+):\d+: (?:warning|error): (.*)', line)
        if match:
            path = pathlib.Path(match.group(1))
            path = path.relative_to(tree.root) if path.is_relative_to(tree.root) else path
            found.append(Finding(str(path), int(match.group(2)), match.group(3)))
    if result.returncode and not found:
        found.append(Finding(name, 0, 'clang-tidy: ' + (result.stderr.strip() or 'failed')[-300:]))
    return found


def clang_tidy(tree):
    """clang-tidy on changed files and a share of the others that the commit chooses; with --full on all."""
    need('clang-tidy')
    if not tree.build or not (tree.build / 'compile_commands.json').exists():
        raise Missing('no compile_commands.json: configure with Meson and give --build DIR')
    commands = json.loads((tree.build / 'compile_commands.json').read_text())
    known = {os.path.normpath(os.path.join(c['directory'], c['file'])) for c in commands}
    names = [n for n in tree.under('', suffixes={'.c', '.cpp'}) if str(tree.root / n) in known]
    share = names if tree.full else tidy_share(tree, names)
    seen = set()
    with concurrent.futures.ThreadPoolExecutor(max_workers=2) as pool:
        for found in pool.map(lambda n: tidy_findings(tree, n), share):
            seen.update(found)
    print(f'  clang-tidy looked at {len(share)} of {len(names)} files')
    yield from sorted(seen, key=lambda f: (f.path, f.line))

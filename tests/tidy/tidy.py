#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""Rules of docs/style.md that a program can check, each one a gate.

    tidy.py [--build DIR] [--full] [--list] [GATE...]

Prints what breaks a rule and exits 1; exits 77 (skipped, as Meson understands it) when a gate could
not run for want of a program, unless EMX_NO_SKIP=1 makes that a failure.
"""

import argparse
import os
import pathlib
import sys
import time

import functions
import gates
import programs
from tree import Tree

GATES = {
    'spdx': gates.spdx,
    'core-includes': gates.core_includes,
    'core-platform': gates.core_platform,
    'layers': gates.layers,
    'core-built-twice': gates.core_built_twice,
    'core-symbols': programs.core_symbols,
    'kernel-versions': gates.kernel_versions,
    'file-length': gates.file_length,
    'function-length': functions.function_length,
    'steps': functions.steps,
    'circles': functions.circles,
    'banned-calls': gates.banned_calls,
    'top-level': gates.top_level,
    'machine-paths': gates.machine_paths,
    'doc-paths': gates.doc_paths,
    'whitespace': gates.whitespace,
    'comments': gates.comments,
    'wrapped': gates.wrapped,
    'subjects': programs.subjects,
    'clang-format': programs.formatted,
    'shellcheck': programs.shell,
    'clang-tidy': programs.clang_tidy,
}


def run_gate(name, tree):
    """Runs one gate and prints its verdict: 'ok', 'FAILED' or 'skipped'."""
    start = time.monotonic()
    try:
        findings = list(GATES[name](tree))
        verdict = 'FAILED' if findings else 'ok'
    except programs.Missing as missing:
        findings = [missing]
        verdict = 'FAILED' if os.environ.get('EMX_NO_SKIP') == '1' else 'skipped'
    print(f'{verdict:8}{name} ({time.monotonic() - start:.1f} s)', flush=True)
    for finding in findings:
        print(f'  {finding}')
    return verdict


def main():
    parser = argparse.ArgumentParser(description=__doc__.split('\n', 1)[0])
    parser.add_argument('gates', nargs='*', metavar='GATE', help='run only these')
    parser.add_argument('--build', help='Meson build directory: objects, compile_commands.json')
    parser.add_argument('--full', action='store_true', default=os.environ.get('EMX_FULL') == '1',
                        help='clang-tidy on every file; EMX_FULL=1 does the same')
    parser.add_argument('--changed', nargs='+', metavar='FILE', help='print those of the files that have changed')
    parser.add_argument('--list', action='store_true', help='print the gates')
    options = parser.parse_args()
    if options.list:
        for name, gate in GATES.items():
            print(f'{name:18}{gate.__doc__}')
        return 0
    unknown = set(options.gates) - set(GATES)
    if unknown:
        parser.error(f'no gate {", ".join(sorted(unknown))}; --list shows them')
    root = pathlib.Path(__file__).resolve().parents[2]
    tree = Tree(root, options.build, options.full)
    if options.changed:
        print(*programs.in_turn(tree, options.changed), sep='\n')
        return 0
    verdicts = [run_gate(name, tree) for name in options.gates or GATES]
    if 'FAILED' in verdicts:
        return 1
    return 77 if 'skipped' in verdicts else 0


if __name__ == '__main__':
    sys.exit(main())

#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""Proves that every gate can fail: a bad sample must be found, its good twin must pass.

A gate without samples here is itself a failure.
"""

import contextlib
import io
import json
import os
import pathlib
import subprocess
import sys
import tempfile

import gates
import programs
import remembered
import tidy
from tree import Tree

SPDX = gates.LICENCE
LONG = 'int f(int a)\n{\n' + '\ta++;\n' * 80 + '\treturn a;\n}\n'
SHORT = 'int f(int a)\n{\n\treturn a;\n}\n'
METHOD = 'namespace n {\nclass A {\n    A() : a_(0)\n    {\n' + '        a_++;\n' * 80 + '    }\n};\n}\n'
CORE_MESON = "lib = static_library('core', 'a.c')\n"
RATCHET = 'tests/tidy/ratchet.txt'
MACRO = '__' + 'KERNEL__'
FORMAT = 'BasedOnStyle: LLVM\n'
CHECKS = (pathlib.Path(__file__).resolve().parents[2] / '.clang-tidy').read_text(encoding='utf-8')

# gate: [(bad tree, good tree)], each {path: content}
SAMPLES = {
    'spdx': [({'a.c': 'int x;\n'}, {'a.c': f'/* {SPDX} */\n'}),
             ({'run': '#!/bin/sh\n'}, {'run': f'#!/bin/sh\n# {SPDX}\n'})],
    'core-includes': [({'driver/core/a.c': '#include <stdio.h>\n'},
                       {'driver/core/a.c': '#include <emx/abi.h>\n#include "fw.h"\n'}),
                      ({'driver/core/a.c': '#include "../linux/ethermx.h"\n'}, {})],
    'core-platform': [({'driver/core/a.c': f'#ifdef {MACRO}\n'}, {'driver/core/a.c': '#ifdef FW_A\n'}),
                  ({'driver/core/a.h': f'#  elif defined({MACRO})\n'}, {})],
    'core-built-twice': [({'driver/core/b.c': SHORT, 'driver/core/meson.build': CORE_MESON},
                          {'driver/core/a.c': SHORT, 'driver/core/meson.build': CORE_MESON})],
    'layers': [({'driver/engine/a.cpp': '#include "libmx/b.hpp"\n', 'libmx/b.hpp': ''},
                {'libmx/a/c.cpp': '#include "driver/base/b.hpp"\n', 'driver/base/b.hpp': '', 'driver/engine/e.hpp': ''}),
               ({'driver/base/a.cpp': '#include <emx/b.h>\n', 'include/emx/b.h': ''}, {}),
               ({'libmx/a.cpp': '#include "driver/engine/b.hpp"\n', 'driver/engine/b.hpp': ''},
                {'libmx/api/process.cpp': '#include "driver/engine/b.hpp"\n', 'driver/engine/b.hpp': ''}),
               ({'driver/agent/a.cpp': '#include "driver/engine/b.hpp"\n', 'driver/engine/b.hpp': ''},
                {'driver/agent/a.cpp': '#include "driver/board/b.hpp"\n', 'driver/board/b.hpp': ''})],
    'kernel-versions': [({'driver/linux/a.c': '#if LINUX_VERSION_CODE > 1\n'},
                         {'driver/linux/compat.h': '#if LINUX_VERSION_CODE > 1\n'})],
    'file-length': [({'a.c': '\n' * 801}, {'a.c': '\n' * 800})],
    'function-length': [({'a.c': LONG}, {'a.c': SHORT * 40}),
                        ({'a.hpp': METHOD}, {'a.hpp': 'struct A {\n' + '    int a;\n' * 90 + '};\n'}),
                        ({'a.c': SHORT, RATCHET: 'a.c:f 90 reason\n'},
                         {'a.c': LONG, RATCHET: 'a.c:f 84 a table in code\n'}),
                        ({'a.c': LONG, RATCHET: 'a.c:f 84\n'}, {}),
                        ({'a.c': LONG, RATCHET: 'a.c:f 83 reason\n'}, {})],
    'banned-calls': [({'tools/a.cpp': 'strcpy(a, b);\n'}, {'tools/a.cpp': 'my_strcpy(a, b);\n'}),
                     ({'libmx/proto/a.cpp': 'std::cerr << 1;\n'}, {'tools/a.cpp': 'std::cerr << 1;\n'}),
                     ({'driver/linux/rx.c': 'pr_warn("x");\n'}, {'driver/linux/main.c': 'pr_err("x");\n'}),
                     ({'tests/a.cpp': 'usleep(10);\n'}, {'tests/a.cpp': '// usleep(10);\n'}),
                     ({'tests/a.cpp': 'usleep(10); // tidy-allow(sleep):\n'},
                      {'tests/a.cpp': 'usleep(10); // tidy-allow(sleep): the peer must look dead\n'}),
                     ({'tests/a.cpp': 'using Clock = std::chrono::steady_clock;\n'},
                      {'tests/sim/a.cpp': 'clock_gettime(0, &t);\n', 'tests/bench/a.cpp': 'monotonic_ns();\n'}),
                     ({'tests/a.c': 'clock_gettime(0, &t); // tidy-allow(sleep): x\n'},
                      {'tests/a.c': '// tidy-allow(time): printed\nclock_gettime(0, &t);\n'}),
                     ({'tests/a.sh': 'x || sleep 1\n'}, {'tests/a.sh': '# sleep 1\nsleeper 1\n'}),
                     ({'tests/a.py': 'time.sleep(1)\n'}, {'tests/a.py': 'asleep(1)\n'}),
                     ({'libmx/a.cpp': 'std::getenv("PATH");\n'}, {'tests/a.cpp': 'std::getenv("PATH");\n'}),
                     ({'tools/a.cpp': 'f(secure_getenv);\n'}, {'tools/a.cpp': '// getenv("PATH")\nmy_system(1);\n'}),
                     ({'compat/openmpi/a.c': 'char **e = environ;\n'}, {'driver/engine/a.cpp': 'Environment environment;\n'}),
                     ({'driver/engine/a.cpp': '::execvp(a, b);\n'}, {'driver/engine/a.cpp': '::execve(a, b, c);\n'}),
                     ({'libmx/a.cpp': '::read(a, b, c);\n'}, {'libmx/a.cpp': 'sys::read(a, b, c); File::open();\n'}),
                     ({'driver/engine/a.cpp': 'std::thread(f);\n'}, {'driver/engine/a.cpp': 'std::thread t = start_thread(f);\n'}),
                     ({'libmx/a.cpp': 't.join();\n'}, {'tools/a.cpp': 't.join();\n'}),
                     ({'libmx/a.cpp': '::ftruncate(a, 1);\n'}, {'libmx/a.cpp': 'set_file_size(a, 1, true);\n'}),
                     ({'driver/agent/a.cpp': 'std::ifstream file("a");\n'}, {'tools/a.cpp': 'std::ifstream file("a");\n'})],
    'top-level': [({'stuff/a.c': ''}, {'driver/a.c': '', '.ci/run': ''}), ({'NOTES': ''}, {})],
    'machine-paths': [({'a.sh': 'cd /home/me/ethermx\n'}, {'a.sh': 'cd "$HOME"/me; cat /usr/include/x\n'}),
                      ({'a.md': 'see /root/notes\n'}, {'a.md': 'see root/notes, $DIR/root/x\n'})],
    'doc-paths': [({'README.md': 'see `lib/gone.c`\n', 'lib/a.c': ''}, {'README.md': 'see `lib/a.c`, `a.c`\n', 'lib/a.c': ''}),
                  ({'docs/a.md': 'see [it](b.md)\n'}, {'docs/a.md': 'see [it](../b.md), [e](https://e.org/x)\n', 'b.md': ''}),
                  ({'docs/a.md': 'see `gone.py`\n'}, {'docs/a.md': 'see `lib/`, `build/x`, `and/or else`\n', 'lib/a.c': '', 'and/or': ''})],
    'comments': [({'a.c': '/* Whether it is. */\nint x;\n'}, {'a.c': '/* True if it is. */\nint x; /* not\n * What follows */\n'}),
                 ({'a.h': 'int x; ///< What it is\n'}, {'a.cpp': '// The end\n// What comes then\n'}),
                 ({'a.c': '/*\n * Which of them.\n */\n'}, {'a.py': '"""Whatever."""\n# One\n# of them\n'}),
                 ({'a.sh': '# What it does\n'}, {'a.md': '# What it does\n'}),
                 ({'a.h': f'// {SPDX}\n// What it is.\n'}, {'a.h': f'// {SPDX}\n// It is\n// what follows.\n'}),
                 ({'a.py': '"""Of a file."""\n'}, {}), ({'a.md': 'The user and his host\n'}, {'a.md': 'The user, this host\n'})],
    'steps': [({'a.md': 'first `g` (`a.c`)\n', 'a.c': SHORT}, {'a.md': 'first `f` (`a.c`), `g`\n', 'a.c': SHORT}),
              ({'a.md': '| `f` (`b.c`) |\n', 'a.c': SHORT}, {})],
    'circles': [({'driver/core/a.c': 'void f(void)\n{\n\tg();\n}\n', 'driver/core/b.c': 'void g(void)\n{\n\tf();\n}\n'},
                 {'driver/core/a.c': 'void f(void)\n{\n\tg();\n\tx->h();\n}\nstatic void k(void)\n{\n}\n',
                  'driver/core/b.c': 'static void k(void)\n{\n}\nvoid g(void)\n{\n\tk();\n\th();\n}\nvoid f(void);\n',
                  'driver/core/a.h': 'extern "C" {\nvoid f(void);\nvoid g(void);\nstatic inline void h(void)\n{\n}\n}\n'}),
                ({'driver/core/a.c': 'void f(void)\n{\n\tg();\n}\n', 'driver/core/b.c': 'void g(void)\n{\n\th();\n}\n',
                  'driver/core/c.h': 'static inline void h(void)\n{\n\tf();\n}\n'}, {}),
                ({'driver/core/a.c': 'void f(void)\n{\n\tg();\n}\n',
                  'driver/core/b.c': 'void (*const t[])(void) = { f };\nvoid g(void)\n{\n}\n'},
                 {'a.c': 'void f(void)\n{\n\tg();\n}\n', 'b.c': 'void g(void)\n{\n\tf();\n}\n'}),
                ({'libmx/endpoint/a.cpp': 'void Endpoint::f()\n{\n    g();\n}\n', 'libmx/endpoint/b.cpp': 'void Endpoint::g()\n{\n    f();\n}\n'},
                 {'libmx/endpoint/a.cpp': 'void Endpoint::f()\n{\n    g();\n}\n',
                  'libmx/endpoint/b.cpp': 'void f();\nvoid Endpoint::g()\n{\n    part.f();\n    other->f();\n}\n'}),
                ({'libmx/endpoint/a.cpp': 'void Endpoint::f()\n{\n    h();\n}\n', 'libmx/endpoint/b.cpp': 'void Endpoint::g()\n{\n    f();\n}\n',
                  'libmx/endpoint/a.hpp': 'class Endpoint {\n    void h() { g(); }\n    void g();\n};\n'}, {}),
                ({'libmx/x/a.cpp': '#include "libmx/x/b.hpp"\n', 'libmx/x/b.hpp': '#include "libmx/x/a.hpp"\n', 'libmx/x/a.hpp': ''},
                 {'libmx/x/a.cpp': '#include "libmx/x/a.hpp"\n#include "libmx/x/b.hpp"\n', 'libmx/x/b.hpp': '', 'libmx/x/a.hpp': ''})],
    'wrapped': [({'a.md': 'word ' * 21 + '\n'}, {'a.md': 'word ' * 20 + '\n| ' + 'word ' * 40 + '|\n\n    ' + 'code ' * 40 + '\n'})],
    'whitespace': [({'a.c': 'int x; \n'}, {'a.c': 'int x;\n'}), ({'a.md': 'text'}, {'a.md': ''}),
                   ({'a.c': 'int x;\r\n'}, {})],
    'clang-format': [({'.clang-format': FORMAT, 'a.cpp': 'int  x ;\n'},
                      {'.clang-format': FORMAT, 'a.cpp': 'int x;\n'}),
                     ({'driver/linux/.clang-format': FORMAT, 'driver/linux/a.c': 'int  x ;\n'},
                      {'.clang-format': FORMAT, 'tools/a.c': 'int  x ;\n'})],
    'shellcheck': [({'a.sh': '#!/bin/sh\ncd $1\nfor f in `ls`; do :; done; [ $a == b ]\n'},
                    {'a.sh': '#!/bin/sh\ncd "$1" || exit\n'})],
}


def write(root, files):
    for name, content in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
    return Tree(root, full=True)


def findings(gate, tree):
    return list(tidy.GATES[gate](tree))


def check_text_gate(gate, bad, good):
    with tempfile.TemporaryDirectory() as folder:
        if not findings(gate, write(pathlib.Path(folder), bad)):
            return f'{gate}: does not find {bad}'
    with tempfile.TemporaryDirectory() as folder:
        wrong = findings(gate, write(pathlib.Path(folder), good))
        return f'{gate}: complains about {good}: {wrong[0]}' if wrong else None


def compiled(folder, source, header=''):
    """A tree whose driver/core was built, as Meson would leave it."""
    root = pathlib.Path(folder)
    tree = write(root, {'driver/core/a.c': source, 'driver/core/b.h': header, '.clang-tidy': CHECKS})
    tree.build, tree.full = root / 'build', True
    target = tree.build / 'driver/core/core.a.p'
    target.mkdir(parents=True)
    command = ['cc', '-c', '-O1', '-Wextra', str(root / 'driver/core/a.c'), '-o', str(target / 'a.o')]
    subprocess.run(command, check=True, capture_output=True)
    (tree.build / 'single-files').mkdir()
    (tree.build / 'single-files/compile_commands.json').write_text(json.dumps(
        [{'directory': str(tree.build), 'file': str(root / 'driver/core/a.c'), 'arguments': command}]))
    return tree


def check_built_gate(gate, bad, good):
    with tempfile.TemporaryDirectory() as folder:
        if not findings(gate, compiled(folder, bad)):
            return f'{gate}: does not find {bad!r}'
    with tempfile.TemporaryDirectory() as folder:
        wrong = findings(gate, compiled(folder, good))
        return f'{gate}: complains about {good!r}: {wrong[0]}' if wrong else None


BUILT_SAMPLES = {
    'core-symbols': ('void *malloc(unsigned long);\nvoid *f(void) { return malloc(3); }\n',
                     'void *memcpy(void *, const void *, unsigned long);\n'
                     'void *f(void *a, void *b, unsigned long n) { return memcpy(a, b, n); }\n'),
    'clang-tidy': ('int f(int a);\nint f(int a) { return a - a; }\n',
                   'int f(int a);\nint f(int a) { return a + 1; }\n'),
    # A warning that no check of clang-tidy has, but a build by clang.
    'clang-tidy, warnings of clang': ('struct { int a, b; } s = {1};\n', 'struct { int a, b; } s = {.a = 1};\n'),
}


def check_memory():
    """clang-tidy does not look twice at what is good, and does at what includes something else now."""
    good, bad = 'static inline int g(int a) { return a + 1; }\n', 'static inline int g(int a) { return a - a; }\n'
    with tempfile.TemporaryDirectory() as folder:
        tree = compiled(folder, '#include "b.h"\nint f(int a);\nint f(int a) { return g(a); }\n', good)
        header = tree.root / 'driver/core/b.h'
        looks = []
        for text in (good, good, bad, good):
            header.write_text(text)
            remembered.hash_of.cache_clear()
            with contextlib.redirect_stdout(io.StringIO()) as said:
                found = findings('clang-tidy', tree)
            looks.append((bool(found), 'looked at 1 files' in said.getvalue()))
    return None if looks == [(False, True), (False, False), (True, True), (False, False)] else f'clang-tidy, remembered: {looks}'


def check_layers():
    """A folder may include none that stands behind it in LAYERS: there is no circle."""
    order = list(gates.LAYERS)
    upwards = [(own, to) for own, below in gates.LAYERS.items() for to in below if order.index(to) > order.index(own)]
    return f'layers: {upwards[0]} points up' if upwards else None


def check_subjects():
    """A long subject, and one with a full stop, are found; those before the rule are not."""
    with tempfile.TemporaryDirectory() as folder:
        git = ('git', '-C', folder, '-c', 'user.name=a', '-c', 'user.email=a@b')
        subprocess.run([*git, 'init', '-q'], check=True)
        for subject in ('x' * 90, 'Add it.', 'y' * 73, 'z' * 72):
            subprocess.run([*git, 'commit', '-q', '--allow-empty', '-m', subject], check=True)
        tree = Tree(folder)
        tree.subjects_since = 'HEAD~3'
        found = len(findings('subjects', tree))
    return None if found == 2 else f'subjects: finds {found} of 2'


def main():
    errors = [f'{gate}: no sample proves that it can fail'
              for gate in tidy.GATES if gate not in SAMPLES and gate not in BUILT_SAMPLES and gate != 'subjects']
    for gate, pairs in SAMPLES.items():
        try:
            errors += [check_text_gate(gate, bad, good) for bad, good in pairs]
        except programs.Missing as missing:
            errors.append(f'{gate}: {missing}')
    for gate, (bad, good) in BUILT_SAMPLES.items():
        errors.append(check_built_gate(gate.split(',')[0], bad, good))
    errors = [e for e in [*errors, check_memory(), check_layers(), check_subjects()] if e]
    print('\n'.join(errors) or f'all {len(tidy.GATES)} gates can fail, and pass')
    return 1 if errors else 0


if __name__ == '__main__':
    with tempfile.TemporaryDirectory() as kept:
        os.environ['EMX_CACHE'] = kept
        status = main()
    sys.exit(status)

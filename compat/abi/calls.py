#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""A program that uses all that one public header declares, and includes nothing else.

Usage: calls.py HEADER INCLUDE_DIR

C11 and C++17, on standard output. It calls each function once, with NULL for each pointer, handle and function, and takes
the value of each constant and macro. What such a program cannot name with that header alone is an error of the compiler.
"""

import pathlib
import re
import sys


def code(path):
    return re.sub(r'/\*.*?\*/', ' ', path.read_text(encoding='utf-8'), flags=re.S)


def call(name, parameters, pointers):
    """A block with a call of a function; what is passed by value is an object of its type."""
    objects, arguments = '', []
    for number, parameter in enumerate(() if parameters == 'void' else parameters.split(', ')):
        kind = parameter.rsplit(' ', 1)[0]
        if '*' in parameter or kind in pointers:
            arguments.append('NULL')
        else:
            arguments.append(f'a{number}')
            objects += f'static {kind} a{number}; '
    return f'{{ {objects}(void){name}({", ".join(arguments)}); }}'


def uses(header, folder):
    text = code(folder / header)
    everything = ' '.join(code(path) for path in folder.rglob('*.h'))
    pointers = set(re.findall(r'typedef [^;{}]*\*\(?(\w+)\)?(?:\([^;{}]*)?;', everything))
    declarations = re.sub(r'^[ \t]*#.*|extern "C"', '', text, flags=re.M)
    for statement in re.split(r'[;{}]', declarations):
        statement = ' '.join(statement.split())
        if found := re.match(r'extern const \w+ (\w+)$', statement):
            yield f'(void){found.group(1)};'
        elif '(' in statement and not statement.startswith(('return', 'typedef')):
            found = re.search(r'(\w+)\(([^()]*)\)$', statement)
            if not found:
                sys.exit(f'{header}: not understood: {statement}')
            yield call(found.group(1), found.group(2), pointers)
    for name, parameter in re.findall(r'^#define (\w+(?<!_H))(\(\w*\))?[ \t]+\S', text, flags=re.M):
        value = 'static const uint64_t a = 0; ' if parameter not in ('', '()') else ''
        yield f'{{ {value}(void)({name}{"(a)" if value else parameter}); }}'


def main():
    lines = list(uses(sys.argv[1], pathlib.Path(sys.argv[2])))
    if not lines:
        sys.exit(f'{sys.argv[1]}: no declarations found')
    print(f'#include "{sys.argv[1]}"', 'int main(void)', '{', *lines, 'return 0;', '}', sep='\n')


main()

#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""The commands that a page shows, and what it says they print: a page in docs/ that is run as a test.

    steps.py split PAGE FOLDER      writes them to FOLDER, a step each: NUMBER.host, NUMBER.sign, NUMBER.title,
                                    NUMBER.command and NUMBER.printed; prints the numbers
    steps.py block PAGE END         prints the block of code below the line that ends in END
    steps.py compare PRINTED FILE   fails unless FILE, which a command has printed, is as PRINTED, from the page, says

In a block of code, a line "HOST$ COMMAND" is what a user types there, "HOST# COMMAND" what root types. Behind "<<'END'"
the lines up to END belong to it. Lines below, up to the next command or the end of the block, are what it prints: in any
order, since processes of several hosts print. "..." stands for any text in a line, and alone for any lines.
"""

import fnmatch
import os
import re
import sys

COMMAND = re.compile(r'^([a-z][a-z0-9]*)([#$]) (.+)$')


def blocks(page):
    """The blocks of code of a page: for each, the last line of text before it, and its lines, which begin at column 0."""
    text, block, found = '', [], []
    with open(page, encoding='utf-8') as lines:
        for line in [*lines, 'end\n']:
            line = line.rstrip('\n')
            if re.match(r' {4,}\S', line) or (block and not line):
                block.append(line)
            elif block:
                indent = min(len(one) - len(one.lstrip()) for one in block if one)
                found.append((text, [one[indent:] for one in '\n'.join(block).rstrip().split('\n')]))
                block = []
            if not block and line:
                text = line
    return found


def steps_of(lines):
    """The steps in a block: host, sign, command and the lines that it prints."""
    steps, until = [], None
    for line in lines:
        command = COMMAND.match(line)
        if until:
            steps[-1][2].append(line)
            until = None if line == until else until
        elif command:
            steps.append((command[1], command[2], [command[3]], []))
            mark = re.search(r"<<'?(\w+)'?", line)
            until = mark and mark[1]
        elif steps and line:
            steps[-1][3].append(line)
    return steps


def split(page, folder):
    """Writes all steps of a page."""
    steps = [step for _, lines in blocks(page) for step in steps_of(lines)]
    for number, (host, sign, command, printed) in enumerate(steps):
        for name, text in {'host': host, 'sign': sign, 'title': command[0], 'command': '\n'.join(command),
                           'printed': '\n'.join(printed)}.items():
            with open(os.path.join(folder, f'{number}.{name}'), 'w', encoding='utf-8') as file:
                file.write(f'{text}\n' if text else '')
    if not steps:
        sys.exit(f'{page}: no steps; write them as lines "    HOST$ COMMAND"')
    print(*range(len(steps)))


def show_block(page, end):
    """Prints a block of code."""
    for text, lines in blocks(page):
        if text.endswith(end):
            print('\n'.join(lines))
            return
    sys.exit(f'{page}: no block of code below a line that ends in "{end}"')


def lines_of(path):
    """The lines of a file that are not empty, with one space where there are more."""
    with open(path, encoding='utf-8', errors='replace') as file:
        return [' '.join(line.split()) for line in file if line.strip()]


def compare(printed, path):
    """Ends with a message unless each line of one is in the other."""
    wanted, lines = lines_of(printed), lines_of(path)
    others_may_be = '...' in wanted or not wanted
    for pattern in (line for line in wanted if line != '...'):
        globbed = re.sub(r'([][*?])', r'[\1]', pattern).replace('...', '*')
        match = next((line for line in lines if fnmatch.fnmatchcase(line, globbed)), None)
        if match is None:
            sys.exit(f'the page has a line that was not printed: {pattern}')
        lines.remove(match)
    if lines and not others_may_be:
        sys.exit(f'a line was printed that the page has not: {lines[0]}')


if __name__ == '__main__':
    {'split': split, 'block': show_block, 'compare': compare}[sys.argv[1]](*sys.argv[2:])

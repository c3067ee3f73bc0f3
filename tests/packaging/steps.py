#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""The commands of a page that are marked to be run, each step as a file of FOLDER.

    steps.py PAGE FLOW RELEASE FOLDER

A mark is a comment of HTML before an indented block, "run: [FLOW] [RELEASE] WHERE WHO" or "run: transcript [server]". With
another FLOW or RELEASE of Debian than the one asked for the block is left out. WHERE is once (before there are hosts),
both, node1 or node2; WHO is root or user. A transcript has lines "node1# COMMAND" of root and "node1$ COMMAND" of a user; its other lines were printed.
Files are NUMBER.WHERE.WHO, with .server behind it for commands that others wait for.
"""

import os
import re
import sys

MARK = re.compile(r'\s*<!-- run: (.*) -->$')
PROMPT = re.compile(r'(node[12])([#$]) (.*)')
FLOWS = {'packages', 'source'}
RELEASES = {'12', '13'}


def blocks(lines):
    """Each mark's words, and the lines of the block behind it without their indentation."""
    for index, line in enumerate(lines):
        mark = MARK.match(line)
        if not mark:
            continue
        outside = len(line) - len(line.lstrip())
        block = []
        for inner in lines[index + 1:]:
            if not inner.startswith(' ' * (outside + 4)):
                break
            block.append(inner[outside + 4:])
        if not block:
            sys.exit(f'line {index + 1}: a mark without a block')
        yield mark.group(1).split(), block


def steps(words, block):
    """Names and commands."""
    if words[0] != 'transcript':
        return [('.'.join(words), '\n'.join(block))]
    server = '.server' if 'server' in words else ''
    prompts = [PROMPT.match(line) for line in block]
    return [(f'{m[1]}.{"root" if m[2] == "#" else "user"}{server}', m[3]) for m in prompts if m]


def main():
    page, flow, release, folder = sys.argv[1:]
    os.makedirs(folder)
    number = 0
    with open(page, encoding='utf-8') as file:
        lines = file.read().split('\n')
    for words, block in blocks(lines):
        if words[0] in FLOWS and words.pop(0) != flow:
            continue
        if words[0] in RELEASES and words.pop(0) != release:
            continue
        for name, text in steps(words, block):
            with open(os.path.join(folder, f'{number:02}.{name}'), 'w', encoding='utf-8') as file:
                file.write(text + '\n')
            number += 1
    if number == 0:
        sys.exit(f'{page}: nothing is marked to be run')


main()

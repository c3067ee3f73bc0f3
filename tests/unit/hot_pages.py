#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""Tests that each function that a linker script of the library places lies in the pages it made.

usage: hot_pages.py SCRIPT LIBRARY
"""
import re
import subprocess
import sys

SECTION = '.text.pages'


def section_bounds(library):
    for line in subprocess.run(['readelf', '-SW', library], capture_output=True, text=True, check=True).stdout.splitlines():
        found = re.search(re.escape(SECTION) + r'\s+PROGBITS\s+(\w+)\s+\w+\s+(\w+)', line)
        if found:
            start = int(found[1], 16)
            return start, start + int(found[2], 16)
    sys.exit(f'{library} has no section {SECTION}')


def main():
    script, library = sys.argv[1:]
    start, end = section_bounds(library)
    with open(script, encoding='utf-8') as lines:
        wanted = re.findall(r'^ *\*\(\.text\.hot\.(\S+) \.text\.\1\)$', lines.read(), re.MULTILINE)
    symbols = {}
    for line in subprocess.run(['nm', library], capture_output=True, text=True, check=True).stdout.splitlines():
        fields = line.split()
        if len(fields) == 3:
            symbols[fields[2]] = int(fields[0], 16)
    missing = [name for name in wanted if not start <= symbols.get(name, 0) < end]
    for name in missing:
        print(f'{script}: {name} is not in its page: GCC made no function of that name, or inlined it')
    print(f'{len(wanted) - len(missing)} of {len(wanted)} functions in {(end - start) // 4096} pages')
    return 1 if missing or not wanted else 0


if __name__ == '__main__':
    sys.exit(main())

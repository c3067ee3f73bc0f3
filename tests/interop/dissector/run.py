#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""Tests of tools/wireshark/ethermx.lua by tshark.

usage: run.py CODEC-FIELDS WIRE-ROWS PCAP-FOLDER WIRE-FOLDER

CODEC-FIELDS prints what our codec reads from a capture (codec_fields.cpp), WIRE-ROWS what
tools/wireshark/ethermx_rows.lua must be (wire_rows.c); PCAP-FOLDER holds captures of real peers,
WIRE-FOLDER the examples of the wire specification. Ends with a line of counts; 77 when there is no tshark.
"""

import os
import subprocess
import sys

import cases_captures
import cases_codec
import cases_rules
from tshark import DISSECTOR, Tshark


def check_rows(program):
    """The dissector's layout is that of the table of fields."""
    path = DISSECTOR.with_name('ethermx_rows.lua')
    made = subprocess.run([program], capture_output=True, text=True, check=True).stdout
    assert path.read_text(encoding='utf-8') == made, f'{path} is out of date: {program} >{path}'


def main():
    if len(sys.argv) != 5:
        sys.exit(__doc__)
    if not Tshark.there():
        print('skipped: no tshark; apt-get install tshark')
        sys.exit(1 if os.environ.get('EMX_NO_SKIP') == '1' else 77)
    codec, rows, *folders = sys.argv[1:]
    tshark = Tshark()
    passed = failed = 0
    checks = [('layout', lambda _: check_rows(rows))]
    for module in (cases_captures, cases_codec, cases_rules):
        checks += module.checks(codec, *folders)
    try:
        for name, check in checks:
            try:
                check(tshark)
                passed += 1
            except (AssertionError, RuntimeError) as problem:
                failed += 1
                print(f'FAILED {name}: {problem}')
    finally:
        tshark.close()
    print(f'{passed} passed, {failed} failed, 0 skipped')
    sys.exit(1 if failed else 0)


if __name__ == '__main__':
    main()

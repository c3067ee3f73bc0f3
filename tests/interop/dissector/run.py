#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""Tests of tools/wireshark/ethermx.lua by tshark.

usage: run.py CODEC-FIELDS PCAP-FOLDER WIRE-FOLDER

CODEC-FIELDS prints what our codec reads from a capture (codec_fields.cpp); PCAP-FOLDER holds captures of real peers,
WIRE-FOLDER the examples of the wire specification. Ends with a line of counts; 77 when there is no tshark.
"""

import os
import sys

import cases_captures
import cases_codec
import cases_rules
from tshark import Tshark


def main():
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    if not Tshark.there():
        print('skipped: no tshark; apt-get install tshark')
        sys.exit(1 if os.environ.get('EMX_NO_SKIP') == '1' else 77)
    tshark = Tshark()
    passed = failed = 0
    try:
        for module in (cases_captures, cases_codec, cases_rules):
            for name, check in module.checks(*sys.argv[1:]):
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

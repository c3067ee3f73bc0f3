#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""Writes frames to be mutated (guest/mutants.c): mutant_seeds.py TOP OUT.

From the captures, in their order, and the golden frames. OUT holds of each frame its dialect ('W', 'N' or 0 for both),
its length in two bytes, and the frame itself."""
import pathlib
import struct
import sys

TOP = pathlib.Path(sys.argv[1])
sys.path.insert(0, str(TOP / 'tests/support'))

from captures import all_captures, all_golden, captured, chosen, golden  # noqa: E402

OF_A_DIALECT = (39, 41, 42)  # MEDIUM, PULL, PULL REPLY

seeds = [(dialect, frame) for path, dialect in all_captures(TOP) for frame in chosen(captured(path))]
seeds += [(dialect, golden(path)) for path, dialect in all_golden(TOP)]
with open(sys.argv[2], 'wb') as file:
    for dialect, frame in seeds:
        mark = dialect.encode() if frame[16] in OF_A_DIALECT else b'\0'
        file.write(mark + struct.pack('>H', len(frame)) + frame)

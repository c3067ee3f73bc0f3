#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""Writes frames to be mutated (guest/mutants.c): mutant_seeds.py TOP OUT.

From the captures of tests/interop/pcap, in their order, and the golden frames of compat/wire. OUT holds of each frame
its dialect ('W', 'N' or 0 for both), its length in two bytes, and the frame itself. Of frames of a capture that are alike in
type and length, a pull's many replies above all, the first few do."""
import pathlib
import struct
import sys

ETHERTYPE = b'\x86\xdf'
OF_A_DIALECT = (39, 41, 42)  # MEDIUM, PULL, PULL REPLY
ALIKE_MAX = 10  # more than a message has fragments


def captured(path):
    """The MXoE frames of a capture."""
    data = path.read_bytes()
    order = '<' if data[:4] in (b'\xd4\xc3\xb2\xa1', b'\x4d\x3c\xb2\xa1') else '>'
    at = 24
    while at + 16 <= len(data):
        length, = struct.unpack_from(order + 'I', data, at + 8)
        frame = data[at + 16:at + 16 + length]
        at += 16 + length
        if frame[12:14] == ETHERTYPE:
            yield frame


def golden(path):
    """The frame of a .hex file, with the data that its header states."""
    lines = [line for line in path.read_text().splitlines() if line and not line.startswith('#')]
    frame = bytes.fromhex(''.join(line.split(None, 1)[1] for line in lines))
    return frame + bytes({'medium_w': 904, 'medium_n9000': 5000, 'pull_reply_w': 4096}.get(path.stem, 0))


def chosen(frames):
    """The first few of each kind."""
    seen = {}
    for frame in frames:
        kind = frame[16], len(frame)
        seen[kind] = seen.get(kind, 0) + 1
        if seen[kind] <= ALIKE_MAX:
            yield frame


def main():
    top, out = map(pathlib.Path, sys.argv[1:3])
    seeds = []
    for path in sorted((top / 'tests/interop/pcap').rglob('*.pcap')):
        seeds += [('N' if path.parent.name == 'native' else 'W', frame) for frame in chosen(captured(path))]
    for path in sorted((top / 'compat/wire').glob('*.hex')):
        seeds.append(('N' if 'n9000' in path.stem else 'W', golden(path)))
    with out.open('wb') as file:
        for dialect, frame in seeds:
            mark = dialect.encode() if frame[16] in OF_A_DIALECT else b'\0'
            file.write(mark + struct.pack('>H', len(frame)) + frame)


main()

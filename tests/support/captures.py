# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""Real frames for those who spoil them: of the captures in tests/interop/pcap, and the golden ones of compat/wire."""
import struct

ETHERTYPE = b'\x86\xdf'
ALIKE_MAX = 10  # more than a captured message has fragments


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


def chosen(frames):
    """The first few of each type and length: a pull has many replies that are alike."""
    seen = {}
    for frame in frames:
        kind = frame[16], len(frame)
        seen[kind] = seen.get(kind, 0) + 1
        if seen[kind] <= ALIKE_MAX:
            yield frame


def golden(path):
    """The frame of a .hex file, with the data that its header states."""
    lines = [line for line in path.read_text().splitlines() if line and not line.startswith('#')]
    frame = bytes.fromhex(''.join(line.split(None, 1)[1] for line in lines))
    return frame + bytes({'medium_w': 904, 'medium_n9000': 5000, 'pull_reply_w': 4096}.get(path.stem, 0))


def all_captures(top):
    """(path, dialect) of each capture."""
    for path in sorted((top / 'tests/interop/pcap').rglob('*.pcap')):
        yield path, 'N' if path.parent.name == 'native' else 'W'


def all_golden(top):
    """(path, dialect) of each golden frame; what is the same in both counts as W."""
    for path in sorted((top / 'compat/wire').glob('*.hex')):
        yield path, 'N' if 'n9000' in path.stem else 'W'

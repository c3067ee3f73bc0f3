#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""Writes fuzzing seeds from the captures and the golden frames: make_seeds.py TOP OUT_FOLDER.

OUT_FOLDER/codec gets each frame behind its byte of sizes, OUT_FOLDER/fw_rx the same golden bodies as
steps of fuzz_fw_rx, each capture as a sequence of them, and a pull that is answered in part; OUT_FOLDER/api and
/endpoint a few random programs."""
import pathlib
import random
import sys

top, out = map(pathlib.Path, sys.argv[1:3])
sys.path.insert(0, str(top / "tests/support"))

from captures import all_captures, all_golden, captured, chosen, golden  # noqa: E402

SIZES = {"W": 0, "N": 1}
SESSION = bytes.fromhex("a1b2c3d4")  # of the endpoint in fuzz_fw_rx, whose number is 5
SESSION_AT = {35: (8, 16), 37: (20,), 38: (20,), 39: (20,), 40: (20,), 41: (4,), 43: (4,)}  # in the body


def step(frame):
    """A captured frame as a step of fuzz_fw_rx: fit for its endpoint."""
    body = bytearray(frame[16:60 + 255])
    kind = body[0]
    if kind in SESSION_AT or kind == 36:
        body[1] = 5
    for at in SESSION_AT.get(kind, ()):
        body[at:at + 4] = SESSION
    return bytes([0, len(body) - 44, 1]) + body


(out / "codec").mkdir(parents=True, exist_ok=True)
(out / "fw_rx").mkdir(parents=True, exist_ok=True)
for path, dialect in all_golden(top):
    frame = golden(path)
    (out / "codec" / path.stem).write_bytes(bytes([SIZES[dialect]]) + frame)
    (out / "fw_rx" / path.stem).write_bytes(bytes([SIZES[dialect], 0, 0, 1]) + frame[16:60])
for path, dialect in all_captures(top):
    frames = [frame.ljust(60, b"\0") for frame in chosen(captured(path))]
    for number, frame in enumerate(frames):
        (out / "codec" / f"{path.stem}-{number}").write_bytes(bytes([SIZES[dialect]]) + frame)
    if dialect == "W":
        (out / "fw_rx" / path.stem).write_bytes(bytes([0]) + b"".join(map(step, frames)))
start = bytes([4, 1, 0, 0, 0, 7, 0])
answers = b"".join(bytes([1, 0, n, 0]) for n in (0, 0, 3, 0, 0, 5, 0, 0, 0, 0))
(out / "fw_rx" / "pull").write_bytes(bytes([0]) + start + answers + bytes([5, 0, 20]) + answers)
start = bytes([4, 1, 0, 0, 0, 7, 1, 0x23, 0x36])  # by X PULL
answers = b"".join(bytes([8, 0, n, 0]) for n in (0, 0, 3, 0, 0, 5, 0, 0, 0, 0))
(out / "fw_rx" / "x_pull").write_bytes(bytes([8 + 16 + 32]) + start + answers + bytes([5, 0, 20]) + answers)
for name in ("api", "endpoint"):  # sequences of calls and frames: any bytes are some
    (out / name).mkdir(exist_ok=True)
    for seed in range(8):
        (out / name / str(seed)).write_bytes(random.Random(seed).randbytes(600))

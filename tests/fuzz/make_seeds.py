#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""Writes fuzzing seeds from the golden frames: make_seeds.py WIRE_FOLDER OUT_FOLDER.

OUT_FOLDER/codec gets each frame behind its byte of sizes, OUT_FOLDER/fw_rx the same bodies as
steps of fuzz_fw_rx, and a pull that is answered in part; OUT_FOLDER/api and /endpoint a few random
programs."""
import pathlib
import random
import sys

wire, out = map(pathlib.Path, sys.argv[1:3])
(out / "codec").mkdir(parents=True, exist_ok=True)
(out / "fw_rx").mkdir(parents=True, exist_ok=True)
for path in sorted(wire.glob("*.hex")):
    lines = [l for l in path.read_text().splitlines() if l and not l.startswith("#")]
    frame = bytes.fromhex("".join(l.split(None, 1)[1] for l in lines))
    frame += bytes({"medium_w": 904, "medium_n9000": 5000, "pull_reply_w": 4096}.get(path.stem, 0))
    sizes = 1 if "n9000" in path.stem else 0
    (out / "codec" / path.stem).write_bytes(bytes([sizes]) + frame)
    body = frame[16:60]
    (out / "fw_rx" / path.stem).write_bytes(bytes([sizes, 0, 0, 1]) + body)
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

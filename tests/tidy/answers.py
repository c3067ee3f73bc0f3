#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""Asks every program that is installed, and every script for users, for --help and --version.

usage: answers.py BUILD VERSION PROGRAM...     the programs must be all that the build installs into bin and sbin

Both come on standard output alone, with status 0. -h prints the same as --help: under a name of MX on standard error, with
status 255, as the interface's specification has it (section 11). Ends with a line of counts.
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile


def ask(program, option):
    done = subprocess.run([program, option], capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)
    return done.returncode, done.stdout, done.stderr


def check(program, version):
    name = os.path.basename(program)
    of_mx = name.startswith(("omx_", "mx_"))
    status, text, errors = ask(program, "--help")
    if status or errors or not text.strip() or "--help" not in text or "--version" not in text:
        yield f"{name} --help: status {status}, {len(text)} characters, standard error {errors[-200:]!r}"
    if ask(program, "-h") != ((255, "", text) if of_mx else (0, text, "")):
        yield f"{name} -h: not the text of --help, " + ("255 and standard error" if of_mx else "0 and standard output")
    if ask(program, "--version") != (0, f"{name} (EtherMX) {version}\n", ""):
        yield f"{name} --version: {ask(program, '--version')}"
    status, text, errors = ask(program, "--zebra")
    if status == 0 or text or "zebra" not in errors:
        yield f"{name} --zebra: status {status}, {text[-100:]!r}, {errors[-100:]!r}"


def installed(build):
    """Names in bin and sbin: programs, and their other names."""
    shown = subprocess.run(["meson", "introspect", "--install-plan", build], capture_output=True, text=True, check=True)
    for files in json.loads(shown.stdout).values():
        for entry in files.values():
            place = pathlib.PurePath(entry["destination"])
            if place.parent.name in ("{bindir}", "{sbindir}"):
                yield place.name


def main():
    if len(sys.argv) < 4:
        sys.exit(__doc__)
    build, version, programs = sys.argv[1], sys.argv[2], sys.argv[3:]
    results = []
    with tempfile.TemporaryDirectory() as folder:
        asked = list(programs)
        for program in programs:
            name = os.path.basename(program)
            if name in ("omx_info", "omx_counters", "omx_endpoint_info"):
                asked.append(os.path.join(folder, name[1:]))
                os.symlink(os.path.abspath(program), asked[-1])
        results = [list(check(program, version)) for program in asked]
        missing = set(installed(build)) - {os.path.basename(p) for p in asked}
        if not list(installed(build)):
            missing = {"every program: nothing is installed"}
        results.append([f"nobody asks {name}" for name in sorted(missing)])
        broken = list(check("/bin/false", version))
        results.append([] if len(broken) >= 3 else [f"a program that says nothing passes: {broken}"])
    for text in (t for found in results for t in found):
        print(text)
    failed = sum(bool(found) for found in results)
    print(f"{len(results) - failed} passed, {failed} failed, 0 skipped")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()

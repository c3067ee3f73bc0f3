#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""Runs MPICH's tests, in the first of the hosts of tests/mpi/mpich and with the environment that it sets.

usage: mpich_run.py [OPTION]... SOURCE BUILD

A test passes as MPICH defines it: "No Errors" is all that is printed, and mpirun ends with status 0. What
fails is run again over the control. A test of tests/mpi/mpich.known is expected to fail over both.
"""
import argparse
import concurrent.futures
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

from mpich_tests import read_known, read_lines, read_tests

HERE = Path(__file__).parent
# mpirun says so when the program that it starts hosts with is quicker than itself.
QUIET = re.compile(r"^\s*(No [Ee]rrors|Test Passed||\[\S+\] plm:rsh: Warning: setpgid\(\d+,\d+\) failed in parent with "
                   r"errno=Permission denied\(13\))\s*$")
GOOD = re.compile(r"^\s*No [Ee]rrors\s*$", re.M)
CONTROL = {"OMPI_MCA_pml": "ob1", "OMPI_MCA_btl": "self,vader,tcp", "OMPI_MCA_mtl": "^mx",
           "OMPI_MCA_coll_mx_enable": "0"}
PLACES = {"hosts": "node1:64,node2:64", "host": "node1:64"}


class Outcome:
    """The outcome of one start: fault is empty for a test that passes."""

    def __init__(self, fault, output, seconds):
        self.fault, self.output, self.seconds = fault, output, seconds


def end_group(process):
    """mpirun takes its ranks along when told to end; what does not listen is killed."""
    for number, patience in ((signal.SIGTERM, 10), (signal.SIGKILL, None)):
        try:
            os.killpg(process.pid, number)
            return process.communicate(timeout=patience)[0]
        except subprocess.TimeoutExpired:
            pass
        except ProcessLookupError:
            return process.communicate()[0]
    return ""


def judge(test, status, output):
    """Empty, or why the test has failed: the rules of MPICH's runtests."""
    if test.verdict in ("TestErrFatal", "TestStatus"):
        return "" if status != 0 else "ends with status 0"
    if not GOOD.search(output):
        return f"does not print \"No Errors\", status {status}"
    if any(not QUIET.match(line) for line in output.splitlines()):
        return "prints more than \"No Errors\""
    return f"status {status}" if status else ""


class Suite:
    """The tests, where they run, and what became of them."""

    def __init__(self, options):
        self.options = options
        self.build = Path(options.BUILD).resolve()
        self.known = read_known(HERE / "mpich.known")
        self.lock = threading.Lock()
        self.passed = self.failed = self.skipped = 0
        self.times = []

    def start(self, test, place, control):
        """One mpirun. Its own group of processes, so that all of it can be ended."""
        command = ["mpirun", "--host", PLACES[place], "-n", str(test.ranks), f"./{test.program}", *test.arguments]
        # Open MPI's folders are removed by whichever job ends, also while another one makes its own in them.
        folder = tempfile.mkdtemp(dir=os.environ.get("OMPI_MCA_orte_tmpdir_base"))
        environment = {**os.environ, **(CONTROL if control else {}), "OMPI_MCA_orte_tmpdir_base": folder}
        limit, began = test.limit * self.options.patience, time.monotonic()
        process = subprocess.Popen(command, cwd=self.build / test.folder, env=environment, stdin=subprocess.DEVNULL,
                                   stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace",
                                   process_group=0)
        try:
            output = process.communicate(timeout=limit)[0]
            fault = judge(test, process.returncode, output)
        except subprocess.TimeoutExpired:
            output, fault = end_group(process), f"hangs, ended after {limit} s"
        shutil.rmtree(folder, ignore_errors=True)
        return Outcome(fault, output, time.monotonic() - began)

    def say(self, text, output=""):
        lines = output.splitlines()[-self.options.lines:]
        print(text, *(f"    | {line}" for line in lines), sep="\n", flush=True)

    def count(self, verdict, text="", output=""):
        with self.lock:
            setattr(self, verdict, getattr(self, verdict) + 1)
            if text:
                self.say(text, output)

    def absent(self, test):
        """True for a test without a program."""
        if (self.build / test.folder / test.program).exists():
            return False
        if self.known.get(test.name, ("", ""))[0] == "absent":
            self.count("skipped")
        else:
            self.count("failed", f"FAIL {test.name}: does not compile, and tests/mpi/mpich.known does not say why")
        return True

    def listed(self, test, place):
        """A test that is known to fail is still worth running: the list shall not outlive its reason."""
        kind, reason = self.known[test.name]
        if kind != "fails":
            return self.count("skipped") if kind == "hangs" else \
                self.count("failed", f"FAIL {test.name}: listed as absent, but it compiles")
        if self.start(test, place, False).fault:
            return self.count("skipped")
        return self.count("passed", f"note {place} {test.name}: passes, though listed: {reason}")

    def run(self, test, place):
        """Everything about one test in one place."""
        if self.absent(test):
            return
        if test.name in self.known:
            self.listed(test, place)
            return
        outcome = self.start(test, place, False)
        with self.lock:
            self.times.append((outcome.seconds, place, test.name))
        if not outcome.fault:
            self.count("passed", f"ok   {place} {test.name} ({outcome.seconds:.1f} s)" if self.options.verbose else "")
            return
        control = self.start(test, place, True)
        also = f"so does the control: {control.fault}" if control.fault else "the control passes"
        self.count("failed", f"FAIL {place} {test.name}: {outcome.fault}; {also}", outcome.output)

    def endpoints_closed(self):
        """Endpoints that jobs leave open are theirs no more, and would be missing to those that come."""
        for host in ("node1", "node2"):
            output = subprocess.run(["on", host, "omx_endpoint_info"], stdin=subprocess.DEVNULL, check=False,
                                    stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True).stdout
            if re.search(r"^0 of \d+ endpoints open", output, re.M):
                self.count("passed")
            else:
                self.count("failed", f"FAIL endpoints stay open on {host}", output)


    def groups_served(self):
        """Collectives that were to go by frames to groups did."""
        outputs = [subprocess.run(["on", host, "omx_counters"], stdin=subprocess.DEVNULL, check=False,
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True).stdout
                   for host in ("node1", "node2")]
        if any(re.search(r"^.* [1-9]\d* x group frames sent", output, re.M) for output in outputs):
            self.count("passed")
        else:
            self.count("failed", "FAIL no frame went to a group", "".join(outputs))


def places_of(test):
    """Three ranks on two hosts use both ways already; one rank is the same anywhere; Open MPI 4 has no children there."""
    if test.ranks == 1 or test.folder.endswith("spawn"):
        return ("host",)
    return ("hosts",) if test.ranks > 2 else ("hosts", "host")


def wanted(options):
    """(test, place) pairs."""
    tests = read_tests(Path(options.SOURCE))
    if options.selection:
        names = read_lines(options.selection)
        missing = set(names) - {test.name for test in tests}
        if missing:
            sys.exit(f"{options.selection} names what there is not: {sorted(missing)}")
        tests = [test for test in tests if test.name in names]
    if options.only:
        tests = [test for test in tests if any(re.search(pattern, test.name) for pattern in options.only)]
    for test in tests:
        if test.strict:
            yield from ((test, place) for place in options.place if place in places_of(test))


def side_by_side(suite, pairs, capacity):
    """Starts are latency most of all, and ranks wait for processors: small jobs share them, others are alone."""
    free, changed = capacity, threading.Condition()

    def one(pair, share):
        nonlocal free
        try:
            suite.run(*pair)
        finally:
            with changed:
                free += share
                changed.notify()

    with concurrent.futures.ThreadPoolExecutor(capacity) as pool:
        futures = []
        for pair in pairs:
            share = capacity if pair[0].heavy else min(capacity, max(2, pair[0].ranks))
            with changed:
                changed.wait_for(lambda share=share: free >= share)
                free -= share
            futures.append(pool.submit(one, pair, share))
        for future in futures:
            future.result()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("SOURCE")
    parser.add_argument("BUILD")
    parser.add_argument("--selection", help="a file with the names of tests")
    parser.add_argument("--only", action="append", help="a pattern of names")
    parser.add_argument("--place", action="append", choices=sorted(PLACES))
    parser.add_argument("--groups", action="store_true", help="frames to groups must have been sent in the end")
    parser.add_argument("--ranks", type=int, default=4 * os.cpu_count(), help="so many at a time, in several jobs")
    parser.add_argument("--patience", type=int, default=1)
    parser.add_argument("--lines", type=int, default=12)
    parser.add_argument("--verbose", action="store_true")
    parser.add_argument("--programs", action="store_true", help="only print what must be compiled")
    options = parser.parse_args()
    options.place = options.place or list(PLACES)
    pairs = list(wanted(options))
    if options.programs:
        print(*sorted({f"{test.folder}/{test.program}" for test, _ in pairs}), sep="\n")
        return 0
    suite = Suite(options)
    side_by_side(suite, pairs, options.ranks)
    suite.endpoints_closed()
    if options.groups:
        suite.groups_served()
    if options.verbose:
        for seconds, place, name in sorted(suite.times, reverse=True)[:40]:
            print(f"time {seconds:.1f} {place} {name}")
    print(f"{suite.passed} passed, {suite.failed} failed, {suite.skipped} skipped")
    return 1 if suite.failed else 0


if __name__ == "__main__":
    sys.exit(main())

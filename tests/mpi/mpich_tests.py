# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""The tests of MPICH's test/mpi: which programs there are, and how each is built and run."""
import functools
import re
from pathlib import Path

FOLDERS = ("attr", "coll", "comm", "datatype", "errhan", "group", "info", "init", "pt2pt", "rma", "spawn", "topo",
           "threads/coll", "threads/comm", "threads/init", "threads/pt2pt", "threads/rma", "threads/spawn")
# Marks that MPICH's configure replaces: tests that take more memory than most machines have stay out.
MARKS = {"@largetest@": None, "@comm_overlap@": "", "@namepub_tests@": ""}
DATATYPES = ("MPI_INT", "MPI_INT:4+MPI_DOUBLE:8")
DATATYPE_COUNTS = {"coll": ["arg=-count={0}"], "rma": ["arg=-count={0}"], "pt2pt": ["arg=-sendcnt={0}", "arg=-recvcnt={1}"]}
DEFAULT_LIMIT = 600  # seconds; MPICH's own, 180, pass where others take the processors
HEAVY = 1.0  # GB of memory from which a test runs alone


class Test:
    """A line of a testlist. Its name is what our lists call it: folder/program processes arguments."""

    def __init__(self, folder, words):
        self.folder, self.program, self.ranks = folder, words[0], int(words[1])
        self.arguments, options = [], {}
        for word in words[2:]:
            key, _, value = word.partition("=")
            if key == "arg":
                self.arguments.append(value)
            else:
                options[key] = value
        self.strict = options.get("strict", "").lower() != "false"
        self.limit = max(DEFAULT_LIMIT, int(options.get("timeLimit", 0)))
        self.verdict = options.get("resultTest", "NoErrors")
        self.memory = float(options.get("mem", 0))
        self.name = " ".join([f"{folder}/{self.program}", str(self.ranks), *self.arguments])

    @property
    def heavy(self):
        return self.memory >= HEAVY


def unmarked(line):
    """The line without its mark, None if the mark or "#" turns it off."""
    for mark, replacement in MARKS.items():
        if mark in line:
            if replacement is None:
                return None
            line = line.replace(mark, replacement)
    return None if line.startswith("#") else line


def listed_tests(source, folder):
    path = next(p for p in (source / folder / "testlist", source / folder / "testlist.in") if p.exists())
    for line in path.read_text().splitlines():
        words = (unmarked(line) or "").split()
        if len(words) > 1:
            yield Test(folder, words)


def datatype_tests(source):
    """The tests that MPICH's gentests_dtp.sh makes of its table: derived datatypes, drawn by a seed, of several lengths."""
    seed = 0
    for line in (source / "maint/dtp-test-config.txt").read_text().splitlines():
        fields = line.split(":")
        folder, _, program = fields[0].rpartition("/")
        if line.startswith("#") or folder not in DATATYPE_COUNTS:
            continue
        for basic in DATATYPES if folder == "pt2pt" else DATATYPES[:1]:
            for count in fields[2].split():
                seed += 1
                counts = [word.format(count, 2 * int(count)) for word in DATATYPE_COUNTS[folder]]
                yield Test(folder, [program, fields[4], f"arg=-type={basic}", *counts, f"arg=-seed={seed}",
                                    f"arg=-testsize={fields[5]}", *fields[3].split()])


def read_tests(source):
    """All tests, each once: what differs in MPICH's own variables alone is the same to others."""
    tests = {}
    for test in [*(test for folder in FOLDERS for test in listed_tests(source, folder)), *datatype_tests(source)]:
        tests.setdefault(test.name, test)
    return list(tests.values())


def read_lines(path):
    """Lines of one of our lists without comments."""
    lines = (line.partition("#")[0].rstrip() for line in Path(path).read_text().splitlines())
    return [line for line in lines if line]


@functools.lru_cache(maxsize=None)
def makefile_variables(folder):
    """PROGRAM_SOURCES and the like of a folder's Makefile.am."""
    text = (folder / "Makefile.am").read_text().replace("\\\n", " ")
    return dict(re.findall(r"^(\w+) *= *(.*)$", text, re.M))


def how_to_build(source, folder, program):
    """(sources, -D flags) of a program."""
    variables = makefile_variables(source / folder)
    sources = [word for word in variables.get(f"{program}_SOURCES", f"{program}.c").split() if word.endswith(".c")]
    flags = [word for word in variables.get(f"{program}_CPPFLAGS", "").split() if word.startswith("-D")]
    return sources, flags


def read_known(path):
    """{test: (kind, reason)} of the lines "TEST: KIND: REASON". Kinds: fails, hangs, absent (does not compile)."""
    entries = (line.split(": ", 2) for line in read_lines(path))
    return {name: (kind, reason) for name, kind, reason in entries}

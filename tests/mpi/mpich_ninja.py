#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""Writes the build.ninja that compiles MPICH's tests with the Open MPI of this host.

usage: mpich_ninja.py SOURCE BUILD     SOURCE is the unpacked test/mpi, BUILD takes build.ninja and include/

Its own configure asks the compiler and MPI for what is known here, and libtool takes most of the time of its
makefiles. Each program is FOLDER/PROGRAM; how it is built stands in the folder's Makefile.am.
"""
import shutil
import subprocess
import sys
from pathlib import Path

from mpich_tests import how_to_build, read_tests

CONFIG = """\
#define HAVE_DOUBLE__COMPLEX 1
#define HAVE_FLOAT__COMPLEX 1
#define HAVE_GETRUSAGE 1
#define HAVE_INTTYPES_H 1
#define HAVE_LONG_DOUBLE 1
#define HAVE_LONG_DOUBLE__COMPLEX 1
#define HAVE_LONG_LONG 1
#define HAVE_MPI_SPAWN 1
#define HAVE_MPI_WIN_CREATE 1
#define HAVE_STDARG_H 1
#define HAVE_STDINT_H 1
#define HAVE_STDLIB_H 1
#define HAVE_STRINGS_H 1
#define HAVE_STRING_H 1
#define HAVE_SYS_RESOURCE_H 1
#define HAVE_SYS_TIME_H 1
#define HAVE_UNISTD_H 1
#define HAVE_USLEEP 1
#define HAVE__BOOL 1
#define POINTERINT_t long
#define THREAD_PACKAGE_NAME THREAD_PACKAGE_POSIX
#define USE_STRICT_MPI 1
"""
# Calls that MPI 3 has removed, which do what the newer ones do. Included after mpi.h.
DTPOOLS_CONFIG = """\
#define MPI_Type_hvector MPI_Type_create_hvector
#define MPI_Type_hindexed MPI_Type_create_hindexed
"""
RULES = """\
cflags = {cflags} -std=gnu99 -O0 -w -Iinclude -I{source}/include -I{source}/dtpools/include
libs = {libs} -lm -lpthread
rule cc
  command = {ccache}gcc $cflags $flags -c $in -o $out
rule ar
  command = rm -f $out && ar cr $out $in
rule link
  command = gcc $in $libs -o $out
"""
MTEST = ["util/mtest.c", "util/mtest_common.c", "util/dtypes.c"]
DTPOOLS = [f"dtpools/src/dtpools{part}.c" for part in ("", "_attr", "_custom", "_desc", "_init_verify", "_misc")]


def pkg_config(what):
    return subprocess.run(["pkg-config", what, "ompi-c"], check=True, capture_output=True, text=True).stdout.strip()


def compile_to(out, source, flags, path):
    """The edge of one object."""
    out.append(f"build {path}: cc {source}\n  flags = {' '.join(flags)}\n")
    return path


def library(out, source, name, extra, flags):
    objects = [compile_to(out, source / path, flags, f"obj/{name}/{Path(path).stem}.o")
               for path in [*MTEST, *DTPOOLS, extra]]
    out.append(f"build {name}.a: ar {' '.join(objects)}\n")


def program(out, source, folder, name):
    sources, flags = how_to_build(source, folder, name)
    kind = "threaded" if folder.startswith("threads") else "single"
    if kind == "threaded":
        flags = [*flags, "-DMTEST_USE_THREAD"]
    objects = [compile_to(out, source / folder / path, flags, f"obj/{folder}/{name}-{Path(path).stem}.o")
               for path in sources]
    out.append(f"build {folder}/{name}: link {' '.join(objects)} {kind}.a\n")


def main(source, build):
    (build / "include").mkdir(parents=True, exist_ok=True)
    (build / "include/mpitestconf.h").write_text(CONFIG)
    (build / "dtpoolsconf.h").write_text(DTPOOLS_CONFIG)
    ccache = "ccache " if shutil.which("ccache") else ""
    out = [RULES.format(cflags=pkg_config("--cflags"), libs=pkg_config("--libs"), source=source, ccache=ccache)]
    library(out, source, "single", "util/mtest_single.c", [])
    library(out, source, "threaded", "util/mtest_thread.c", ["-DMTEST_USE_THREAD"])
    for folder, name in sorted({(test.folder, test.program) for test in read_tests(source)}):
        program(out, source, folder, name)
    (build / "build.ninja").write_text("".join(out))


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    main(Path(sys.argv[1]).resolve(), Path(sys.argv[2]))

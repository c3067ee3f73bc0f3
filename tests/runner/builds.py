# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""The builds that suites need, made once: plain, with address and undefined-behaviour sanitizer, with thread sanitizer."""

import os
import subprocess
import sys

# Warnings are errors for the project's own tests, not for its users. Several files are compiled as one, since two thirds
# of the time go to the headers that they share; of debugging information there is what names a line in a report.
COMMON = ['-Dwerror=true', '-Dunity=on', '-Dunity_size=10', '-Ddebug=false', '-Dc_args=-g1', '-Dcpp_args=-g1']
# Sanitized code costs twice as much to optimise, and less to run than that.
SANITIZED = [*COMMON, '-Db_lundef=false', '-Doptimization=g']
OPTIONS = {
    'plain': [*COMMON, '-Doptimization=2'],
    'asan': [*SANITIZED, '-Db_sanitize=address,undefined'],
    'tsan': [*SANITIZED, '-Db_sanitize=thread'],
}


class BuildError(Exception):
    """A command of a build has failed; its output is in the log."""


def run(log, *command):
    log.write(f'$ {" ".join(command)}\n')
    log.flush()
    if subprocess.run(command, stdout=log, stderr=log, stdin=subprocess.DEVNULL, check=False).returncode:
        raise BuildError


def configure(folder, kind, log):
    """A build folder, made once."""
    path = os.path.join(folder, kind)
    if not os.path.exists(os.path.join(path, 'build.ninja')):
        run(log, 'meson', 'setup', path, *OPTIONS[kind])
    return path


def targets_of(runner, kind, names):
    """The targets that ninja must build for these suites of a build."""
    printed = subprocess.run([sys.executable, runner, '--targets', kind, *names], check=False,
                             capture_output=True, text=True)
    if printed.returncode:
        raise BuildError
    return printed.stdout.split()


def build(folder, suites, runner, log):
    """Builds the plain tree whole; with a sanitizer only what the suites run. Scripts make further builds themselves."""
    run(log, 'ninja', '-C', configure(folder, 'plain', log))
    for kind in OPTIONS:
        names = [s.meson_suite for s in suites if s.build == kind and kind != 'plain']
        if names:
            path = configure(folder, kind, log)
            run(log, 'ninja', '-C', path, *targets_of(runner, kind, names))

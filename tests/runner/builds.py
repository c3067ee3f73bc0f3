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


def build_plain(folder, log):
    """The plain tree, whole. Scripts make further builds themselves."""
    run(log, 'ninja', '-C', configure(folder, 'plain', log))


def main(kind, *names):
    """Builds with a sanitizer what those Meson suites run, as a suite of the runner: the log is the standard output."""
    runner = os.path.join(os.path.dirname(__file__), '..', 'support', 'run_suite.py')
    try:
        path = configure(os.environ['EMX_BUILD'], kind, sys.stdout)
        run(sys.stdout, 'ninja', '-C', path, *targets_of(runner, kind, names))
    except BuildError:
        print('0 passed, 1 failed, 0 skipped')
        return 1
    print('1 passed, 0 failed, 0 skipped')
    return 0


if __name__ == '__main__':
    sys.exit(main(*sys.argv[1:]))

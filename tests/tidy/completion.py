#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""Compares what shells complete with what tools print with --help: every option, and no other.

usage: completion.py FOLDER TOOL...     FOLDER has the generated files of bash (NAME), zsh (_NAME) and fish (NAME.fish)

bash is asked itself, and fish where it is installed; zsh, whose completion needs a terminal, has its file read, and
its syntax checked where it is installed. Ends with a line of counts.
"""
import os
import re
import shutil
import subprocess
import sys

import manpages

ASK_BASH = r'''
source "$1"
tool=$2 word=$3
read -r _ _ function _ <<<"$(complete -p "$tool")"
shift 3
COMP_WORDS=("$tool" "$@" "$word") COMP_CWORD=$(($# + 1)) COMPREPLY=()
"$function" "$tool" "$word" "${COMP_WORDS[COMP_CWORD-1]}" 2>/dev/null
printf '%s\n' "${COMPREPLY[@]}"
'''


def run(*command):
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode or done.stderr:
        raise RuntimeError(f"{' '.join(command[:2])}: {done.stderr.strip()[-300:] or done.returncode}")
    return done.stdout


def bash(path, tool, word, *before):
    return set(run("bash", "-c", ASK_BASH, "bash", path, tool, word, *before).split())


def fish(path, tool, line):
    lines = run("fish", "--no-config", "-c", f"source '{path}'; complete -C '{tool} {line}'").splitlines()
    return {text.split("\t")[0] for text in lines}


def differences(shell, completed, wanted):
    for name in sorted(completed ^ wanted):
        yield f"{shell}: {name} " + ("is no option" if name in completed else "is not completed")


def ask_bash(path, tool, shown):
    yield from differences("bash", bash(path, tool, "-"), {name for names in shown for name in names})
    for names, takes in shown.items():
        for name in names:
            if takes and any(word in {n for ns in shown for n in ns} for word in bash(path, tool, "", name)):
                yield f"bash: an option is completed where {name} takes a value"
    yield from differences("bash", bash(path, tool, "--v"), {n for ns in shown for n in ns if n.startswith("--v")})


def ask_fish(path, tool, shown):
    if not shutil.which("fish"):
        return
    for word in ("-", "--"):
        wanted = {n for ns in shown for n in ns if n.startswith(word) and (word == "--" or len(n) == 2 or len(ns) == 1)}
        found = {n for n in fish(path, tool, word) if n.startswith("--") or len(n) == 2}
        # Behind "-" fish shows the letters, and the words that have none or all of them, as its version has it.
        missing = wanted - found if word == "-" else wanted ^ found
        yield from (f"fish: {name} is not as in --help" for name in sorted(missing))
        yield from (f"fish: {name} is no option" for name in sorted(found - {n for ns in shown for n in ns}))


def read_zsh(path, shown):
    with open(path, encoding="utf-8") as file:
        text = file.read()
    found = {}
    for line in text.splitlines():
        match = re.match(r"\s*'(?:\(([^)]*)\)'\{[^}]*\}'|(--?[\w-]+))\[.*\](:\w+:.*)?' \\$", line)
        if match:
            found[tuple(sorted((match[1] or match[2]).split()))] = match[3] is not None
    yield from (f"zsh: {', '.join(names)} is not as in --help" for names in sorted(
        n for n in found.keys() | shown.keys() if found.get(n) != shown.get(n)))
    if shutil.which("zsh"):
        run("zsh", "-n", path)


def words_of_formats(folder):
    """The values that some options take come from the page, too."""
    path = os.path.join(folder, "omx_perf")
    if bash(path, "omx_perf", "", "--format") != {"table", "csv", "json"}:
        yield "bash: --format of omx_perf has other words than table, csv, json"
    if bash(path, "omx_perf", "j", "-F") != {"json"} or bash(path, "omx_perf", "c", "--format", "=") != {"csv"}:
        yield "bash: words of --format are not completed"
    init = os.path.join(folder, "omx_init")
    if os.path.exists(init) and bash(init, "omx_init", "st") != {"start", "stop", "status"}:
        yield "bash: commands of omx_init are not completed"


def names_of(tool):
    name = os.path.basename(tool)
    natives = {"omx_info", "omx_counters", "omx_endpoint_info"}
    return [name] + ([name[1:]] if name in natives else [])


def check(folder, tool):
    name = os.path.basename(tool)
    shown = manpages.of_help(run(tool, "--help"))
    found = []
    try:
        for called in names_of(tool):
            found += ask_bash(os.path.join(folder, name), called, shown)
            found += ask_fish(os.path.join(folder, name + ".fish"), called, shown)
        found += read_zsh(os.path.join(folder, "_" + name), shown)
    except (RuntimeError, OSError) as error:
        found.append(str(error))
    return [f"{name}: {text}" for text in found]


def proves_itself(folder, tool):
    """An option more, and one less, are seen."""
    shown = manpages.of_help(run(tool, "--help"))
    name = os.path.basename(tool)
    gone = next(iter(shown))
    for wrong in ({**shown, ("--zebra",): False}, {k: v for k, v in shown.items() if k != gone}):
        if not list(ask_bash(os.path.join(folder, name), name, wrong)) or \
                not list(read_zsh(os.path.join(folder, "_" + name), wrong)):
            sys.exit("cannot tell options apart")


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    folder, tools = sys.argv[1], sys.argv[2:]
    proves_itself(folder, tools[0])
    results = [check(folder, tool) for tool in tools] + [list(words_of_formats(folder))]
    for text in (t for found in results for t in found):
        print(text)
    failed = sum(bool(found) for found in results)
    print(f"{len(results) - failed} passed, {failed} failed, 0 skipped")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()

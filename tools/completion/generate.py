#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""Makes the completion of a tool for a shell from the tool's manual page.

usage: generate.py bash|zsh|fish PAGE OUTPUT [OTHER-NAME...]

The page has the options in its part OPTIONS; a test compares it with what the tool's --help shows. The kind of a value
is told by its name in the page: FILE, FOLDER, COMMAND; the words of a FORMAT by the page's sentence about it.
"""
import os
import re
import sys

# Kinds of the operands of tools; others are hosts, or words of the page's synopsis ("start | stop").
OPERANDS = {"omx_trace": "files", "omx_init_peers": "files", "omx_attach": "interfaces"}
KINDS = {"FILE": "files", "FOLDER": "folders", "COMMAND": "commands"}
# Values that are called TEXT or otherwise, by their tool and option.
VALUES = {("omx_init", "--config"): "files", ("omx_trace", "--output"): "files", ("omx_trace", "--execute"): "commands"}
INTERFACES = "ls /sys/class/net 2>/dev/null"


class Option:
    def __init__(self, tool, names, value, text):
        self.names, self.value, self.text = names, value, text
        self.words = ()
        self.kind = VALUES.get((tool, names[-1])) or KINDS.get(value, "")
        words = re.match(r"(\w+) \(default\), (\w+) or (\w+)", text)
        if value and words:
            self.words, self.kind = words.groups(), "words"

    @property
    def summary(self):
        """Up to the first full stop."""
        return re.split(r"(?<=\w)\.( |$)|(?<=\))\.( |$)", self.text)[0]


def plain(text):
    """A line of a page without its macro and fonts."""
    text = re.sub(r"^\.(BR|RB|IR|RI|B|I) (.*)", lambda m: joined(m[2]) if len(m[1]) > 1 else m[2].replace('"', ""), text)
    return re.sub(r"\\f.", "", text).replace("\\-", "-").replace("\\ ", " ")


def joined(arguments):
    return "".join(word.strip('"') for word in re.findall(r'"[^"]*"|\S+', arguments))


def sections(page):
    return {name: text for name, text in re.findall(r"^\.SH ([^\n]*)\n(.*?)(?=^\.SH |\Z)", page, re.M | re.S)}


def options_of(tool, section):
    found = []
    for line, text in re.findall(r"^\.TP\n(\.BR? [^\n]*)\n(.*?)(?=^\.TP$|^\.SS |\Z)", section, re.M | re.S):
        text = " ".join(plain(t) for t in text.splitlines() if not t.startswith((".RS", ".RE", ".nf", ".fi", ".PP")))
        text = re.sub(r" ([.,;:])", r"\1", text)
        # A line may be about several options; each begins with its letter, or with its only name.
        for part in re.split(r" (?=-\w[ ,])", line.replace('"', "").replace("\\-", "-")):
            names = tuple(sorted(re.findall(r"(?<![\w-])--?[A-Za-z][\w-]*", part), key=len))
            value = re.search(r"\\fI(\w+)", part)
            if names:
                found.append(Option(tool, names, value[1] if value else "", text))
    return found


class Page:
    def __init__(self, path, others):
        self.tool = os.path.basename(path).rsplit(".", 1)[0]
        self.names = [self.tool, *others]
        with open(path, encoding="utf-8") as file:
            parts = sections(file.read())
        self.options = options_of(self.tool, parts["OPTIONS"])
        words = re.search(r"^\.BR? (\w+(?: \| \w+)+)$", parts["SYNOPSIS"], re.M)
        self.words = words[1].split(" | ") if words else []
        self.operands = "words" if self.words else OPERANDS.get(self.tool, "")
        if not self.options:
            sys.exit(f"{path}: no options in its part OPTIONS")


def bash_reply(kind, words=()):
    """The statement that completes a word of that kind."""
    asked = {"files": "-f", "folders": "-d", "commands": "-c", "interfaces": f'-W "$({INTERFACES})"',
             "words": f"-W '{' '.join(words)}'"}.get(kind)
    if not asked:
        return "COMPREPLY=()"
    also = "compopt -o filenames 2>/dev/null; " if kind in ("files", "folders") else ""
    return f'{also}mapfile -t COMPREPLY < <(compgen {asked} -- "$word")'


def bash(page):
    every = " ".join(name for option in page.options for name in option.names)
    cases = "".join(f"    {' | '.join(o.names)}) {bash_reply(o.kind, o.words)}; return ;;\n" for o in page.options if o.value)
    return f"""# bash completion of {page.tool}
_{page.tool}() {{
    local word=${{COMP_WORDS[COMP_CWORD]}} option=${{COMP_WORDS[COMP_CWORD-1]}}
    # --option=word comes as three words.
    if [[ $word = = ]]; then
        word=''
    elif [[ $option = = ]]; then
        option=${{COMP_WORDS[COMP_CWORD-2]}}
    fi
    case $option in
{cases}    esac
    if [[ $word = -* ]]; then
        mapfile -t COMPREPLY < <(compgen -W '{every}' -- "$word")
    else
        {bash_reply(page.operands, page.words)}
    fi
}}
complete -F _{page.tool} {' '.join(page.names)}
"""


def zsh_text(text):
    return text.replace("'", "'\\''").replace("[", "\\[").replace("]", "\\]").replace(":", "\\:")


def zsh_action(kind, words=()):
    return {"files": "_files", "folders": "_files -/", "commands": "_command_names", "words": f"({' '.join(words)})",
            "interfaces": f"($({INTERFACES}))"}.get(kind, " ")


def zsh(page):
    lines = []
    for option in page.options:
        value = f":{option.value}:{zsh_action(option.kind, option.words)}" if option.value else ""
        text = f"[{zsh_text(option.summary)}]{value}"
        if len(option.names) > 1:
            lines.append(f"'({' '.join(option.names)})'{{{','.join(option.names)}}}'{text}'")
        else:
            lines.append(f"'{option.names[0]}{text}'")
    lines.append(f"'*:operand:{zsh_action(page.operands, page.words)}'")
    between = " \\\n    "
    return f"#compdef {' '.join(page.names)}\n# zsh completion of {page.tool}\n_arguments -s{between}{between.join(lines)}\n"


def fish(page):
    out = [f"# fish completion of {page.tool}"]
    does = {"files": " -rF", "folders": " -x -a '(__fish_complete_directories)'", "commands": " -x -a '(__fish_complete_command)'"}
    for name in page.names:
        if page.operands != "files":
            words = f"({INTERFACES})" if page.operands == "interfaces" else " ".join(page.words)
            out.append(f"complete -c {name} -f" + (f" -a '{words}'" if words else ""))
        for option in page.options:
            line = f"complete -c {name}"
            for word in option.names:
                line += f" -l {word[2:]}" if word.startswith("--") else f" -s {word[1:]}"
            if option.value:
                line += f" -x -a '{' '.join(option.words)}'" if option.words else does.get(option.kind, " -x")
            summary = option.summary.replace("\\", "\\\\").replace("'", "\\'")
            out.append(f"{line} -d '{summary}'")
    return "\n".join(out) + "\n"


def main():
    shells = {"bash": bash, "zsh": zsh, "fish": fish}
    if len(sys.argv) < 4 or sys.argv[1] not in shells:
        sys.exit(__doc__)
    page = Page(sys.argv[2], sys.argv[4:])
    with open(sys.argv[3], "w", encoding="utf-8") as file:
        file.write(shells[sys.argv[1]](page))


if __name__ == "__main__":
    main()

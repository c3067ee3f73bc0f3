#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""Compares the options that tools print with -h with those of their manual pages, and the variables
that omx_info -c prints with those of ethermx(7).

usage: manpages.py MAN-FOLDER TOOL...    TOOL is a program; its page is MAN-FOLDER/NAME.[18]

An option is known by all its names together, and by whether it takes a value. Of the variables, all
of another MX are in the page (those of our own need not be), and none but real ones. Ends with a
line of counts. Before that it proves on samples that it can see a difference.
"""
import glob
import os
import re
import subprocess
import sys

NAME = re.compile(r'(?<![\w-])--?[A-Za-z][\w-]*')


def of_help(text):
    """{(names): takes a value} of a usage text: lines such as "  -b, --board N    only this board"."""
    options = {}
    for line in text.splitlines():
        match = re.match(r' +(-\w, )?(--[\w-]+)( [A-Z]+)?( |$)', line)
        if match:
            names = tuple(sorted(NAME.findall(match[0])))
            options[names] = match[3] is not None
    return options


def of_page(text):
    """The same of the OPTIONS part of a page: lines such as ".BR \\-b ", " \\-\\-board " " \\fIN\\fR"."""
    options = {}
    section = re.search(r'^\.SH OPTIONS$(.*?)^\.SH ', text, re.M | re.S)
    for line in re.findall(r'^\.TP\n(\.BR? .*)$', section[1] if section else '', re.M):
        words = re.sub(r'"', '', line.replace('\\-', '-'))
        # A line may be about several options; each begins with its letter, or with its only name.
        parts = re.split(r' (?=-\w[ ,])', words)
        for part in parts:
            names = tuple(sorted(NAME.findall(part)))
            if names:
                options[names] = '\\fI' in part
    return options


def differences(shown, written):
    for names in sorted(shown.keys() | written.keys()):
        label = ', '.join(names)
        if names not in written:
            yield f'{label}: the page lacks it'
        elif names not in shown:
            yield f'{label}: the tool lacks it'
        elif shown[names] != written[names]:
            yield f'{label}: takes a value only in one of the two'


def variables_amiss(shown, page):
    """shown: what omx_info -c prints; page: ethermx.7."""
    real = set(re.findall(r'^(\w+) ', shown, re.M)) | {'OMX_IGNORE_MX_ENV'}
    idle = set(re.findall(r'^(\w+) .*accepted, no effect', shown, re.M))  # the page refers to omx_info
    written = set(re.findall(r'\.?Ev ([OE]MX_\w+)', page))
    for name in sorted(written - real):
        yield f'{name}: nothing reads it'
    for name in sorted(n for n in real - written - idle if n.startswith('OMX_')):
        yield f'{name}: the page lacks it'


def proves_itself():
    wrong = list(variables_amiss('OMX_A 0\nOMX_B 1\nEMX_C 2\nOMX_D - accepted, no effect: none\n', '.It Ev OMX_A , Ev MX_A\n.It Ev OMX_X\n.It Ev OMX_IGNORE_MX_ENV'))
    if wrong != ['OMX_X: nothing reads it', 'OMX_B: the page lacks it']:
        sys.exit(f'cannot tell variables apart: {wrong}')
    shown = 'options:\n  -a, --all      x\n  -b, --board N  x\n      --log FILE y\n'
    good = ('.SH OPTIONS\n.TP\n.BR \\-a ", " \\-\\-all\nAll.\n.TP\n.BR \\-b ", " \\-\\-board " " \\fIN\\fR\nB.\n'
            '.TP\n.BR \\-\\-log " " \\fIFILE\nL.\n.SH END\n')
    cases = [(good, 0), (good.replace('\\-\\-all', '\\-\\-every'), 2), (good.replace(' " " \\fIN\\fR', ''), 1),
             (good.replace('.TP\n.BR \\-\\-log', '.BR \\-\\-log'), 1)]
    for page, wanted in cases:
        found = list(differences(of_help(shown), of_page(page)))
        if len(found) != wanted:
            sys.exit(f'cannot tell pages apart: {found} in\n{page}')


def check(folder, tool):
    name = os.path.basename(tool)
    pages = glob.glob(os.path.join(folder, f'{name}.[18]'))
    if not pages:
        return [f'{name}: no manual page in {folder}']
    done = subprocess.run([tool, '-h'], capture_output=True, text=True, check=False)
    shown = of_help(done.stdout + done.stderr)
    with open(pages[0], encoding='utf-8') as file:
        written = of_page(file.read())
    if not shown:
        return [f'{name} -h shows no option']
    return [f'{name}: {d}' for d in differences(shown, written)]


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    proves_itself()
    folder, tools = sys.argv[1], sys.argv[2:]
    results = [check(folder, tool) for tool in tools]
    for tool in (t for t in tools if os.path.basename(t) == 'omx_info'):
        shown = subprocess.run([tool, '-c'], capture_output=True, text=True, check=True).stdout
        with open(os.path.join(folder, 'ethermx.7'), encoding='utf-8') as file:
            results.append([f'ethermx(7): {d}' for d in variables_amiss(shown, file.read())])
    for text in (t for found in results for t in found):
        print(text)
    failed = sum(bool(found) for found in results)
    print(f'{len(results) - failed} passed, {failed} failed, 0 skipped')
    sys.exit(1 if failed else 0)


if __name__ == '__main__':
    main()

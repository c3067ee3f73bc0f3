#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""Checks the manual pages: those that docs/reference makes of the headers, and those by hand.

usage: reference.py MAN-FOLDER REFERENCE-FOLDER LIBRARY...    MAN-FOLDER has the pages by hand

- Each symbol that a LIBRARY exports and a public header names has a page, which lists it, says what each argument
  of its declaration is, has results, and has errors or says that there are none.
- mandoc and groff find nothing wrong with any page, and each page of ours that one refers to is there.
- Names of pages differ by more than case, since man(1) does not look at it.

Ends with a line of counts. Before that it proves on samples that it can see each fault.
"""
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
HEADERS = (*ROOT.glob('include/*.h'), *ROOT.glob('include/mx_internals/*.h'), ROOT / 'compat/fm/fm.h',
           ROOT / 'compat/gamma/gamma.h')
OURS = re.compile(r'(mx_|omx|mx__|MX_|OMX_|FM_|gamma|fm$|ethermx$|netlab$)')
# Pages by hand have a section that mandoc wants elsewhere, and no date.
BY_HAND = re.compile(r'missing date|unexpected section|out of conventional order')


def public_text(paths=HEADERS):
    return re.sub(r'/\*.*?\*/', '', '\n'.join(p.read_text(encoding='utf-8') for p in paths), flags=re.S)


def exported(library):
    """Names of a library's functions and data, without version nodes."""
    listed = subprocess.run(['nm', '-D', '--defined-only', library], capture_output=True, text=True, check=True).stdout
    return sorted({name.split('@')[0] for kind, name in re.findall(r' ([TDRBVW]) (\S+)$', listed, re.M)})


def parameters(name, text):
    """Names of a function's parameters in its declaration; None if it has no declaration."""
    match = re.search(rf'^[\w \t*]*\b{name}\(((?:[^();]|\([^()]*\))*)\)\s*[;{{]', text, re.M)
    if not match:
        return None
    found = []
    for part in re.split(r',(?![^(]*\))', match[1]):
        pointer = re.search(r'\(\*(\w+)\)', part)
        last = re.search(r'(\w+)\s*$', part)
        if part.strip() not in ('void', '...'):
            found.append(pointer[1] if pointer else last[1])
    return found


def section(page, title):
    match = re.search(rf'^\.Sh {title}\n(.*?)(?=^\.Sh |\Z)', page, re.M | re.S)
    return match[1] if match else ''


def faults_of(name, page, declared):
    """The faults of the page of one symbol; `declared` has its parameters, or is None for data."""
    if name not in re.findall(r'^\.Nm (\S+)', page, re.M):
        yield f'{name}: its page does not list it'
    if declared is None:
        return
    for parameter in declared:
        if not re.search(rf'^\.It Fa {parameter}( .*)?\n(?!\.It|\.El).+', section(page, 'ARGUMENTS'), re.M):
            yield f'{name}: its page does not say what {parameter} is'
    for title in ('RETURN VALUES', 'ERRORS', 'THREADS'):
        if not section(page, title).strip():
            yield f'{name}: its page has no {title}'
    errors = section(page, 'ERRORS')
    if errors and not errors.startswith('None.') and not re.search(r'^\.It Dv \w+\n(?!\.It|\.El).+', errors, re.M):
        yield f'{name}: its page lists no error and does not say "None."'


def page_of(folder, name):
    """The text of a page, through a link; None if there is none."""
    path = folder / f'{name}.3'
    if not path.exists():
        return None
    text = path.read_text(encoding='utf-8')
    link = re.fullmatch(r'\.so man3/(\S+)\n', text)
    return page_of(folder, link[1].removesuffix('.3')) if link else text


def missing_or_wrong(folder, library, text):
    for name in exported(library):
        if not re.search(rf'\b{name}\b', text):
            continue  # for old binaries alone: no header has it
        page = page_of(folder, name)
        if page is None:
            yield f'{name}: no page'
        else:
            yield from faults_of(name, page, parameters(name, text))


def lint(path, by_hand):
    """Complaints of mandoc and groff about one page."""
    for command in (['mandoc', '-Tlint', '-W', 'warning', path], ['groff', '-ww', '-mandoc', '-Tutf8', '-z', path]):
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        for line in (done.stdout + done.stderr).splitlines():
            if not (by_hand and BY_HAND.search(line)):
                yield f'{path.name}: {line}'


def references(text):
    """Pages that one refers to: by .Xr, or as man(7) has it, ".BR omxd (8)"."""
    return re.findall(r'\.Xr (\S+) (\d)', text) + re.findall(r'^\.BR (\w+) \((\d)\)', text, re.M)


def dead(name, text, there):
    for target, number in references(text):
        if OURS.match(target) and f'{target}.{number}' not in there:
            yield f'{name}: refers to {target}({number}), which is not there'


def alike(names):
    seen = {}
    for name in sorted(names):
        other = seen.setdefault(name.lower(), name)
        if other != name:
            yield f'{name}: differs from {other} by case alone'


SAMPLE = ('.Sh NAME\n.Nm f ,\n.Nm g\n.Nd x\n.Sh ARGUMENTS\n.Bl -tag\n.It Fa a\nOne.\n.It Fa b Pq Fn f\nTwo.\n.El\n'
          '.Sh RETURN VALUES\n0\n.Sh ERRORS\n.Bl -tag\n.It Dv E\nBad.\n.El\n.Sh THREADS\nAny.\n')


def proves_itself(folder):
    declared = parameters('f', 'int f(struct x *a,\n void (*b)(int, int));\n')
    cases = [(SAMPLE, 0), (SAMPLE.replace('.Nm f ,\n', ''), 1), (SAMPLE.replace('.It Fa b Pq Fn f\nTwo.\n', ''), 1),
             (SAMPLE.replace('One.\n', ''), 1), (SAMPLE.replace('Sh THREADS', 'Sh X'), 1),
             (SAMPLE.replace('.Sh RETURN VALUES\n0\n', ''), 1), (SAMPLE.replace('Bad.\n', ''), 1)]
    wrong = [page for page, count in cases if len(list(faults_of('f', page, declared))) != count]
    bad = folder / 'sample.3'
    bad.write_text('.Dd November 1, 2026\n.Dt F 3\n.Os\n.Sh NAME\n.Nm f\n.Nd x\n.Sh DESCRIPTION\n.Xyz\n', encoding='utf-8')
    complaints = list(lint(bad, False))
    bad.unlink()
    if declared != ['a', 'b'] or wrong or len(complaints) < 2:
        sys.exit(f'cannot see faults: {declared} {wrong} {complaints}')
    if len(list(dead('p', '.Xr mx_a 3 ,\n.Xr mx_b 3\n.BR omxd (8)\n', {'mx_a.3'}))) != 2 or len(list(alike(['A', 'a']))) != 1:
        sys.exit('cannot see dead references, or equal names')


def shows(folder):
    """Lines that a reader of mx_isend lacks."""
    page = subprocess.run(['mandoc', '-Tascii', folder / 'mx_isend.3'], capture_output=True, text=True, check=True).stdout
    plain = re.sub(r'.\x08', '', page)
    for wanted in ('ARGUMENTS', 'RETURN VALUES', 'ERRORS', 'THREADS', '  segments_count', '  MX_BAD_SEG_CNT'):
        if wanted not in plain:
            yield f'mx_isend: {wanted.strip()} is not shown'


def main():
    if len(sys.argv) < 4:
        sys.exit(__doc__)
    by_hand, made = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
    proves_itself(made)
    text = public_text()
    pages = {p: p.read_text(encoding='utf-8') for p in [*by_hand.glob('*.[1-8]'), *made.glob('*.3')]}
    there = {p.name for p in pages}
    # A library that is not built has no pages of calls, to which its overview refers.
    absent = {f'{name}.3' for name in ('fm', 'gamma') if not any(f'lib{name}.' in library for library in sys.argv[3:])}
    checks = [missing_or_wrong(made, library, text) for library in sys.argv[3:]]
    checks += [lint(p, p.parent == by_hand) for p, t in sorted(pages.items()) if not t.startswith('.so ')]
    checks += [dead(p.name, t, there) for p, t in sorted(pages.items()) if p.name not in absent]
    checks += [alike(there), shows(made)]
    found = [list(check) for check in checks]
    for line in (line for lines in found for line in lines):
        print(line)
    failed = sum(bool(lines) for lines in found)
    print(f'{len(found) - failed} passed, {failed} failed, 0 skipped')
    sys.exit(1 if failed else 0)


if __name__ == '__main__':
    main()

#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""Tests that what docs/tracing.md and docs/examples/tracing say of probes and tracepoints is what there is.

usage: probes.py TOP LIBRARY      the library may have been built without probes: then the page is compared alone
       probes.py --cost SCRIPT WITHOUT WITH
                                  compares two builds of the library: in the functions that the linker script SCRIPT
                                  names, each instruction more is a probe, one that does nothing
"""
import pathlib
import re
import subprocess
import sys

PAGE = 'docs/tracing.md'
SCRIPTS = 'docs/examples/tracing'
# A row of a table of the page: `name` | ... | `argument`, `argument` |
ROW = re.compile(r'^\| `(\w+)` \|.*\| (`.*`) \|$', re.MULTILINE)


def output_of(*command):
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def probes_of(library):
    """{name: {number of arguments}} of the probes of a library."""
    notes = output_of('readelf', '-nW', library)
    probes = {}
    for name, arguments in re.findall(r'Provider: ethermx\s+Name: (\w+)\s+Location: .*\s+Arguments:(.*)', notes):
        probes.setdefault(name, set()).add(len(arguments.split()))
    return probes


def tracepoints_of(text):
    """{name: [field]} of the tracepoints of trace.h."""
    found = {}
    for kind, name, body in re.findall(r'^(TRACE_EVENT|DECLARE_EVENT_CLASS)\((\w+),\n(.*?)\n\);$', text, re.MULTILINE | re.DOTALL):
        fields = re.findall(r'__(?:field|array)\([^,]+, (\w+)[,)]|__string\((\w+),', body)
        found[name] = [a or b for a, b in fields]
    for shape, name in re.findall(r'^DEFINE_EVENT\((\w+), (\w+),$', text, re.MULTILINE):
        found[name] = found[shape]
    classes = re.findall(r'^DECLARE_EVENT_CLASS\((\w+),', text, re.MULTILINE)
    return {name: fields for name, fields in found.items() if name not in classes}


def documented(page):
    """The same two of the page: {probe: [argument]}, {tracepoint: [field]}."""
    rows = {name: re.findall(r'`(\w+)`', rest) for name, rest in ROW.findall(page)}
    return ({name: row for name, row in rows.items() if not name.startswith('emx_')},
            {name: row for name, row in rows.items() if name.startswith('emx_')})


def compare_page(page, probes, tracepoints):
    told_probes, told_tracepoints = documented(page)
    for name in sorted(set(told_probes) | set(probes)):
        if name not in probes or name not in told_probes:
            yield f'{PAGE}: the probe {name} is {"in the page, not in the library" if name in told_probes else "not in the page"}'
        elif probes[name] != {len(told_probes[name])}:
            yield f'{PAGE}: {name} has {sorted(probes[name])} arguments, not {len(told_probes[name])}'
    for name in sorted(set(told_tracepoints) | set(tracepoints)):
        if told_tracepoints.get(name) != tracepoints.get(name):
            yield f'{PAGE}: {name} has the fields {tracepoints.get(name)}, not {told_tracepoints.get(name)}'


def compare_script(name, text, arguments, tracepoints):
    """Each block of a script uses what its probe has."""
    text = re.sub(r'/\*.*?\*/', '', text, flags=re.DOTALL)
    blocks = re.findall(r'((?:usdt|tracepoint):[^\s{]+)(.*?)\n}', text, re.DOTALL)
    if not blocks:
        yield f'{name}: no probe'
    for place, body in blocks:
        probe = place.split(':')[-1]
        if place.startswith('usdt:$1:ethermx:') and probe in arguments:
            most = arguments[probe]
            used = [int(n) for n in re.findall(r'\barg(\d)\b', body)]
            if used and max(used) >= most:
                yield f'{name}: {probe} has {most} arguments, and no arg{max(used)}'
        elif place == f'tracepoint:ethermx:{probe}' and probe in tracepoints:
            for field in sorted(set(re.findall(r'args->(\w+)', body)) - set(tracepoints[probe])):
                yield f'{name}: {probe} has no field {field}'
        else:
            yield f'{name}: no such probe: {place}'


def check(top, library):
    top = pathlib.Path(top)
    page = (top / PAGE).read_text(encoding='utf-8')
    told = documented(page)[0]
    probes = probes_of(library) or {name: {len(row)} for name, row in told.items()}
    tracepoints = tracepoints_of((top / 'driver/linux/trace.h').read_text(encoding='utf-8'))
    findings = list(compare_page(page, probes, tracepoints))
    scripts = sorted((top / SCRIPTS).glob('*.bt'))
    for script in scripts:
        name = f'{SCRIPTS}/{script.name}'
        if script.name not in page:
            findings.append(f'{PAGE}: {script.name} is not in the page')
        findings += compare_script(name, script.read_text(encoding='utf-8'),
                                   {probe: max(numbers) for probe, numbers in probes.items()}, tracepoints)
    print('\n'.join(findings + [f'{len(probes)} probes, {len(tracepoints)} tracepoints, {len(scripts)} scripts']))
    return 1 if findings or not probes or not tracepoints or not scripts else 0


# ---- what they cost

def instructions_of(library):
    """{function: (instructions, those that do nothing)}"""
    functions, now = {}, None
    for line in output_of('objdump', '-d', '--no-show-raw-insn', '-j', '.text.pages', '-j', '.text', library).splitlines():
        begin = re.match(r'[0-9a-f]+ <(.*)>:$', line)
        if begin:
            now = functions.setdefault(begin.group(1), [0, 0])
        code = re.match(r'\s+[0-9a-f]+:\s+(\S.*)', line)
        if code and now:
            nothing = re.match(r'(data16 |cs )*nop|xchg +%ax,%ax', code.group(1))
            now[1 if nothing else 0] += 1
    return functions


def cost(script, without, with_probes):
    hot = re.findall(r'\.text\.hot\.(\S+) ', pathlib.Path(script).read_text(encoding='utf-8'))
    before, after = instructions_of(without), instructions_of(with_probes)
    more = 0
    for name in hot:
        (code, nothing), (code_now, nothing_now) = before[name], after[name]
        more += max(code_now - code, 0)
        if (code, nothing) != (code_now, nothing_now):
            print(f'{name}: {code} instructions, {code_now} with probes; that do nothing: {nothing}, {nothing_now}')
    total = [sum(functions[name][0] for name in hot) for functions in (before, after)]
    print(f'{len(hot)} functions: {total[0]} instructions, {total[1]} with probes, besides those that do nothing')
    return 1 if more else 0


def main():
    if len(sys.argv) == 5 and sys.argv[1] == '--cost':
        return cost(*sys.argv[2:])
    if len(sys.argv) == 3:
        return check(*sys.argv[1:])
    sys.exit(__doc__)


if __name__ == '__main__':
    sys.exit(main())

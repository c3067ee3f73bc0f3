# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""Gate on the length of C and C++ functions, with a list of exceptions that only shrinks."""

import pathlib
import re

from gates import without_comments
from tree import C_SUFFIXES, Finding

FUNCTION_LINES_MAX = 70
RATCHET = 'tests/tidy/ratchet.txt'

NOT_FUNCTIONS = re.compile(r'^(typedef\s+|template\s*<[^{]*>\s*)?(static\s+|inline\s+|constexpr\s+|'
                           r'const\s+)*(namespace|class|struct|union|enum|extern\s*")\b')


def strip(text):
    """Code only: no comments, no string contents, no preprocessor lines; lines stay in place."""
    text = re.sub(r'R"(\w*)\(.*?\)\1"', lambda m: '""' + '\n' * m.group(0).count('\n'), text,
                  flags=re.S)
    text = without_comments(text)
    return re.sub(r'^[ \t]*#(?:[^\n]*\\\n)*[^\n]*', lambda m: '\n' * m.group(0).count('\n'), text,
                  flags=re.M)


def is_function(head):
    """True if a brace after this text (since the last ; { or }) opens a function body."""
    head = ' '.join(head.split())
    if NOT_FUNCTIONS.search(head) and not re.search(r'\)\s*(const|noexcept|override)?$', head):
        return False
    if re.search(r'=\s*$|=\s*\(.*\)$', head):
        return False
    return bool(re.search(r'\)[^=]*$', head))


def name_of(head):
    head = ' '.join(head.split())
    if re.match(r'(TEST_CASE|SCENARIO|TEMPLATE_TEST_CASE|TEST_CASE_METHOD)\b', head):
        return head[:60]
    match = re.search(r'([\w:~]+|operator\s*\S+)\s*\(', head)
    return match.group(1) if match else head[:40]


def functions(text):
    """Yields (name, first line, lines) of each function; nested lambdas count with their host."""
    code = strip(text)
    depth = 0  # braces of namespaces, classes and the like
    body = 0  # braces inside a function
    start = 0  # where the current head begins
    first = name = None
    for match in re.finditer(r'[;{}]', code):
        char = match.group(0)
        head = code[start:match.start()]
        if body:
            body += {'{': 1, '}': -1, ';': 0}[char]
            if not body:
                last = code.count('\n', 0, match.start()) + 1
                yield name, first, last - first + 1
        elif char == '{':
            if is_function(head):
                body = 1
                name = name_of(head)
                lead = len(head) - len(head.lstrip())
                first = code.count('\n', 0, start + lead) + 1
            else:
                depth += 1
        elif char == '}':
            depth -= 1
        start = match.end()


def ratchet(tree):
    """{'path:function': allowed lines}; a line is "path:function lines reason"."""
    allowed = {}
    if RATCHET in tree.files:
        for _, line in tree.lines(RATCHET):
            words = line.split(None, 2)
            if words and not line.startswith('#'):
                allowed[words[0]] = (int(words[1]), words[2] if len(words) > 2 else '')
    return allowed


def function_length(tree):
    """Functions stay short; a listed one may stay long but not grow, and leaves the list when cut."""
    allowed = ratchet(tree)
    seen = {}
    for path in tree.files:
        if pathlib.Path(path).suffix not in C_SUFFIXES:
            continue
        for name, first, lines in functions(tree.text(path) or ''):
            key = f'{path}:{name}'.replace(' ', '_')
            seen[key] = max(lines, seen.get(key, 0))
            limit = allowed.get(key, (FUNCTION_LINES_MAX,))[0]
            if lines > max(limit, FUNCTION_LINES_MAX):
                yield Finding(path, first, f'{name} has {lines} lines, at most {limit}: split it')
    for key, (limit, reason) in allowed.items():
        if not reason:
            yield Finding(RATCHET, 0, f'{key}: give the reason')
        if seen.get(key, 0) <= FUNCTION_LINES_MAX or seen[key] < limit:
            yield Finding(RATCHET, 0, f'{key}: now {seen.get(key, 0)} lines, lower or drop its entry')


STEP = re.compile(r'`([A-Za-z_]\w*(?:::\w+)*)` \(`([\w./]+\.(?:c|cpp|h|hpp))`\)')


def steps(tree):
    """A document that names a function and its file, as `f` (`a.c`), is right."""
    defined = {}
    for name in tree.under('', suffixes={'.md'}):
        for number, line in tree.lines(name):
            for function, file in STEP.findall(line):
                if file not in defined:
                    defined[file] = {f for f, _, _ in functions(tree.text(file) or '')} if file in tree.files else set()
                if function not in defined[file]:
                    yield Finding(name, number, f'{file} does not define {function}')


# Folders in which no files call each other in a circle.
NO_CIRCLES = ('driver/core', 'driver/linux')
NO_MEMBER_CIRCLES = (('libmx/endpoint', 'Endpoint'),)
TRANSPARENT = re.compile(r'^\s*(extern|namespace)\b[^;=()]*$')  # a brace behind it opens no body


def split(text):
    """({global functions}, {all functions}, text that may call): a declaration calls nothing."""
    code = strip(text)
    shared, every, uses = set(), set(), []
    depth = start = 0
    for match in re.finditer(r'[;{}]', code):
        char = match.group(0)
        piece = code[start:match.start()]
        start = match.end()
        if depth or '=' in piece:
            uses.append(piece)
        if char == '{' and (depth or not TRANSPARENT.match(piece)):
            if not depth and is_function(piece):
                every.add(name_of(piece))
                if not re.match(r'\s*static\b(?!\s+inline)', piece):
                    shared.add(name_of(piece))
            depth += 1
        elif char == '}' and depth:
            depth -= 1
    return shared, every, ' '.join(uses)


def calls(tree, folder):
    """{file: {file with a function that it calls: that function}} of one folder."""
    parts = {name: split(tree.text(name) or '') for name in tree.under(folder + '/', suffixes={'.c', '.h'})}
    home = {function: name for name, (shared, _, _) in parts.items() for function in shared}
    graph = {}
    for name, (_, own, uses) in parts.items():
        called = sorted(set(re.findall(r'(?<![\w.>])[A-Za-z_]\w*', uses)) & set(home) - own)
        graph[name] = {home[function]: function for function in called if home[function] != name}
    return graph


def circle(graph, start):
    """The shortest way of calls from a file back to it, as a list of files, or None."""
    ways = [[start]]
    seen = set()
    for way in ways:
        for target in graph.get(way[-1], {}):
            if target == start:
                return [*way, start]
            if target not in seen:
                seen.add(target)
                ways.append([*way, target])
    return None


def bodies(text):
    """Yields (name, text of the body) of each function."""
    lines = strip(text).split('\n')
    for name, first, count in functions(text):
        yield name, '\n'.join(lines[first - 1:first - 1 + count]).partition('{')[2]


def member_calls(tree, folder, kind):
    """The same graph for the members of a class; what its header defines counts as part of each caller."""
    home, inline, parts = {}, {}, {}
    for name in tree.under(folder + '/', suffixes={'.cpp', '.hpp'}):
        for function, body in bodies(tree.text(name) or ''):
            called = set(re.findall(r'(?<![\w.>:~])([A-Za-z_]\w*)\s*\(', body))
            if function.startswith(kind + '::'):
                home[function.partition('::')[2]] = name
                parts.setdefault(name, set()).update(called)
            elif name.endswith('.hpp'):
                inline[function] = called
    graph = {}
    for name, called in parts.items():
        met = set()
        while called - met:
            met |= called
            called = set().union(*(inline.get(function, set()) for function in called))
        graph[name] = {home[function]: function for function in sorted(met & set(home)) if home[function] != name}
    return graph


def unit_includes(tree, folder):
    """{a file: {another that it includes: the same}} of one folder, where a .cpp file and its header are one."""
    graph = {}
    for name in tree.under(folder + '/', suffixes={'.cpp', '.hpp'}):
        if str(pathlib.PurePath(name).parent) == folder:
            unit = str(pathlib.PurePath(name).with_suffix(''))
            for target in re.findall(r'^#include "(.*)\.hpp"$', tree.text(name) or '', flags=re.M):
                if str(pathlib.PurePath(target).parent) == folder and target != unit:
                    graph.setdefault(unit, {})[target] = 'its header'
    return graph


def circles(tree):
    """Within the folders of NO_CIRCLES, files call each other in one direction; in the library they include so, too."""
    library = {str(pathlib.PurePath(name).parent) for name in tree.under('libmx/', suffixes={'.cpp', '.hpp'})}
    for graph in (*(calls(tree, folder) for folder in NO_CIRCLES), *(member_calls(tree, *one) for one in NO_MEMBER_CIRCLES),
                  *(unit_includes(tree, folder) for folder in sorted(library))):
        told = set()
        for start in sorted(graph):
            way = circle(graph, start) if start not in told else None
            if way:
                told.update(way)
                steps_of_it = (f'{pathlib.PurePath(b).name} ({graph[a][b]})' for a, b in zip(way, way[1:]))
                yield Finding(start, 0, 'calls go in a circle: ' + ' -> '.join([pathlib.PurePath(start).name, *steps_of_it]))

# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""Reads a public header: its declarations, and the comment before each, taken apart.

A comment is paragraphs, then items "- name: meaning" for arguments, then lines that begin with "Returns:",
"Errors:" or "Threads:"; what belongs to an item or such a line is indented. docs/CONTRIBUTING.md has the rules.
"""

import pathlib
import re
from dataclasses import dataclass, field

LABELS = ('Returns', 'Errors', 'Threads', 'Memory')
# The headers as a C program sees them that GCC compiles.
TRUE_CONDITIONS = re.compile(r'defined\(__GNUC__\)$|ifndef \w+_H$')


class BadHeader(Exception):
    """A header that no page can be made of; the text says where and what to do."""


@dataclass
class Comment:
    """A comment, taken apart."""
    paragraphs: list = field(default_factory=list)
    arguments: dict = field(default_factory=dict)
    labels: dict = field(default_factory=dict)
    origin: str = ''  # of a call that comes from a paper: "FM 2.x, 1998"

    @property
    def text(self):
        return ' '.join(self.paragraphs)


@dataclass
class Parameter:
    type: str  # as in C, with the name in its place
    name: str


@dataclass
class Declaration:
    """One declaration. `kind` is function, macro, type, handler (a type of functions), enum or data."""
    kind: str
    name: str
    text: str  # without comments
    result: str = ''
    parameters: list = None  # None: it takes none, as a macro without parentheses
    items: list = field(default_factory=list)  # (name, value, meaning) of an enum, (path, '', meaning) of a struct
    meaning: str = ''  # the comment behind it


@dataclass
class Group:
    """Declarations without a blank line between them, and the comment before."""
    comment: Comment
    declarations: list
    header: 'Header'

    def of_kind(self, *kinds):
        return [d for d in self.declarations if d.kind in kinds]


@dataclass
class Header:
    path: pathlib.Path
    include: str  # as programs include it
    rules: Comment
    groups: list = field(default_factory=list)
    includes: list = field(default_factory=list)


def comment_lines(text):
    """Lines of a C comment without its frame."""
    return [re.sub(r'^\s*\* ?', '', line).rstrip() for line in text[2:-2].strip('\n').splitlines()]


def read_comment(text):
    """A Comment of a C comment. The section of the specification, "Spec 3.3.", is for readers of the header."""
    comment, here = Comment(), None
    for line in comment_lines(text):
        item = re.match(r'- (\w+): (.*)', line) or re.match(r'- (\w+)\. (.*)', line)
        label = re.match(rf'({"|".join(LABELS)}): (.*)', line)
        if label or (item and item[1] in LABELS):
            here = (comment.labels, (label or item)[1])
            comment.labels[here[1]] = (label or item)[2]
        elif item:
            here = (comment.arguments, item[1])
            comment.arguments[item[1]] = item[2]
        elif here and line.startswith('  '):
            here[0][here[1]] += ' ' + line.strip()
        elif line.startswith('['):
            comment.origin = line.strip('[]')
        elif not line.strip() or line.startswith('- '):
            here = None
            comment.paragraphs.append('')
        elif not re.match(r'Spec [\d., and]+\.$', line):
            here = None
            comment.paragraphs = [*comment.paragraphs[:-1], f'{(comment.paragraphs or [""])[-1]} {line.strip()}']
    cut = [re.sub(r'\s*\bSpec [\d.]+(?:(?:,| and) [\d.]+)*\.$', '', p.strip()) for p in comment.paragraphs]
    for place in range(len(cut)):
        origin = re.search(r' \[([^\]]*\d{4})\]$', cut[place])
        if origin:
            comment.origin, cut[place] = origin[1], cut[place][:origin.start()]
    comment.paragraphs = [p for p in cut if p]
    return comment


def compiled(text):
    """The text without what conditions leave out, and without the conditions themselves."""
    kept, stack = [], []
    for line in text.splitlines():
        condition = re.match(r'#\s*(if|ifdef|ifndef|elif|else|endif)\b', line)
        if not condition:
            kept.append(line if all(stack) else '')
        elif condition[1] == 'endif':
            stack.pop()
        elif condition[1] in ('elif', 'else'):
            stack[-1] = False  # the first branch is the one for GCC, or it was for C++ alone
        else:
            stack.append(bool(TRUE_CONDITIONS.search(line)))
    return '\n'.join(kept)


def without_comments(text):
    return re.sub(r'/\*.*?\*/', '', text, flags=re.S)


def end_of_declaration(text, at):
    """The place behind its ";", or behind the body of a function."""
    depth = 0
    for match in re.compile(r'/\*.*?\*/|[{};]', re.S).finditer(text, at):
        depth += {'{': 1, '}': -1}.get(match[0], 0)
        function = match[0] == '}' and re.search(r'\)\s*\{', text[at:match.end()])
        if depth == 0 and (match[0] == ';' or function):
            return match.end()
    raise BadHeader(f'a declaration does not end: {text[at:at + 60]!r}')


def split_parameters(text):
    """Parameters of "int a, void (*f)(void)"."""
    depth, parts = 0, ['']
    for sign in text:
        depth += {'(': 1, ')': -1}.get(sign, 0)
        if sign == ',' and depth == 0:
            parts.append('')
        else:
            parts[-1] += sign
    found = []
    for part in (' '.join(p.split()) for p in parts):
        name = re.search(r'\(\*(\w+)\)', part) or re.search(r'(\w+)(?:\[\w*\])?$', part)
        if part != 'void':
            found.append(Parameter(part, '' if part == '...' else name[1]))
    return found


def sentence(meaning):
    return ' '.join(meaning.split())


def enum_items(body):
    found = re.findall(r'(\w+) = ([^,\n]+?),? *(?:/\*(.*?)\*/)?\n', body)
    return [(name, value.strip(), sentence(meaning)) for name, value, meaning in found]


def struct_items(body):
    """Members with their path. The names of inner structures follow their bodies."""
    lines, names, found = body.splitlines(), [], []
    for line in reversed(lines):
        closing = re.match(r'\s*\} (\w+);', line)
        member = re.match(r'\s*[^{}]*?(\w+)(?:\[[^\]]*\])?;\s*(?:/\*(.*?)\*/)?', line)
        if closing:
            names.append(closing[1])
        elif re.search(r'\{\s*$', line):
            names.pop()
        elif member:
            found.append(('.'.join([*names, member[1]]), '', sentence(member[2] or '')))
    return found[::-1]


def read_define(line, meaning):
    match = re.match(r'#define (\w+)(\([\w, ]*\))?(.*)', line)
    parameters = None
    if match[2]:
        parameters = [Parameter(n.strip(), n.strip()) for n in match[2].strip('()').split(',') if n.strip()]
    return Declaration('macro', match[1], f'{match[1]}{match[2] or ""}{match[3].rstrip()}', parameters=parameters,
                       items=[(match[1], match[3].strip(), meaning)], meaning=meaning)


def read_declaration(text):
    plain = ' '.join(without_comments(text).split()).rstrip(';')
    body = re.search(r'\{\n(.*)\}', text, re.S)
    enum = re.match(r'(?:typedef )?enum(?: (\w+))? \{', plain)
    structure = re.match(r'(?:typedef )?(?:struct|union)(?: (\w+))? \{', plain)
    typedef = re.match(r'typedef .*?(\w+)(?:\[\w*\])?$', plain)
    handler = re.match(r'typedef (.*?)(?:\(\*(\w+)\)|\b(\w+))\((.*)\)$', plain)
    function = re.match(r'(?:static __inline__ __attribute__\(\(unused\)\) )?(.*?)(\w+)\((.*?)\)(?: \{.*)?$', plain)
    if enum:
        return Declaration('enum', typedef[1] if typedef else enum[1], plain, items=enum_items(body[1]))
    if structure:
        return Declaration('type', typedef[1] if typedef else structure[1], text, items=struct_items(body[1]))
    if handler:
        return Declaration('handler', handler[2] or handler[3], plain, handler[1].strip(), split_parameters(handler[4]))
    if typedef:
        return Declaration('type', typedef[1], plain)
    if plain.startswith('extern'):
        return Declaration('data', plain.split()[-1], plain)
    if function:
        return Declaration('function', function[2], plain, function[1].strip(), split_parameters(function[3]))
    raise BadHeader(f'neither a type nor a function: {plain[:80]}')


TOKEN = re.compile(r'(?P<blank>\s+)|(?P<comment>/\*.*?\*/)|(?P<define>#define [^\n]*?(?=\s*/\*|\n))|(?P<skip>#[^\n]*)', re.S)


class Reader:
    """Goes through a header once."""

    def __init__(self, header, text):
        self.header, self.text, self.at = header, text, 0
        self.open = None  # the group under way
        self.comment = Comment()

    def behind(self):
        """The comment behind a declaration, on its line."""
        match = re.compile(r'[ \t]*/\*(.*?)\*/', re.S).match(self.text, self.at)
        if not match:
            return ''
        self.at = match.end()
        return sentence(match[1])

    def add(self, declaration):
        if self.open is None:
            self.open = Group(self.comment, [], self.header)
            self.header.groups.append(self.open)
            self.comment = Comment()
        self.open.declarations.append(declaration)

    def step(self):
        token = TOKEN.match(self.text, self.at)
        if not token:
            end = end_of_declaration(self.text, self.at)
            text, self.at = self.text[self.at:end], end
            declaration = read_declaration(text)
            declaration.meaning = self.behind()
            self.add(declaration)
            return
        self.at = token.end()
        if token['define']:
            meaning = self.behind()
            if not re.match(r'#define \w+_H$', token[0]):
                self.add(read_define(token[0], meaning))
        elif token['comment']:
            self.open = None
            self.comment = Comment() if '----' in token[0] else read_comment(token[0])
        elif token['blank'] and token[0].count('\n') > 1:
            self.open, self.comment = None, Comment()


def read(path, include):
    """The Header in a file; `include` is how programs name it. BadHeader says what is wrong with it."""
    path = pathlib.Path(path)
    text = path.read_text(encoding='utf-8')
    top = re.match(r'/\*[^\n]*\*/\n(/\*.*?\*/)\n', text, re.S)
    if not top:
        raise BadHeader(f'{path}: begins with a line for the licence, then a comment with its rules')
    header = Header(path, include, read_comment(top[1]))
    header.includes = re.findall(r'#include "(?:.*/)?(\w+\.h)"', text)
    reader = Reader(header, compiled(text[top.end():] + '\n'))
    try:
        while reader.at < len(reader.text):
            reader.step()
    except BadHeader as bad:
        raise BadHeader(f'{path}: {bad}') from None
    return header

# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""From headers to pages: the calls that share one, twins of another layer, and each argument's meaning.

A comment that opens with "Like NAME, " stands on the page of NAME; one that opens with "Twin of NAME." takes
the comment of NAME in the header of the other layer, in the names of its own.
"""

import dataclasses
import re

from headers import BadHeader, Comment

IDENTIFIER = re.compile(r'\b[A-Za-z_]\w*\b')


class Library:
    """Headers of one interface. `twin` is the Library that "Twin of" refers to, or None."""

    def __init__(self, name, link, overview, headers, twin=None):
        self.name, self.link, self.overview, self.headers, self.twin = name, link, overview, headers, twin
        self.groups = [g for h in headers for g in h.groups]
        self.group_of = {d.name: g for g in self.groups for d in g.declarations}
        self.declaration = {d.name: d for g in self.groups for d in g.declarations}
        self.constants = {n: (v, m) for g in self.groups for d in g.of_kind('enum', 'macro') for n, v, m in d.items}
        self.names = names_of_twins(self) if twin else {}

    def with_included(self, header):
        """A header and those that it includes, through others, too."""
        found = [header]
        for one in found:
            found += [h for h in self.headers if h.path.name in one.includes and h not in found]
        return found

    def rule(self, header, label):
        """A rule of a header, else of the ones that it includes, else of the other layer."""
        for one in self.with_included(header):
            if label in one.rules.labels:
                return one.rules.labels[label]
        return self.translated(self.twin.rule(self.twin.headers[0], label)) if self.twin else ''

    def common(self, header, name):
        for one in self.with_included(header):
            if name in one.rules.arguments:
                return one.rules.arguments[name]
        return None

    def translated(self, text, arguments=()):
        """Text of the other layer in the names of this one."""
        text = IDENTIFIER.sub(lambda m: self.names.get(m[0], m[0]), text)
        return re.sub(r'`(\w+)`', lambda m: f'`{dict(arguments).get(m[1], m[1])}`', text)


def opening(comment, word):
    """NAME of a comment that opens with "Like NAME" or "Twin of NAME"."""
    match = re.match(rf'{word} (\w+)\b', comment.text)
    return match[1] if match else None


def names_of_twins(library):
    """{name of the other layer: name here}: said by comments, equal but for a letter, or of equal numbers."""
    other, names = library.twin, {}
    codes = {v: n for n, (v, _) in library.constants.items() if n in dict(return_codes(library))}
    names.update({n: codes[v] for n, v in return_codes(other) if v in codes})
    for name in [*library.declaration, *library.constants]:
        if name[1:] in other.declaration or name[1:] in other.constants:
            names[name[1:]] = name
    for name, (_, meaning) in library.constants.items():
        said = re.match(r'(\w+): ', meaning)
        if said and said[1] in other.constants:
            names[said[1]] = name
    for group in library.groups:
        twins = re.search(r'\bTwins? of (\w+)(?: and (\w+))?', group.comment.text)
        if twins:
            said = [t for t in twins.groups() if t]
            names.update(zip(said, [d.name for d in group.declarations][-len(said):]))
    return names


def return_codes(library):
    """(name, number) of the codes that calls return."""
    enum = next((d for g in library.groups for d in g.of_kind('enum') if d.name.endswith('return_code')), None)
    return [(n, v) for n, v, _ in enum.items] if enum else []


def function_of(group):
    return (group.of_kind('function', 'handler') or [None])[0]


def renamed(group, source):
    """[(argument of the twin, argument here)]: those of equal names, and the rest in order."""
    here = [p.name for p in function_of(group).parameters]
    there = [p.name for p in function_of(source).parameters]
    rest = [n for n in here if n not in there]
    return [(n, n) if n in here else (n, rest.pop(0)) for n in there if n in here or rest]


def comment_of(library, group):
    """The comment of a group, or, of a twin, the other's in the names of this layer, and its own additions."""
    twin = opening(group.comment, 'Twin of') if function_of(group) else None
    if not twin:
        return group.comment
    source = library.twin.group_of.get(twin)
    if source is None:
        raise BadHeader(f'{group.header.path}: there is no {twin}, of which {group.declarations[0].name} is a twin')
    names, theirs = renamed(group, source), source.comment
    def say(text):
        return library.translated(text, names)
    more = re.sub(r'^Twin of \w+[.;]\s*', '', group.comment.text)
    arguments = {dict(names)[n]: say(m) for n, m in theirs.arguments.items() if n in dict(names)}
    return Comment([say(p) for p in theirs.paragraphs] + ([more] if more else []), arguments | group.comment.arguments,
                   {n: say(m) for n, m in theirs.labels.items()} | group.comment.labels)


def meaning_of(library, group, name):
    """The meaning of an argument: the call's own, that of the call which it is like, that of the header, that of
    the twin."""
    comment = comment_of(library, group)
    if name in comment.arguments:
        return comment.arguments[name]
    like = opening(comment, 'Like')
    base = library.group_of.get(like) if like else None
    if base and any(p.name == name for p in function_of(base).parameters):
        return meaning_of(library, base, name)
    found = library.common(group.header, name)
    twin = opening(group.comment, 'Twin of')
    if found is None and twin:
        source = library.twin.group_of[twin]
        theirs = {here: there for there, here in renamed(group, source)}.get(name)
        if theirs:
            return library.translated(meaning_of(library.twin, source, theirs), renamed(group, source))
    return found


@dataclasses.dataclass
class Page:
    """One manual page. Its first name is that of the file; the others are links to it."""
    library: Library
    groups: list
    names: list

    @property
    def name(self):
        return self.names[0]

    @property
    def header(self):
        return self.groups[0].header


def root_of(library, group):
    """The group on whose page a group stands."""
    like = opening(comment_of(library, group), 'Like')
    if like is None:
        return group
    if like not in library.group_of:
        raise BadHeader(f'{group.header.path}: there is no {like}, which {group.declarations[0].name} is like')
    return root_of(library, library.group_of[like])


def names_in(groups):
    """Names of a page: all of one with calls or data or of macros alone; else types, without their constants."""
    found = [d for g in groups for d in g.declarations]
    kinds = {d.kind for d in found}
    if not kinds & {'function', 'data'} and kinds != {'macro'}:
        wanted = ('type', 'handler') if kinds & {'type', 'handler'} else ('enum',)
        found = [d for d in found if d.kind in wanted]
    return list(dict.fromkeys(d.name for d in sorted(found, key=lambda d: d.kind == 'function' and '__' in d.name)))


def without_comment(group):
    """True for a type with a word behind it, which has no page; BadHeader for all else that has no comment."""
    if group.comment.text or all(d.kind == 'macro' for d in group.declarations):
        return False
    if group.of_kind('function', 'enum', 'data', 'handler') or not all(d.meaning for d in group.declarations):
        raise BadHeader(f'{group.header.path}: {group.declarations[0].name} has no comment before it')
    return True


def first_twin(library, group):
    """The first group that is a twin of the same one: omx_init and omx__init_api are of one."""
    twin = opening(group.comment, 'Twin of') if function_of(group) else None
    names = [d.name for d in library.twin.group_of[twin].declarations] if twin else []
    return next((g for g in library.groups if function_of(g) and opening(g.comment, 'Twin of') in names), group)


def pages_of(library):
    """All pages of a library, in the order of the headers. Macros without a type or call share one per header."""
    together = {}  # what a page is about: (its first group or None, its groups)
    for group in library.groups:
        if without_comment(group):
            continue
        if all(d.kind == 'macro' for d in group.declarations):
            root, key = None, group.header.path
        else:
            root = root_of(library, first_twin(library, group))
            key = id(root)
        together.setdefault(key, (root, []))[1].append(group)
    pages = []
    for root, groups in together.values():
        groups.sort(key=lambda g: root is not None and g is not root)
        pages.append(Page(library, groups, names_in(groups)))
    return pages

#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""Makes the manual pages of section 3 from the comments of the public headers.

usage: generate.py --list LIBRARY        prints the files that it makes for mx, fm or gamma
       generate.py LIBRARY FOLDER        makes them

A comment that lacks an argument, a result or an error is an error here: docs/CONTRIBUTING.md has the rules.
"""

import pathlib
import re
import sys

import headers
import mdoc
import model
from headers import BadHeader

ROOT = pathlib.Path(__file__).resolve().parents[2]
MX_HEADERS = ('include/myriexpress.h', 'include/mx_extensions.h', 'include/mx_io.h', 'include/mx_internals/mx__fops.h',
              'include/mx_internals/mx__driver_interface.h', 'include/mx_raw.h')
USERS_MAX = 8  # a type of more calls names none of them


def library(name, link, overview, paths, twin=None):
    found = [headers.read(ROOT / p, re.sub(r'^(include|compat/\w+)/', '', p)) for p in paths]
    return model.Library(name, link, overview, found, twin)


def libraries(name):
    """The Library objects whose pages are one set."""
    if name == 'fm':
        return [library('libfm', '-lfm , pkg-config fm', ('fm', '3'), ['compat/fm/fm.h'])]
    if name == 'gamma':
        return [library('libgamma', '-lgamma , pkg-config gamma', ('gamma', '3'), ['compat/gamma/gamma.h'])]
    if name == 'mx':
        mx = library('libmyriexpress', '-lmyriexpress , pkg-config myriexpress', ('ethermx', '7'), MX_HEADERS)
        return [mx, library('libopen-mx', '-lopen-mx , pkg-config open-mx', ('ethermx', '7'), ['include/open-mx.h'], mx)]
    sys.exit(f'no library {name}: mx, fm or gamma')


class Renderer:
    """Writes pages. Words of their text that name something else become links."""

    def __init__(self, libs, page_of):
        self.page_of = page_of  # {name: Page}
        self.constants = {n for one in libs for n in one.constants}

    def start(self, page):
        self.page = page
        self.parameters = {p.name for g in page.groups for d in g.declarations for p in d.parameters or []}
        self.referred = set()
        self.out = mdoc.Writer(self.macro_of)

    def refer(self, name):
        target = self.page_of.get(name)
        if target and target is not self.page and target.name != name and name not in target.names:
            target = None
        if target and target is not self.page:
            self.referred.add((name, '3'))
        return target

    def macro_of(self, word):
        """The macro line of a word of a text, or None."""
        manual = re.fullmatch(r'(\w+)\((\d)\)', word)
        if manual:
            self.referred.add((manual[1], manual[2]))
            return f'Xr {manual[1]} {manual[2]}'
        if re.fullmatch(r'`\*?\w+`', word):
            return 'Fa ' + word.strip('`')
        name = word.removesuffix('()')
        if name == 'NULL' or name in self.constants and not re.match(r'\w+_(errno|active_port|msglen|init|extract)$', name):
            return f'Dv {name}'
        target = self.refer(name)
        if target is None:
            return f'Fa {name}' if '_' in name and name in self.parameters else None
        if target is not self.page:
            return f'Xr {name} 3'
        declaration = next(d for g in target.groups for d in g.declarations if d.name == name)
        return {'function': 'Fn', 'macro': 'Fn' if declaration.parameters is not None else 'Dv',
                'data': 'Va'}.get(declaration.kind, 'Vt') + f' {name}'

    def page_text(self, page):
        self.start(page)
        self.head()
        self.synopsis()
        self.description()
        if any(d.kind in ('function', 'handler') for g in page.groups for d in g.declarations):
            self.arguments()
            self.results()
            if any(g.of_kind('function') for g in page.groups):
                self.errors()
            self.threads()
        self.tail()
        return '\n'.join(self.out.lines) + '\n'

    def head(self):
        page, out = self.page, self.out
        out.lines += ['.\\" SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only',
                      f'.\\" Made from {page.header.include} by docs/reference/generate.py: change the comments there.']
        out.macro(f'Dd {date_of(page.library.overview)}')
        out.macro(f'Dt {page.name.upper()} 3')
        out.macro('Os EtherMX')
        out.macro('Sh NAME')
        for place, name in enumerate(page.names):
            out.macro(f'Nm {name}' + (' ,' if place + 1 < len(page.names) else ''))
        out.macro('Nd ' + mdoc.escaped(self.summary()))
        out.macro('Sh LIBRARY')
        out.macro(f'Pa {page.library.name}')
        out.macro(f'Pq {page.library.link}')

    def summary(self):
        group = self.page.groups[0]
        if {d.kind for d in group.declarations} == {'macro'}:
            return f'constants of {group.header.include}'
        text = mdoc.sentences(model.comment_of(self.page.library, group).text)[0].rstrip('.').replace('`', '')
        return text if re.match(r'[A-Z]{2}|\w+_', text) else text[0].lower() + text[1:]

    def synopsis(self):
        page, out = self.page, self.out
        out.macro('Sh SYNOPSIS')
        for include in dict.fromkeys(g.header.include for g in page.groups):
            out.macro(f'In {include}')
        for declaration in (d for g in page.groups for d in g.declarations):
            self.declare(declaration)

    def declare(self, declaration):
        out = self.out
        if declaration.kind == 'function':
            out.macro('Ft ' + mdoc.argument(declaration.result))
            out.macro(f'Fn {declaration.name} ' + (' '.join(mdoc.argument(p.type) for p in declaration.parameters) or 'void'))
        elif declaration.kind == 'macro':
            out.macro('Fd ' + mdoc.argument(f'#define {declaration.text}'.replace('\\', '\\e')))
        elif declaration.kind == 'enum':
            out.macro(f'Vt {re.sub(r" ?[{].*[}]", " { ... }", declaration.text)} ;')
        elif declaration.items or declaration.kind == 'handler':
            out.macro('Bd -literal')
            plain = headers.without_comments(declaration.text).rstrip(';').replace('\t', '    ').replace('\\', '\\e')
            out.lines += [line.rstrip() for line in (plain + ';').splitlines() if line.strip()]
            out.macro('Ed')
        else:
            out.macro(f'Vt {declaration.text} ;')

    def description(self):
        out = self.out
        out.macro('Sh DESCRIPTION')
        for place, group in enumerate(self.page.groups):
            if place:
                out.macro('Pp')
            self.describe(group)

    def describe(self, group):
        """The comment, with its subject where the header leaves it to the declaration."""
        comment, functions = model.comment_of(self.page.library, group), group.of_kind('function')
        if {d.kind for d in group.declarations} == {'macro'} and not any(d.meaning for d in group.declarations):
            self.out.items([(' , '.join(f'Dv {d.name}' for d in group.declarations), comment.text)], compact=True)
            return
        paragraphs = list(comment.paragraphs)
        twin_again = opening_twin(self.page, group)
        if twin_again:
            paragraphs = [f'Like {twin_again}, for the level that the program was compiled for.']
        if len(functions) == 1 and paragraphs:
            like = model.opening(comment, 'Like') or twin_again
            name = self.page.name if self.page.name in [d.name for d in group.declarations] else functions[0].name
            text = paragraphs[0]
            paragraphs[0] = f'{name} is l{text[1:]}' if like else f'{name} {text[0].lower()}{text[1:]}'
        for place, paragraph in enumerate(paragraphs):
            if place:
                self.out.macro('Pp')
            self.out.text(paragraph)
        self.constants_of(group, bool(paragraphs))

    def constants_of(self, group, after_text):
        """Enumerators, members and macros, with their meanings."""
        found = []
        for declaration in group.declarations:
            for name, value, meaning in declaration.items:
                if declaration.kind == 'macro' and (group.of_kind('function') or not (meaning or value)):
                    continue
                if not meaning:
                    raise BadHeader(f'{group.header.path}: {name} has no comment behind it')
                tag = f'Dv {name} Pq {value}' if declaration.kind == 'enum' else f'Dv {name}' if \
                    declaration.kind == 'macro' else f'Fa {name}'
                found.append((tag, mdoc.as_sentence(meaning) if meaning else ''))
        if not found or not any(text for _, text in found):
            return
        if after_text:
            self.out.macro('Pp')
        self.out.items(found, compact=True)

    def arguments(self):
        library, merged = self.page.library, {}
        for group in self.page.groups:
            for declaration in group.of_kind('function', 'handler'):
                known = {p.name for p in declaration.parameters}
                for name in set(model.comment_of(library, group).arguments) - known:
                    raise BadHeader(f'{group.header.path}: {declaration.name} has no argument {name}')
                for name in (p.name for p in declaration.parameters if p.name):
                    meaning = model.meaning_of(library, group, name)
                    if not meaning:
                        raise BadHeader(f'{group.header.path}: the comment of {declaration.name} does not say what {name} is')
                    merged.setdefault((name, meaning), []).append(declaration.name)
        self.out.macro('Sh ARGUMENTS')
        if not merged:
            self.out.text('None.')
            return
        names = [n for n, _ in merged]
        self.out.items([(f'Fa {name}' + (f' Pq Fn {" , Fn ".join(of)}' if names.count(name) > 1 else ''),
                         mdoc.as_sentence(meaning)) for (name, meaning), of in merged.items()])
        memory = library.rule(self.page.header, 'Memory')
        pointers = any('*' in p.type for g in self.page.groups for f in g.of_kind('function') for p in f.parameters)
        if memory and pointers:
            self.out.macro('Pp')
            self.out.text(memory)

    def label(self, label):
        """[(names of calls or none, text)]: of each call where they differ."""
        library, found = self.page.library, []
        for group in self.page.groups:
            if not group.of_kind('function', 'handler') or opening_twin(self.page, group):
                continue
            text = model.comment_of(library, group).labels.get(label)
            if text is None and model.opening(model.comment_of(library, group), 'Like') is None:
                text = '' if group.of_kind('handler') else library.rule(group.header, label)
            if text:
                found.append((group.of_kind('function', 'handler')[0].name, text))
        return found

    def results(self):
        found = self.label('Returns')
        if not found:
            if self.page.groups[0].of_kind('function'):
                raise BadHeader(f'{self.page.header.path}: the comment of {self.page.name} has no "Returns:"')
            return
        self.out.macro('Sh RETURN VALUES')
        for place, (name, text) in enumerate(found):
            self.out.text(text if place == 0 else f'{name}: {text}')

    def errors(self):
        """The rule, then the codes: their meanings are those of the enum, or in parentheses behind them."""
        library, listed, notes = self.page.library, {}, []
        rule = library.rule(self.page.header, 'Errors')
        found = [(n, t) for n, t in self.label('Errors')]
        if not found or not any(codes_of(t, library) or t.startswith('none') for _, t in found):
            raise BadHeader(f'{self.page.header.path}: the comment of {self.page.name} has no "Errors:" with codes, or "none."')
        for name, text in found:
            codes, rest = read_errors(text, library)
            for code, remark in codes:
                if code not in library.constants and code not in (library.twin.constants if library.twin else {}):
                    raise BadHeader(f'{self.page.header.path}: {name} names {code}, which no header has')
                listed.setdefault(code, []).append(remark)
            notes += [] if rest in notes or not rest else [rest]
        self.out.macro('Sh ERRORS')
        if not listed:
            self.out.text(' '.join(['None.', *notes]))
            return
        if not codes_of(rule, library):
            self.out.text(rule)
        before = set(self.referred)
        self.out.items([(f'Dv {code}', self.meaning_of_code(code, remarks)) for code, remarks in listed.items()])
        self.referred = before  # the codes are of many calls
        for note in notes:
            self.out.macro('Pp')
            self.out.text(note)

    def meaning_of_code(self, code, remarks):
        """The calls' own words, and those of the enum if one of the calls has none."""
        library = self.page.library
        value, general = library.constants.get(code) or library.twin.constants[code]
        said = [r or re.sub(r'^[OM]\w+: ', '', general) for r in dict.fromkeys(remarks)]
        unnamed = '' if code in library.constants else f' The code is {value}, which {self.page.header.include} does not name.'
        return mdoc.as_sentence('; '.join(said)) + unnamed

    def threads(self):
        found = self.label('Threads')
        if found:
            self.out.macro('Sh THREADS')
        for place, (name, text) in enumerate(found):
            if place == 0 or text != found[0][1]:
                self.out.text(text)

    def users(self):
        """Pages of calls that have a type of this page in their declarations."""
        if any(g.of_kind('function', 'data') for g in self.page.groups):
            return set()
        types = {d.name for g in self.page.groups for d in g.declarations}
        return {page.name for page in self.page_of.values() for g in page.groups for d in g.of_kind('function', 'type')
                if page is not self.page and types & set(re.findall(r'\w+', headers.without_comments(d.text)))}

    def tail(self):
        page, out = self.page, self.out
        origins = dict.fromkeys(g.comment.origin for g in page.groups if g.comment.origin)
        for declaration in (d for g in page.groups for d in g.declarations):
            for word in re.findall(r'\w+', headers.without_comments(declaration.text)):
                if word not in self.parameters and word not in self.constants:
                    self.refer(word)
        users = self.users()
        self.referred |= {(name, '3') for name in (users if len(users) <= USERS_MAX else ())}
        others = sorted(self.referred | {page.library.overview}, key=lambda r: (r[1], r[0].lower()))
        out.macro('Sh SEE ALSO')
        for place, (name, section) in enumerate(others):
            out.macro(f'Xr {name} {section}' + (' ,' if place + 1 < len(others) else ''))
        if origins:
            out.macro('Sh HISTORY')
            out.text('It comes from ' + ', and '.join(origins) + '.')


def opening_twin(page, group):
    """The call on this page that is a twin of the same one; the page has its text already."""
    twin = model.opening(group.comment, 'Twin of')
    if not twin or group is page.groups[0] or not page.library.twin or not model.function_of(group):
        return None
    source = page.library.twin.group_of[twin]
    first = model.opening(page.groups[0].comment, 'Twin of')
    return page.groups[0].declarations[0].name if source is page.library.twin.group_of.get(first) else None


def codes_of(text, library):
    return [c for c in re.findall(r'\b[A-Z]\w+\b', text.split('. ')[0]) if c in library.constants]


def read_errors(text, library):
    """([(code, remark)], the sentences behind) of "CODE, CODE (remark), CODE. Sentences"."""
    if text.startswith('none'):
        return [], text.removeprefix('none.').strip()
    if not codes_of(text, library):
        return [], ''
    codes, at = [], 0
    item = re.compile(r'\s*(\w+)(?: \(([^)]*)\))?(,|\.)?')
    while match := item.match(text, at):
        codes.append((match[1], match[2] or ''))
        at = match.end()
        if match[3] != ',' or not re.match(r'\s*[A-Z]+_', text[at:]):
            break
    return codes, text[at:].strip()


def date_of(overview):
    """Pages have the date of their overview, so that a build gives the same everywhere."""
    text = (ROOT / 'docs/man' / '.'.join(overview)).read_text(encoding='utf-8')
    return re.search(r'^\.Dd (.*)$', text, re.M)[1]


def pages(name):
    """{file: text} of a library."""
    libs = libraries(name)
    found = [page for one in libs for page in model.pages_of(one)]
    page_of = {n: page for page in found for n in page.names}
    renderer = Renderer(libs, page_of)
    files = {f'{page.name}.3': renderer.page_text(page) for page in found}
    files |= {f'{n}.3': f'.so man3/{page.name}.3\n' for page in found for n in page.names[1:]}
    return files


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    try:
        if sys.argv[1] == '--list':
            print('\n'.join(sorted(pages(sys.argv[2]))))
            return
        folder = pathlib.Path(sys.argv[2])
        folder.mkdir(parents=True, exist_ok=True)
        for name, text in pages(sys.argv[1]).items():
            (folder / name).write_text(text, encoding='utf-8')
    except BadHeader as bad:
        sys.exit(str(bad))


if __name__ == '__main__':
    main()

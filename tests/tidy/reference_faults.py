#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""Proves that docs/reference refuses a header whose comments lack something, and says which; and the pages of a good one.

Ends with a line of counts.
"""
import pathlib
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / 'docs/reference'))

import generate  # noqa: E402: behind its path
import headers  # noqa: E402
import model  # noqa: E402

GOOD = """/* SPDX */
/*
 * A header.
 * - Returns. 0.
 * - Threads. Any.
 * - size: bytes of the place.
 */
#ifndef A_H
#define A_H
/* Errors. */
enum a_error {
\tA_E_FULL = 1, /* no room */
\tA_E_ARGUMENT = 2 /* bad argument */
};

/* A place. */
typedef struct {
\tint fd; /* its descriptor */
} a_place;

/*
 * Reads a place. It calls `next` for each byte, and a_write never.
 * - place: where.
 * - next: a function.
 * Errors: A_E_FULL, A_E_ARGUMENT (`next` is NULL). All stay.
 */
int a_read(a_place *place, unsigned long size, void (*next)(int, int));

/* Like a_read, but writes. */
int a_write(a_place *place, unsigned long size, void (*next)(int, int));
#endif
"""
# What is taken away or changed, and what the message names.
FAULTS = [(' * - place: where.\n', '', 'place'), ('place: where', 'plaza: where', 'plaza'), (' * - size: bytes of the place.\n', '', 'size'),
          (' * - Returns. 0.\n', '', 'Returns'), (' * Errors: A_E_FULL, A_E_ARGUMENT (`next` is NULL). All stay.\n', '', 'Errors'),
          ('Errors: A_E_FULL,', 'Errors: A_E_FULL, A_E_NONE,', 'A_E_NONE'), (' /* no room */', '', 'A_E_FULL'),
          (' /* its descriptor */', '', 'fd'), ('/* A place. */\n', '', 'a_place'), ('Like a_read', 'Like a_reed', 'a_reed'),
          ('int a_write(a_place', 'int a_write[a_place', 'a_write')]


def pages(text, folder):
    """{file: page} of a header with that text."""
    path = pathlib.Path(folder) / 'a.h'
    path.write_text(text, encoding='utf-8')
    library = model.Library('liba', '-la', ('fm', '3'), [headers.read(path, 'a.h')])
    found = model.pages_of(library)
    renderer = generate.Renderer([library], {n: page for page in found for n in page.names})
    return {page.name: renderer.page_text(page) for page in found}


def differences(made):
    if sorted(made) != ['a_error', 'a_place', 'a_read']:
        yield f'pages {sorted(made)}'
    for name, wanted in (('a_read', '.Nm a_read ,\n.Nm a_write\n.Nd reads a place\n'), ('a_read', '.It Fa size\nBytes of the place.\n'),
                         ('a_read', '"void (*next)(int, int)"'), ('a_read', '.It Dv A_E_FULL\nNo room.\n'),
                         ('a_read', '.It Dv A_E_ARGUMENT\n.Fa next\nis\n.Dv NULL .\n'), ('a_read', '.Fn a_write\nis like\n.Fn a_read ,\n'),
                         ('a_read', '.Pp\nAll stay.\n'), ('a_read', '.Sh RETURN VALUES\n0.\n'), ('a_read', '.Sh THREADS\nAny.\n'),
                         ('a_read', '.Xr a_place 3'), ('a_place', '.It Fa fd\nIts descriptor.\n'), ('a_error', '.It Dv A_E_FULL Pq 1\n')):
        if wanted not in made.get(name, ''):
            yield f'{name} lacks {wanted!r}'


def main():
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        for line in differences(pages(GOOD, folder)):
            print(f'the page of a good header: {line}')
            failed += 1
        for old, new, named in FAULTS:
            assert old in GOOD, old
            try:
                pages(GOOD.replace(old, new), folder)
                said = 'nothing is said'
            except headers.BadHeader as bad:
                said = str(bad)
            if named not in said or 'a.h' not in said:
                print(f'without {old!r}: {said}')
                failed += 1
    print(f'{len(FAULTS) + 1 - min(failed, len(FAULTS) + 1)} passed, {failed} failed, 0 skipped')
    sys.exit(1 if failed else 0)


if __name__ == '__main__':
    main()

# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""Writes mdoc(7): text whose words may be calls, types, constants and arguments becomes lines with macros."""

import re

LINE_MAX = 78
# A sentence ends before a capital, a parenthesis or a name with an underscore; not behind an initial.
SENTENCE_END = re.compile(r'(?<![A-Z ][A-Z]\.)(?<=[.!?])\s+(?=[A-Z(`]|[a-z]+_\w)')
WORD = re.compile(r"([(\[\"]*)(.*?)((?:'s)?[)\].,;:!?\"]*)$", re.S)


def sentences(text):
    return [s for s in SENTENCE_END.split(' '.join(text.split())) if s]


def escaped(word):
    """A word as roff shows it unchanged."""
    word = word.replace('\\', '\\e').replace("'", '\\(aq').replace('`', '\\(ga').replace('^', '\\(ha').replace('~', '\\(ti')
    word = re.sub(r'-(?=\w*_|\d|>|l\w)', r'\\-', word) if re.match(r'[(\[]?-', word) else word
    return word.replace('"', '\\(dq')


class Writer:
    """Text of one page. `macro_of` gives the macro line of a word, without the dot, or None."""

    def __init__(self, macro_of):
        self.macro_of = macro_of
        self.lines = []

    def macro(self, line):
        self.lines.append('.' + line)

    def flush(self, words):
        line = ''
        for word in words:
            if line and len(line) + 1 + len(word) > LINE_MAX:
                self.lines.append(line)
                line = ''
            line = f'{line} {word}' if line else ('\\&' + word if word[0] in ".'" else word)
        if line:
            self.lines.append(line)
        words.clear()

    def word(self, word, words):
        opening, core, closing = WORD.match(word).groups()
        if core.endswith('(') and closing.startswith(')'):
            core, closing = core + ')', closing[1:]
        macro = self.macro_of(core)
        if macro is None:
            words.append(escaped(word))
            return
        self.flush(words)
        if closing.startswith("'s"):
            macro, closing = f'{macro} Ns \\(aqs', closing[2:]
        quote = {'"': '\\(dq'}
        before = ''.join(quote.get(sign, sign) for sign in opening)
        after = ''.join(' ' + quote.get(sign, sign) for sign in closing)
        self.macro(f'{"Pf " + before + " " if before else ""}{macro}{after}')

    def text(self, text):
        """Paragraph of sentences, each on lines of its own."""
        for sentence in sentences(text):
            words = []
            for word in sentence.split():
                self.word(word, words)
            self.flush(words)

    def items(self, items, compact=False):
        """List of (macro line of the tag, text)."""
        self.macro('Bl -tag -width Ds' + (' -compact' if compact else ''))
        for tag, text in items:
            self.macro('It ' + tag)
            self.text(text)
        self.macro('El')


def argument(text):
    """Argument of a macro, quoted if it has blanks."""
    text = text.replace('"', '""')
    return f'"{text}"' if ' ' in text or not text else text


def as_sentence(meaning):
    """Meaning with a capital and a full stop; a name keeps its first letter."""
    meaning = meaning.strip()
    first = meaning.split(' ', 1)[0] if meaning else ''
    if not re.search(r'[_`*()]|[A-Z]|-', first) and first[:1].isalpha() and '->' not in meaning:
        meaning = meaning[0].upper() + meaning[1:]
    return meaning if meaning.endswith(('.', '!', '?')) else meaning + '.'

"""CSV as programs and spreadsheets write it: `,`, `;` or tabs, any line ends. Pure."""

import csv
import io
import re
from collections.abc import AsyncIterator
from typing import Final, Literal

from tracker.imports.readers.text import MAX_CHARACTERS, batches, head_text, texts_of

MAX_FIELD_CHARACTERS: Final = 256 * 1024
"""A quote that nothing closes within it is a character."""

_DELIMITERS: Final = ",;\t"
_NAMED: Final = re.compile(r"sep=(.)\r?\n")
"""A first line of Excel, which names the delimiter."""

_LINE_END: Final = r"(?:\r\n|\n|\r(?=[^\n]))"
_LINE: Final = re.compile(rf"[^\r\n]*+{_LINE_END}")

csv.field_size_limit(MAX_CHARACTERS)


class _Rows:
    """Takes the rows that are whole; blank lines are rows without cells."""

    _delimiter = ""

    def __call__(self, text: str, at: int, is_last: bool) -> tuple[int, list[list[str]]] | None:
        if not self._delimiter:
            return self._begin(text)
        end = self._whole.match(text, at).end()  # type: ignore[union-attr]
        if end > at:
            return end, self._split(text[at:end], csv.QUOTE_MINIMAL)
        line = _LINE.match(text, at)
        if line and (is_last or len(text) - at > MAX_FIELD_CHARACTERS):
            return line.end(), self._split(line[0], csv.QUOTE_NONE)
        return None

    def _split(self, text: str, quoting: Literal[0, 3]) -> list[list[str]]:
        lines = io.StringIO(text, newline="")
        return list(csv.reader(lines, delimiter=self._delimiter, quoting=quoting))

    def _begin(self, text: str) -> tuple[int, list[list[str]]] | None:
        if not text:
            return None
        named = _NAMED.match(text)
        line = re.sub(r'"[^"]*"', "", text.lstrip()).partition("\n")[0]
        self._delimiter = one = named[1] if named else max(_DELIMITERS, key=line.count)
        one = re.escape(one)
        field = rf'(?:"(?:[^"]++|"")*+"[^{one}\r\n]*+|[^{one}"\r\n][^{one}\r\n]*+|)'
        self._whole = re.compile(rf"(?:{field}(?:{one}{field})*+{_LINE_END})*+")
        return (named.end(), [[]]) if named else (0, [])


def csv_batches(pieces: AsyncIterator[bytes]) -> AsyncIterator[list[list[str]]]:
    return batches(texts_of(pieces), _Rows())


def first_rows(head: bytes) -> list[list[str]]:
    """Return the rows that are whole in the beginning of a file, without blank ones."""
    step, text, at, rows = _Rows(), head_text(head) + "\n", 0, []
    while found := step(text, at, True):
        at, more = found
        rows += [row for row in more if any(row)]
    return rows

"""Rows of CSV as programs and spreadsheets write it. Pure."""

import csv
import io
import re
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Final

from tracker.syntax.text_pieces import BATCH, HEAD_BYTES, MAX_CHARACTERS, batches, head_text

MAX_FIELD_CHARACTERS: Final = 256 * 1024
"""A quote that nothing closes within it is a character."""

Headings = Mapping[str, str]
"""The headings of each field, without case, spaces and `_`; the first that is there is read."""

_DELIMITERS: Final = ",;\t"
# Excel may name the delimiter in a first line.
_NAMED: Final = re.compile(r"sep=([,;\t|])\r?\n")
_LINE_END: Final = r"(?:\r\n|\n|\r(?=[^\n]))"
_LINE: Final = re.compile(rf"[^\r\n]*+{_LINE_END}")

# `batches` limits a text. Up to a piece of the file more than the limit may be in it.
csv.field_size_limit(16 * MAX_CHARACTERS)


class _Rows:
    """Takes the rows that are whole; blank lines are rows without cells."""

    def __init__(self, delimiter: str = "") -> None:
        self._delimiter = delimiter
        self._whole: re.Pattern[str] | None = None

    def __call__(self, text: str, at: int, is_last: bool) -> tuple[int, list[list[str]]] | None:
        if self._whole is None:
            return self._begin(text)
        whole = self._whole.match(text, at)
        if whole and whole.end() > at:
            return whole.end(), self._split(whole[0])
        line = _LINE.match(text, at)
        if line and (is_last or len(text) - at > MAX_FIELD_CHARACTERS):
            return line.end(), [line[0].rstrip("\r\n").split(self._delimiter)]
        return None

    def _split(self, text: str) -> list[list[str]]:
        return list(csv.reader(io.StringIO(text, newline=""), delimiter=self._delimiter))

    def _begin(self, text: str) -> tuple[int, list[list[str]]] | None:
        named = _NAMED.match(text)
        line = re.sub(r'"[^"]*"', "", text.lstrip()).partition("\n")[0]
        guessed = named[1] if named else max(_DELIMITERS, key=line.count)
        self._delimiter = self._delimiter or guessed
        one = re.escape(self._delimiter)
        field = rf'(?:"(?:[^"]++|"")*+"[^{one}\r\n]*+|[^{one}"\r\n][^{one}\r\n]*+|)'
        self._whole = re.compile(rf"(?:{field}(?:{one}{field})*+{_LINE_END}){{0,{BATCH}}}+")
        return (named.end(), [[]]) if named else (0, [])


def csv_batches(
    pieces: AsyncIterator[bytes], delimiter: str = ""
) -> AsyncIterator[list[list[str]]]:
    """Yield rows. Without a `delimiter` it is a comma, a semicolon or a tab."""
    return batches(pieces, _Rows(delimiter))


def first_rows(head: bytes, delimiter: str = "") -> list[list[str]]:
    """Return the rows at the beginning of a file, without blank ones and the last."""
    step, text, at = _Rows(delimiter), head_text(head) + "\n", 0
    rows: list[list[str]] = []
    while found := step(text, at, True):
        at, more = found
        rows += filter(any, more)
    return rows[:-1] if len(head) >= HEAD_BYTES else rows


def columns_of(headings: Sequence[str], known: Headings) -> dict[str, int]:
    """Guess the column, from 0, of each field by the headings."""
    plain, found = list(map(plain_heading, headings)), dict[str, int]()
    for field, names in known.items():
        columns = (plain.index(name) for name in names.split() if name in plain)
        if (free := next((at for at in columns if at not in found.values()), None)) is not None:
            found[field] = free
    return found


def plain_heading(heading: str) -> str:
    return re.sub(r"[\s_]", "", heading).lower()

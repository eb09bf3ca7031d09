"""CSV (RFC 4180) that is safe to open in a spreadsheet. Pure.

Guarantee: no field begins like a formula, which a spreadsheet would run. An apostrophe in front
makes such a cell text, also where the spreadsheet has another delimiter. A negative number stays.

Columns are looked at as a whole, because most have nothing to escape: the standard writer looks at
each character, and takes 4 µs for a link.
"""

import re
from collections.abc import Sequence
from typing import Final

_FORMULA: Final = re.compile(
    # A cell's beginning, also for another delimiter.
    r"(?:^|(?<=[;\t\r\n]))"
    # Spreadsheets skip these. Without delimiters among them the work is linear.
    r"(?=[\"'\x00-\x08\x0b\x0c\x0e-\x20\x7f-\xa0\u2000-\u200f\u2028-\u202f\u2060\u3000\ufeff]*"
    # The full-width forms are the same to a spreadsheet in East Asia.
    r"[=+\-@\uff1d\uff0b\uff0d\uff20])"
    # Spreadsheets drop these where a cell begins.
    r"|^(?=[ \"']*[\t\r])"
)

_NEGATIVE: Final = re.compile(r"-[0-9]+(?:\.[0-9]+)?")
"""A number, which a spreadsheet computes nothing from."""

_OTHER_DELIMITERS: Final = ";\t\r"
_QUOTED: Final = ',"\r\n'

_PLAIN_BEGINNINGS: Final = re.compile(r"[\w\[{]*")


def csv_field(text: str) -> str:
    return text if _NEGATIVE.fullmatch(text) else _FORMULA.sub("'", text)


def csv_fields(texts: Sequence[str]) -> list[str]:
    """Return the texts as fields, as `csv_field` does."""
    together = "".join(texts)
    is_plain = not _has_any(together, _OTHER_DELIMITERS + "\n") and _PLAIN_BEGINNINGS.fullmatch(
        "".join([one[:1] for one in texts])
    )
    return list(texts) if is_plain else list(map(csv_field, texts))


def csv_lines(columns: Sequence[Sequence[str]]) -> bytes:
    """Return the lines of a table, given by its columns of equally many fields."""
    if len(columns) == 1:
        # An empty line would be no row.
        columns = [[field or '""' for field in _quoted(columns[0])]]
    else:
        columns = list(map(_quoted, columns))
    lines = map(",".join, zip(*columns, strict=True))
    return "".join([f"{line}\r\n" for line in lines]).encode()


def _quoted(fields: Sequence[str]) -> Sequence[str]:
    if not _has_any("".join(fields), _QUOTED):
        return fields
    return ['"' + one.replace('"', '""') + '"' if _has_any(one, _QUOTED) else one for one in fields]


def _has_any(text: str, characters: str) -> bool:
    return any(one in text for one in characters)

"""Rows of SQL dumps: of mysqldump and phpMyAdmin, pg_dump (COPY or INSERT), and SQLite. Pure."""

import re
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime, tzinfo
from typing import Final, NamedTuple

from tracker.imports.readers.fields import Read, items_of
from tracker.imports.source import FileFormat
from tracker.syntax.text_pieces import BATCH, BrokenFile, batches, head_text

Tables = Mapping[str, str]
"""The columns that a table must have, by the end of its name. A dump that names none has these."""


class SqlRow(NamedTuple):
    """A row, its table as `Tables` calls it, and the zone of the dump's TIMESTAMPs."""

    table: str
    values: Mapping[str, str | None]
    zone: tzinfo
    is_mysql: bool


# Possessive, as all patterns here: nobody's file takes time squared.
_NAME: Final = r'(?:[`"]?\w++[`"]?\.)?[`"]?(\w++)[`"]?'
_INSERT: Final = re.compile(
    rf"(?:INSERT|REPLACE)\s++(?:IGNORE\s++)?INTO\s++{_NAME}\s*+"
    r"(\([^()']*+\))?+[\w\s]*?\bVALUES\s*+(?=\()",
    re.IGNORECASE,
)
_COPY: Final = re.compile(
    rf"COPY\s++{_NAME}\s*+(\([^)]*+\)\s*+)?+FROM\s++stdin;[^\n]*+\n", re.IGNORECASE
)
_CREATE: Final = re.compile(
    rf"CREATE\s++TABLE\s++(?:IF\s++NOT\s++EXISTS\s++)?+{_NAME}\s*+\((.*)\)",
    re.IGNORECASE | re.DOTALL,
)
_NO_COLUMN: Final = r"(?:PRIMARY|UNIQUE|KEY|INDEX|CONSTRAINT|FOREIGN|CHECK|FULLTEXT|SPATIAL)\b"
_COLUMN: Final = re.compile(rf'\s*(?:[`"]([^`"]+)|(?!{_NO_COLUMN})(\w+))', re.IGNORECASE)
_ZONE: Final = re.compile(r"\btime_?zone\s*=\s*['\"]([+-]\d\d:\d\d)['\"]", re.IGNORECASE)
# The text of a `/*!` comment is executed.
_SKIPPED: Final = re.compile(
    r"(?:\s++|--[^\n]*+\n|#[^\n]*+\n|\\[^\n]*+\n|/\*!\d*+|\*/|/\*(?!!).*?\*/)*+", re.DOTALL
)
_NOT_MYSQL: Final = re.compile(r"PRAGMA foreign_keys|PostgreSQL database dump|^COPY |^BEGIN ", re.M)
_BEGINNING: Final = re.compile(r"^(?:-- |/\*|CREATE|INSERT|COPY|PRAGMA|SET|BEGIN)", re.M | re.I)
_CHARACTERS: Final = dict(zip("nrtbfv0Z", "\n\r\t\b\f\v\0\x1a", strict=True))
_ESCAPE: Final = re.compile(r"\\(.)", re.DOTALL)
MAX_TABLES: Final = 1000
_LINE_BREAK: Final = re.compile(r"'([^']+)',\s*char\((10|13)\)")


class _Rows:
    """Takes the rows of wanted tables."""

    def __init__(self, tables: Tables) -> None:
        self._tables = tables
        self._created: dict[str, list[str]] = {}
        self._zone: tzinfo = UTC
        self._take: Callable[[str, int], tuple[int, list[SqlRow]] | None] = self._begin

    def __call__(self, text: str, at: int, is_last: bool) -> tuple[int, list[SqlRow]] | None:
        found = self._take(text, at) if at < len(text) else None
        if is_last and found is None and self._take in (self._tuples, self._lines):
            raise BrokenFile("file: ends in the middle of a table")
        return found

    def _begin(self, text: str, at: int) -> tuple[int, list[SqlRow]]:
        self._is_mysql = not _NOT_MYSQL.search(text)
        string = r"'(?:[^'\\]++|\\.|'')*+'" if self._is_mysql else r"'(?:[^']++|'')*+'"
        inner = rf"[^()']++|{string}"
        for _ in range(3):
            call = rf"\((?:{inner})*+\)"
            inner = rf"[^()']++|{string}|{call}"
        self._string = re.compile(string, re.DOTALL)
        self._tuple = re.compile(rf"\s*\(((?:{inner})*+)\)\s*(,|;|ON\b)", re.DOTALL)
        self._value = re.compile(
            rf"\s*(?:({string})\s*|((?:[^,()']++|{string}|{call})*+)),", re.DOTALL
        )
        self._other = re.compile(
            rf"(?!#)(?:[^'\"`;$/-]++|{string}|\"[^\"]*+\"|`[^`]*+`|--[^\n]*+\n|-(?!-)"
            r"|/\*(?!!).*?\*/|/(?!\*)|/\*!|\$(\w*)\$.*?\$\1\$|\$(?!\w*\$))*+;",
            re.DOTALL,
        )
        self._take = self._statement
        return at, []

    def _statement(self, text: str, at: int) -> tuple[int, list[SqlRow]] | None:
        start = _SKIPPED.match(text, at).end()  # type: ignore[union-attr]
        if rows := _INSERT.match(text, start) or _COPY.match(text, start):
            self._take = self._lines if rows[0][0] in "cC" else self._tuples
            self._table, self._columns = self._wanted(rows[1].lower(), rows[2])
            return rows.end(), []
        if other := self._other.match(text, start):
            self._learn(other[0])
            return other.end(), []
        return (start, []) if start > at else None

    def _learn(self, statement: str) -> None:
        if zone := _ZONE.search(statement):
            self._zone = datetime.fromisoformat(f"2000-01-01T00:00{zone[1]}").tzinfo or UTC
        create = _CREATE.match(statement)
        if create and create[1].lower().endswith(tuple(self._tables)):
            if len(self._created) == MAX_TABLES:
                raise BrokenFile(f"file: has more than {MAX_TABLES} tables of such names")
            columns = self._string.sub("", create[2])
            for _ in range(5):  # levels of brackets
                columns = re.sub(r"\([^()]*+\)", "", columns)
            found = filter(None, map(_COLUMN.match, columns.split(",")))
            self._created[create[1].lower()] = [(one[1] or one[2]).lower() for one in found]

    def _wanted(self, name: str, columns: str | None) -> tuple[str, Sequence[str]]:
        """Return which table a table of the dump is, and its columns; "" if it is not wanted."""
        named = re.findall(r"\w+", columns.lower()) if columns else self._created.get(name)
        for table, required in self._tables.items():
            found = named or required.split()
            if name.endswith(table) and set(required.split()) <= set(found):
                return table, found
        return "", ()

    def _tuples(self, text: str, at: int) -> tuple[int, list[SqlRow]] | None:
        rows: list[SqlRow] = []
        start = at
        while len(rows) < BATCH and (found := self._tuple.match(text, at)):
            at = found.end()
            if self._table:
                pairs = self._value.findall(found[1] + ",")
                values = [self._text(one) if one else self._literal(raw) for one, raw in pairs]
                rows.append(self._row(values))
            if found[2] != ",":
                self._take = self._statement
                break
        return (at, rows) if at > start else None

    def _lines(self, text: str, at: int) -> tuple[int, list[SqlRow]] | None:
        rows: list[SqlRow] = []
        start = at
        while len(rows) < BATCH and (end := text.find("\n", at)) >= 0:
            line, at = text[at:end].rstrip("\r"), end + 1
            if line == r"\.":
                self._take = self._statement
                break
            if self._table:
                cells = line.split("\t")
                rows.append(self._row([None if one == r"\N" else _unescaped(one) for one in cells]))
        return (at, rows) if at > start else None

    def _row(self, values: list[str | None]) -> SqlRow:
        # A row with other columns than its table's has none: its reader refuses it.
        is_whole = len(values) == len(self._columns)
        row = dict(zip(self._columns, values, strict=True)) if is_whole else {}
        return SqlRow(self._table, row, self._zone, self._is_mysql)

    def _text(self, quoted: str) -> str:
        text = quoted[1:-1]
        if "'" in text:
            text = text.replace("''", "'")
        return _unescaped(text) if self._is_mysql and "\\" in text else text

    def _literal(self, raw: str) -> str | None:
        """Return a value that is no plain string. SQLite writes line breaks as calls."""
        raw = raw.strip()
        string = self._string.search(raw)
        if string is None:
            return None if raw.upper() == "NULL" else raw
        text = self._text(string[0])
        if raw.startswith("unistr("):
            text = re.sub(r"\\(?:u([0-9a-f]{4})|\\)", _unicode, text)
        for mark, code in _LINE_BREAK.findall(raw, string.end()):
            text = text.replace(mark, chr(int(code)))
        return text


def _unescaped(text: str) -> str:
    return _ESCAPE.sub(lambda one: _CHARACTERS.get(one[1], one[1]), text)


def _unicode(escape: re.Match[str]) -> str:
    return chr(int(escape[1], 16)) if escape[1] else "\\"


def sql_format(tables: Tables, reader: Callable[[], Read]) -> FileFormat:
    """Return a format of dumps. A reader, made for each file, gets rows of the tables."""

    def fits(head: bytes) -> bool:
        return _BEGINNING.search(head_text(head)) is not None

    return FileFormat(
        "SQL dump", fits, lambda pieces, _: items_of(batches(pieces, _Rows(tables)), reader())
    )

"""Rows of SQL dumps."""

from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.imports.reading import pieces_of, run_alone
from tracker.imports.item import RefusedRow, SourceItem
from tracker.imports.readers import sql_dump
from tracker.imports.readers.fields import refused
from tracker.imports.readers.sql_dump import SqlRow, sql_format

Values = list[str | None]


def rows_of(data: bytes, size: int = 5) -> tuple[list[Values], list[SourceItem]]:
    """Return the rows of table `t` with the columns `a` and `b`, and what is refused."""
    rows: list[Values] = []

    def read(number: int, row: SqlRow) -> list[SourceItem]:
        rows.append(list(row.values.values()))
        return []

    async def collected() -> list[SourceItem]:
        read_pieces = sql_format({"t": "a b"}, lambda: read).read
        return [item async for item in read_pieces(pieces_of(data, size), {})]

    return rows, run_alone(collected())


CASES: Mapping[str, tuple[str, list[Values]]] = {
    "rows over lines": ("INSERT INTO t VALUES\n (1,\n2)\n ,(3 , 4)\n;", [["1", "2"], ["3", "4"]]),
    "columns in another order": ("INSERT INTO `t` (`b`, `a`) VALUES (1,2);", [["1", "2"]]),
    "a schema and a prefix": ('INSERT INTO "public"."x_t" VALUES (1,NULL);', [["1", None]]),
    "columns by the table": (
        "CREATE TABLE t (\n c int DEFAULT '1,2' CHECK (c in (1, 2)),\n a text, b text,\n"
        " PRIMARY KEY (c), KEY `k` (`a`)); INSERT INTO t VALUES (9,1,2);",
        [["9", "1", "2"]],
    ),
    "another table": ("INSERT INTO other VALUES (1,'); INSERT INTO t VALUES (1,2);');", []),
    "a comment": ("-- it's; \n/* ' ; */ # '\nINSERT INTO t VALUES (1,2);-- end", [["1", "2"]]),
    "escapes": (r"INSERT INTO t VALUES ('\'\\\n\0\%','a''b');", [["'\\\n\0%", "a'b"]]),
    "an introducer": ("INSERT INTO t VALUES (_utf8mb4'x',_binary 'y');", [["x", "y"]]),
    "no values": ("INSERT INTO t (a, b) SELECT 1, ';'; INSERT INTO t VALUES (1,2);", [["1", "2"]]),
    "too few values": ("INSERT INTO t VALUES (1),(1,2);", [[], ["1", "2"]]),
    "a backslash of SQLite": (
        "PRAGMA foreign_keys=OFF;\nINSERT INTO t VALUES('a\\','b');",
        [["a\\", "b"]],
    ),
    "line breaks of SQLite": (
        "PRAGMA foreign_keys=OFF;\nINSERT INTO t VALUES(replace('a\\012b''','\\012',char(10)),2);",
        [["a\nb'", "2"]],
    ),
    "lines of PostgreSQL": (
        "COPY public.t (a, b) FROM stdin;\n\\N\t\\\\x\\ty\n;\t'\n\\.\nSELECT ';';\n",
        [[None, "\\x\ty"], [";", "'"]],
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_rows_are_read(name: str) -> None:
    text, expected = CASES[name]
    for size in (1, 5, 10_000):
        assert rows_of(text.encode(), size) == (expected, [])


@pytest.mark.parametrize(
    "text",
    [
        "INSERT INTO t VALUES (1,2),(1,'",
        "INSERT INTO t VALUES (1,2),\n",
        "COPY t (a, b) FROM stdin;\n1\t2\n",
    ],
)
def test_a_dump_that_ends_in_the_middle_is_told_after_its_rows(text: str) -> None:
    rows, (item,) = rows_of(text.encode())
    assert rows == [["1", "2"]]
    assert isinstance(item, RefusedRow)
    assert (item.row, item.field) == (2, "file") and item.reason.startswith("ends in the middle")


def test_tables_in_memory_are_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sql_dump, "MAX_TABLES", 2)
    names = ("other", "a", "b", "x_t", "y_t", "z_t")
    dump = "".join(f"CREATE TABLE {name} (a int, b int);" for name in names)
    reason = "has more than 2 tables of such names"
    assert rows_of(dump.encode()) == ([], [RefusedRow(row=1, field="file", reason=reason)])


@pytest.mark.parametrize(
    ("declared", "encoding"),
    [
        ("/*!40101 SET NAMES latin1 */;", "cp1252"),
        ("SET client_encoding = 'WIN1251';", "cp1251"),
        ("SET NAMES utf8;", "cp1252"),
        ("-- MySQL dump\n", "utf-16"),
    ],
)
def test_texts_are_decoded_as_the_dump_declares(declared: str, encoding: str) -> None:
    letters = "ж" if encoding == "cp1251" else "Ã¤" if "latin1" in declared else "ä"
    text = f"{declared}\nINSERT INTO t VALUES ('{letters}',1);"
    assert rows_of(text.encode(encoding)) == ([[letters, "1"]], [])


TEXTS = st.text(st.sampled_from("ab'\\\n;(),-/*#$ü\t"), max_size=8)


def mysql(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


def standard(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


@given(st.lists(st.tuples(TEXTS, TEXTS), min_size=1, max_size=5), st.booleans(), st.data())
def test_rows_are_the_same_wherever_a_dump_is_cut(
    rows: list[tuple[str, str]], is_mysql: bool, data: Any
) -> None:
    quoted = mysql if is_mysql else standard
    head = "-- MySQL dump\n" if is_mysql else "PRAGMA foreign_keys=OFF;\n"
    lines = ",".join(f"({quoted(a)},{quoted(b)})" for a, b in rows)
    text = f"{head}INSERT INTO o VALUES {lines};INSERT INTO t VALUES {lines};\n".encode()
    size = data.draw(st.integers(1, len(text)))
    assert rows_of(text, size) == ([list(row) for row in rows], [])


def test_a_refused_row_never_shows_secrets() -> None:
    row = SqlRow("t", {"a": "x", "password": "s3cret", "ip": "192.0.2.1"}, None, True)  # type: ignore[arg-type]
    assert refused(1, "a: rule", row) == RefusedRow(row=1, field="a", reason="rule", text="x")

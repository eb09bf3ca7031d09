"""CSV of links as spreadsheets and services write it, with guessed and chosen columns."""

import csv
import io
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.imports.reading import HEAD_BYTES, collected, format_of, pieces_of, read, run_alone
from tracker.imports.item import RefusedRow, SourceItem, SourceLink
from tracker.imports.readers import fields
from tracker.imports.readers.csv_links import columns_of
from tracker.imports.source import Preview
from tracker.syntax.csv_rows import csv_batches


def link(row: int, path: str, **more: Any) -> SourceLink:
    known: dict[str, Any] = {"id": f"/{path}", "domain_name": None, "path": path}
    return SourceLink(row=row, destination_url="https://ex.test/", **known | more)


@pytest.mark.parametrize(
    "text",
    [
        "path,url,title\nkäse,https://ex.test/,Über\n",
        "path;url;title\r\nkäse;https://ex.test/;Über",
        "PATH\tU_RL\tTi tle\rkäse\thttps://ex.test/\tÜber\r",
        'sep=;\r\n"path";"url";"title"\r\n"käse";"https://ex.test/";"Über"',
    ],
)
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "cp1252"])
def test_delimiters_line_ends_and_encodings_are_found(text: str, encoding: str) -> None:
    row = 3 if text.startswith("sep") else 2
    assert read("csv", text.encode(encoding)) == [link(row, "käse", internal_name="Über")]


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
def test_a_bom_of_either_order_is_read(encoding: str) -> None:
    data = "\ufeffpath,url\nkäse,https://ex.test/\n".encode(encoding)
    assert read("csv", data) == [link(2, "käse")]


def test_without_headings_a_path_follows_the_destination() -> None:
    rows = b"https://ex.test/,a,T\n\nhttps://ex.test/,b,T\nhttps://ex.test/\n"
    assert read("csv", rows) == [
        link(1, "a"),
        link(3, "b"),
        RefusedRow(
            row=4,
            field="path",
            reason="a path or a short URL is required",
            text="https://ex.test/",
        ),
    ]


FIELDS = [
    ("created_at", "2026-01-01", "2026-01-01T00:00:00+00:00"),
    ("created_at", "2026-01-01 10:00:00+0200", "2026-01-01T08:00:00+00:00"),
    ("created_at", "1767225600", "2026-01-01T00:00:00+00:00"),
    ("expires_at", "1767225600000", "2026-01-01T00:00:00+00:00"),
    ("expires_at", "0", None),
    ("expires_at", "31.12.2026", "must be a time in ISO 8601 or Unix time"),
    ("starts_at", "99999999999999999999", "must be a time in ISO 8601 or Unix time"),
    ("max_clicks", "12", 12),
    ("max_clicks", "-1", "must be a whole number from 0"),
    ("tags", "a, b,,a", ("a", "b")),
    ("tags", "a, b|c", ("a, b", "c")),
    ("archived", "Yes", True),
    ("archived", "false", False),
    ("expired_url", "javascript:1", "must be an absolute http or https URL"),
    ("notes", "'=1+1", "'=1+1"),
]


@pytest.mark.parametrize(("field", "text", "expected"), FIELDS)
def test_a_field_is_read_or_named(field: str, text: str, expected: Any) -> None:
    heading = field.replace("_", " ").title()
    (item,) = read("csv", f'Path,URL,{heading}\na,https://ex.test/,"{text}"\n'.encode())
    if isinstance(item, RefusedRow):
        assert (item.field, item.reason) == (field, expected)
    else:
        value = getattr(item, field)
        assert (value.isoformat() if hasattr(value, "isoformat") else value) == expected


def test_a_quote_that_nothing_closes_is_a_character() -> None:
    rows = 'path,url,title\na,https://ex.test/,5" disk\nb,https://ex.test/,"open\n'
    assert read("csv", rows.encode()) == [
        link(2, "a", internal_name='5" disk'),
        link(3, "b", internal_name='"open'),
    ]


def test_a_field_above_the_limit_of_a_record_ends_the_reading_wherever_it_is_cut() -> None:
    rows = b'path,url,title\na,https://ex.test/,"%s"\n' % (b"x" * 4_300_000)
    for size in (1_100_000, len(rows)):
        *_, last = run_alone(collected(format_of("csv", rows).read(pieces_of(rows, size), {})))
        assert isinstance(last, RefusedRow | SourceLink) and last.row == 2


def test_rows_that_are_refused_are_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fields, "MAX_REFUSED", 300)
    *found, last = read("csv", b"path,url\n" + b"a\n" * 1000)
    assert 300 < len(found) < 600 and isinstance(last, RefusedRow)
    assert last.reason == "more than 300 are refused; the rest is left"


def chosen(columns: Mapping[str, int], data: bytes) -> list[SourceItem]:
    return run_alone(collected(format_of("csv", data).read(pieces_of(data, 7), columns)))


def test_columns_that_the_user_chooses_are_read_below_headings_or_without() -> None:
    columns = {"destination_url": 2, "source_url": 0}
    row = "https://Go.ex.test/a%20b/,x,https://ex.test/\n"
    printed = {"id": "go.ex.test/a b", "domain_name": "go.ex.test"}
    assert chosen(columns, row.encode()) == [link(1, "a b", **printed)]
    assert chosen(columns, f"one,two,three\n{row}".encode()) == [link(2, "a b", **printed)]


def preview(data: bytes) -> Preview:
    preview_of = format_of("csv", data).preview
    assert preview_of is not None
    return preview_of(data[:HEAD_BYTES])


def test_a_preview_has_headings_guessed_columns_and_twenty_rows() -> None:
    rows = "".join(f"{number},https://ex.test/\n" for number in range(10_000))
    first = [[str(number), "https://ex.test/"] for number in range(20)]
    columns = {"path": 0, "destination_url": 1}
    assert preview(f"slug,url\n{rows}".encode()) == Preview(["slug", "url"], columns, first)
    assert preview(b"https://ex.test/,a\n") == Preview(
        (), {"destination_url": 0, "path": 1}, [["https://ex.test/", "a"]]
    )


def test_a_column_is_guessed_for_one_field() -> None:
    headings = ["Link", "Custom Link", "URL", "Short_Code", "visits", "key"]
    assert columns_of(headings) == {
        "source_url": 1,
        "aliases": 0,
        "path": 3,
        "destination_url": 2,
        "clicks": 4,
    }


CELLS = st.text(st.sampled_from('ab"\n\r,; ü'), max_size=6)


@given(st.lists(st.lists(CELLS, min_size=2, max_size=3), min_size=1, max_size=6), st.data())
def test_rows_are_the_same_wherever_a_file_is_cut(rows: list[list[str]], data: Any) -> None:
    written = io.StringIO(newline="")
    csv.writer(written).writerows([["a", "b", "c"], *rows])
    text = written.getvalue().encode()
    size = data.draw(st.integers(1, len(text)))

    batches = run_alone(collected(csv_batches(pieces_of(text, size))))
    assert [row for batch in batches for row in batch] == [["a", "b", "c"], *rows]

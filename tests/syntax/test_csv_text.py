"""CSV is read back as it was written, and no spreadsheet runs a field of it."""

import csv
import io
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracker.syntax.csv_text import csv_field, csv_fields, csv_lines

SKIPPED = " \t\r\n\"'\x00\u00a0\u200b\ufeff"
DANGEROUS = "=+-@\uff1d\uff0b\uff0d\uff20"
TEXTS = st.text() | st.text(alphabet=SKIPPED + DANGEROUS + ";,|ab1")


def read_back(raw: bytes, delimiter: str = ",") -> list[list[str]]:
    return list(csv.reader(io.StringIO(raw.decode(), newline=""), delimiter=delimiter))


def runs(cell: str) -> bool:
    """Return whether a spreadsheet may take a cell for a formula; a number is none."""
    if re.fullmatch(r"-[0-9]+(\.[0-9]+)?", cell):
        return False
    return cell.lstrip(SKIPPED.replace("'", "")).startswith(tuple(DANGEROUS))


@given(st.integers(1, 4).flatmap(lambda n: st.lists(st.tuples(*[TEXTS] * n), min_size=1)))
def test_rows_are_read_back_as_they_were_written(rows: list[tuple[str, ...]]) -> None:
    assert read_back(csv_lines(list(zip(*rows, strict=True)))) == list(map(list, rows))


@given(st.lists(TEXTS))
def test_the_fields_of_a_column_are_those_of_its_texts(texts: list[str]) -> None:
    assert csv_fields(texts) == list(map(csv_field, texts))


@given(TEXTS)
def test_no_field_begins_like_a_formula(text: str) -> None:
    [[field]] = read_back(csv_lines([[csv_field(text)]]))
    assert not runs(field)
    assert not re.match(r"[ \"]*[\t\r]", field)


@given(TEXTS)
def test_no_part_begins_like_a_formula_where_the_delimiter_is_another(text: str) -> None:
    for part in re.split(r"[;\t\r\n]", csv_field(text)):
        assert not runs(part)


@given(TEXTS)
def test_only_apostrophes_are_added(text: str) -> None:
    field, position = csv_field(text), 0
    for character in field:
        if position < len(text) and text[position] == character:
            position += 1
        else:
            assert character == "'"
    assert position == len(text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("=1+1", "'=1+1"),
        ("-5+1", "'-5+1"),
        ("-5", "-5"),
        ("-0.25", "-0.25"),
        ("-", "'-"),
        ("@SUM(A1)", "'@SUM(A1)"),
        ("\t=1", "'\t'=1"),
        ("\n =1", "\n' =1"),
        ("\tx", "'\tx"),
        ("\rx", "'\rx"),
        (' "=1', "' \"=1"),
        ("spring;=1", "spring;'=1"),
        ("\uff1dcmd", "'\uff1dcmd"),
        ("a-b", "a-b"),
        ("https://example.com/?a=1;b=2", "https://example.com/?a=1;b=2"),
        ("", ""),
    ],
)
def test_a_field_that_would_run_gets_an_apostrophe(text: str, expected: str) -> None:
    assert csv_field(text) == expected


def test_the_work_is_linear_in_the_length() -> None:
    assert csv_field("\t\n ; " * 200_000 + "=").endswith(";' =")

"""Tables in columns add up what the same rows one by one do, and are stored and read unchanged."""

from collections import Counter
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracker.reports import columns
from tracker.reports.columns import Columns, of_columns
from tracker.reports.joint_counts import columns_document
from tracker.reports.joint_counts.columns_document import documents_of, table_of

NAMES = ("country", "os")
VALUES = st.sampled_from(["", "DE", "unknown", "ünï ☂", "a b,c"])
MEASURES = ("clicks", "value")
ROWS = st.lists(
    st.tuples(VALUES, VALUES, st.integers(0, 2**40), st.integers(-(10**40), 10**40)), max_size=30
)

Row = tuple[str, str, int, int]
Sums = dict[tuple[str, ...], tuple[int, int]]


def table(rows: Sequence[Any]) -> Columns:
    return of_columns(
        {name: [row[number] for row in rows] for number, name in enumerate(NAMES)},
        {name: [row[2 + number] for row in rows] for number, name in enumerate(MEASURES)},
    )


def sums(found: Columns, names: Sequence[str] = NAMES) -> Sums:
    """Return the measures of each row of a table, whose rows must differ."""
    keys = list(zip(*(values(found, name) for name in names), strict=True))
    assert len(set(keys)) == found.rows
    measures = [found.measures.get(name, [0] * found.rows) for name in MEASURES]
    return {key: (int(measures[0][at]), int(measures[1][at])) for at, key in enumerate(keys)}


def values(found: Columns, name: str) -> list[str]:
    column = found.dimensions[name]
    return [column.values[code] for code in column.codes]


def added(rows: Sequence[Row], places: Sequence[int] = (0, 1)) -> Sums:
    clicks: Counter[tuple[str, ...]] = Counter()
    value: Counter[tuple[str, ...]] = Counter()
    for row in rows:
        key = tuple(str(row[place]) for place in places)
        clicks[key] += row[2]
        value[key] += row[3]
    return {key: (clicks[key], value[key]) for key in clicks}


@given(ROWS)
def test_rows_are_added_up_by_any_dimensions(rows: list[Row]) -> None:
    whole = table(rows).by(NAMES)
    for one in (table(rows), whole):
        assert sums(one.by(NAMES)) == added(rows)
        assert sums(one.by(["os"]), ["os"]) == added(rows, [1])
    assert table(rows).total("clicks") == sum(row[2] for row in rows)
    assert table(rows).total("payout") == 0


@given(ROWS, st.sets(VALUES))
def test_a_column_has_the_value_of_each_row(rows: list[Row], wanted: set[str]) -> None:
    found = table(rows).by(["os"])
    for one in (found, found.where("os", wanted), table(rows)):
        assert list(one.dimensions["os"].in_rows()) == values(one, "os")


@given(ROWS, st.sets(VALUES))
def test_rows_are_filtered_by_values(rows: list[Row], wanted: set[str]) -> None:
    found = table(rows).where("os", wanted)
    assert sums(found.by(NAMES)) == added([row for row in rows if row[1] in wanted])


@given(st.lists(ROWS, max_size=4))
def test_tables_with_other_values_are_joined(parts: list[list[Row]]) -> None:
    tables = [table(rows) for rows in parts]
    found = columns.joined(tables, NAMES)
    for name in NAMES:
        assert values(found, name) == [one for each in tables for one in values(each, name)]
        assert len(set(found.dimensions[name].values)) == len(found.dimensions[name].values)
    assert sums(found.by(NAMES)) == added([row for rows in parts for row in rows])


def test_a_measure_that_a_table_lacks_is_zero() -> None:
    clicks = of_columns({"os": ["iOS"]}, {"clicks": [1]})
    events = of_columns({"os": ["iOS", "Linux"]}, {"conversions": [2, 3], "value": [10**30, 1]})
    found = columns.joined([clicks, events], ["os"]).by(["os"])
    assert {name: found.total(name) for name in ("clicks", "conversions", "value")} == {
        "clicks": 1,
        "conversions": 5,
        "value": 10**30 + 1,
    }


@given(ROWS, st.integers(1, 5), st.sets(VALUES))
def test_a_table_is_stored_and_read_unchanged(rows: list[Row], size: int, wanted: set[str]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(columns_document, "ROWS_PER_DOCUMENT", size)
        documents = list(documents_of(table(rows)))
    assert len(documents) == max(1, -(-len(rows) // size))
    read = table_of(documents, NAMES)
    assert [values(read, name) for name in NAMES] == [values(table(rows), name) for name in NAMES]
    assert sums(read.by(NAMES)) == added(rows)
    passing = table_of(documents, NAMES, {"os": wanted})
    assert sums(passing.by(NAMES)) == added([row for row in rows if row[1] in wanted])


def test_numbers_are_packed_as_narrow_as_they_allow() -> None:
    def packed(*numbers: int) -> Any:
        [document] = documents_of(of_columns({}, {"clicks": numbers}))
        return document["measures"]["clicks"]["type"]

    assert [packed(1, 255), packed(256), packed(2**16), packed(-1), packed(2**32)] == [
        *("<u1", "<u2", "<u4", "<i8", "<i8")
    ]


def test_more_combinations_than_64_bits_can_number_are_told_apart() -> None:
    many = [str(number) for number in range(1000)]
    table_of_many = of_columns(
        {f"d{number}": many for number in range(8)}, {"clicks": [1] * len(many)}
    )
    found = table_of_many.by([f"d{number}" for number in range(8)])
    assert found.rows == 1000
    assert set(values(found, "d7")) == set(many)

"""Tables of counts in columns: distinct combinations of dimensions, and their measures. Pure.

A column has its distinct values, and the number of its value for each row. Counts have 64 bits.
Money is in billionths, in Python's integers, because senders may report any amount. numpy adds up a
million rows in milliseconds, and releases the interpreter meanwhile.
"""

from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from tracker.reports.arrays import np

if TYPE_CHECKING:
    import numpy.typing as npt

Codes: TypeAlias = "npt.NDArray[np.int64]"
Numbers: TypeAlias = "npt.NDArray[Any]"

CLICK_MEASURES: Final = ("clicks", "unique", "bots")
EVENT_MEASURES: Final = (
    *("conversions", "bot_conversions"),
    *("value", "payout", "bot_value", "bot_payout"),
)
COUNTED_ONCE: Final = (
    *("conversions", "pending_conversions", "rejected_conversions", "refunded_conversions"),
)
"""Each event adds one to exactly one of these."""

_FURTHER: Final = (
    *COUNTED_ONCE[1:],
    *("other_conversions", "pending_value", "refunded_value", "other_value", "other_payout"),
)
FURTHER_MEASURES: Final = (*_FURTHER, *(f"bot_{name}" for name in _FURTHER))
"""Measures of events that are not approved, or refunded in part, or in another currency than the
account's. Most accounts have none, so they are read only where `FURTHER` shows that there are."""

_COSTS: Final = ("costed", "cost_unknown", "cost")
COST_MEASURES: Final = (*_COSTS, *(f"bot_{name}" for name in _COSTS))
"""Measures of clicks with a known cost (`costed`), or one that is not: read as those above. A table
may have further costs added to `cost`; reports take it for known where `costed` is above 0."""

FURTHER: Final = "further"
"""The measure of rollups that counts the events and clicks with any of these measures."""

MEASURES: Final = (*CLICK_MEASURES, *EVENT_MEASURES, *FURTHER_MEASURES, *COST_MEASURES)
MONEY: Final = frozenset(name for name in MEASURES if name.endswith(("value", "payout", "cost")))
UNATTRIBUTED: Final = "unattributed"
"""The measure of conversions without a click. Stored counts never have it
(`reports/joint_counts/unattributed`)."""

_DIRECT: Final = 4_000_000
_DIRECT_PER_ROW: Final = 16
_FEW_COMBINATIONS: Final = 4096
"""An array of all possible combinations numbers them, unless it is longer than these limits. With
3,000 rows of 4 million combinations it took 100 ms; sorting takes 0.1."""


class Column:
    """The distinct values of one dimension, and the number of its value for each row."""

    __slots__ = ("codes", "values")

    def __init__(self, values: Sequence[str], codes: Codes) -> None:
        self.values = values
        self.codes = codes

    def in_rows(self) -> Sequence[str]:
        """Return the value of each row."""
        if len(self.codes) == len(self.values) and _is_increasing(self.codes):
            return self.values
        return list(map(self.values.__getitem__, self.codes.tolist()))

    def mapped(self, name_of: Callable[[str], str]) -> "Column":
        """Return the column with each value replaced. New values may be equal."""
        found = column_of([name_of(one) for one in self.values])
        return Column(found.values, found.codes[self.codes])

    def is_one_of(self, wanted: Container[str]) -> Codes:
        """Return 1 for each row with a wanted value, else 0."""
        return passing(self.values, wanted)[self.codes].astype(np.int64)

    def used(self) -> "Column":
        """Return the column without unused values."""
        used, codes = np.unique(self.codes, return_inverse=True)
        if len(used) == len(self.values):
            return self
        return Column([self.values[number] for number in used], codes)


class Columns:
    """An immutable table: a column for each dimension, an array for each measure."""

    __slots__ = ("dimensions", "measures", "rows")

    def __init__(
        self, dimensions: Mapping[str, Column], measures: Mapping[str, Numbers], rows: int
    ) -> None:
        self.dimensions = dimensions
        self.measures = measures
        self.rows = rows

    def total(self, measure: str) -> int:
        """Return the sum of a measure; 0 if the table lacks it."""
        found = self.measures.get(measure)
        return int(found.sum()) if found is not None and self.rows else 0

    def by(self, names: Sequence[str]) -> "Columns":
        """Return the sums by these dimensions. The table must have them all."""
        columns = {name: self.dimensions[name] for name in names}
        key, size = _combinations(list(columns.values()), self.rows)
        if _is_increasing(key):  # as in most stored tables: no two rows are alike
            return Columns(columns, self.measures, self.rows)
        number_of_row, first_rows = _numbered_combinations(key, size)
        found = {
            name: Column(column.values, column.codes[first_rows])
            for name, column in columns.items()
        }
        measures = {
            name: _sums(numbers, number_of_row, len(first_rows))
            for name, numbers in self.measures.items()
        }
        return Columns(found, measures, len(first_rows))

    def where(self, name: str, wanted: Container[str]) -> "Columns":
        column = self.dimensions[name]
        return self.of_rows(np.flatnonzero(passing(column.values, wanted)[column.codes]))

    def of_rows(self, numbers: Codes) -> "Columns":
        return Columns(
            {name: Column(one.values, one.codes[numbers]) for name, one in self.dimensions.items()},
            {name: one[numbers] for name, one in self.measures.items()},
            len(numbers),
        )

    def with_column(self, name: str, column: Column) -> "Columns":
        return Columns({**self.dimensions, name: column}, self.measures, self.rows)

    def with_constant(self, name: str, value: str) -> "Columns":
        return self.with_column(name, Column([value], np.zeros(self.rows, np.int64)))

    def with_missing(self, names: Iterable[str], value: str) -> "Columns":
        """Return the table with this value in each dimension that it lacks."""
        table = self
        for name in names:
            if name not in table.dimensions:
                table = table.with_constant(name, value)
        return table


def column_of(values: Sequence[str]) -> Column:
    distinct = dict.fromkeys(values)
    numbers = dict(zip(distinct, range(len(distinct)), strict=True))
    codes = np.fromiter(map(numbers.__getitem__, values), np.int64, count=len(values))
    return Column(list(numbers), codes)


def empty(names: Iterable[str]) -> Columns:
    return Columns({name: Column([], np.zeros(0, np.int64)) for name in names}, {}, 0)


def of_columns(
    dimensions: Mapping[str, Sequence[str]], measures: Mapping[str, Sequence[int]]
) -> Columns:
    columns = {name: column_of(values) for name, values in dimensions.items()}
    arrays = {name: np.array(numbers, _type(name)) for name, numbers in measures.items()}
    return Columns(columns, arrays, max((len(one) for one in arrays.values()), default=0))


def joined(tables: Sequence[Columns], names: Sequence[str]) -> Columns:
    """Return the rows of all tables in turn. Missing measures are 0."""
    tables = [table for table in tables if table.rows]
    if not tables:
        return empty(names)
    if len(tables) == 1:
        return tables[0]
    columns = {name: _in_turn([table.dimensions[name] for table in tables]) for name in names}
    present = {name for table in tables for name in table.measures}
    measures: dict[str, Numbers] = {
        name: np.concatenate(
            [table.measures.get(name, np.zeros(table.rows, _type(name))) for table in tables]
        )
        for name in (*MEASURES, UNATTRIBUTED)
        if name in present
    }
    return Columns(columns, measures, sum(table.rows for table in tables))


def summed(tables: Sequence[Columns], names: Sequence[str]) -> Columns:
    """Return the sums of all tables by these dimensions."""
    return joined(tables, names).by(names)


def passing(values: Sequence[str], wanted: Container[str]) -> "npt.NDArray[np.bool_]":
    return np.fromiter(map(wanted.__contains__, values), dtype=bool, count=len(values))


def _type(measure: str) -> Any:
    return object if measure in MONEY else np.int64


def _in_turn(columns: Sequence[Column]) -> Column:
    """Return one column for the rows of all. Without loops in Python: there are 100,000 links."""
    numbers: dict[str, int] = {}
    found: list[Codes] = []
    end = 0
    for one in columns:
        start, end = end, end + len(one.values)
        of_values = map(numbers.setdefault, one.values, range(start, end))
        found.append(np.fromiter(of_values, np.int64, count=end - start))
    # Values that are known already have left gaps in the numbers.
    without_gaps = np.zeros(end, np.int64)
    distinct = np.fromiter(numbers.values(), np.int64, count=len(numbers))
    without_gaps[distinct] = np.arange(len(numbers))
    codes = [without_gaps[known][one.codes] for known, one in zip(found, columns, strict=True)]
    return Column(list(numbers), np.concatenate(codes))


def _is_increasing(numbers: Codes) -> bool:
    return bool((numbers[1:] > numbers[:-1]).all())


def _combinations(columns: Sequence[Column], rows: int) -> tuple[Codes, int]:
    """Return a number for each row's combination, and the limit of these numbers."""
    key = np.zeros(rows, np.int64)
    size = 1
    for column in columns:
        count = max(len(column.values), 1)
        if size * count > np.iinfo(np.int64).max:
            distinct, key = np.unique(key, return_inverse=True)
            size = max(len(distinct), 1)
        key = key * count + column.codes
        size *= count
    return key, size


def _numbered_combinations(key: Codes, size: int) -> tuple[Codes, Codes]:
    """Return the number of each row's combination, without gaps, and a row of each combination."""
    if size > min(_DIRECT, max(_FEW_COMBINATIONS, _DIRECT_PER_ROW * len(key))):
        _, first_rows, number_of_row = np.unique(key, return_index=True, return_inverse=True)
        return number_of_row, first_rows
    # An array of all possible ones is ten times faster than sorting.
    row_of = np.full(size, -1, np.int64)
    row_of[key] = np.arange(len(key))
    present = np.flatnonzero(row_of >= 0)
    number_of = np.zeros(size, np.int64)
    number_of[present] = np.arange(len(present))
    return number_of[key], row_of[present]


def _sums(numbers: Numbers, number_of_row: Codes, size: int) -> Numbers:
    found = np.zeros(size, numbers.dtype)
    np.add.at(found, number_of_row, numbers)
    return found

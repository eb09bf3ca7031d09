"""Columns as documents in MongoDB: numbers packed into the narrowest binary type. Pure.

The distinct values of a dimension are one text, one a line: no value holds a line break. Money is a
text too, because it has no largest number. A large table becomes several documents. Measures that
are zero are left out, and so is the currency where it is the account's.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final

from tracker.reports.arrays import np
from tracker.reports.columns import MONEY, Codes, Column, Columns, Numbers, joined, passing
from tracker.reports.dimensions import CURRENCY, HOME_CURRENCY

ROWS_PER_DOCUMENT: Final = 200_000
"""Rows of one document. With all dimensions they take some 5 MB; MongoDB allows 16."""

MAX_BYTES: Final = 8_000_000
"""Approximate bytes of one document. Visitors choose the values, and may send new ones each
time."""

_TYPES: Final = ("<u1", "<u2", "<u4", "<i8")


def documents_of(table: Columns) -> Iterator[dict[str, Any]]:
    """Yield the fields of the table's documents, at least one."""
    for start in range(0, max(table.rows, 1), ROWS_PER_DOCUMENT):
        yield from _divided(table, start, min(start + ROWS_PER_DOCUMENT, table.rows))


def _divided(table: Columns, start: int, end: int) -> Iterator[dict[str, Any]]:
    """Yield one document for the rows, or halve them until each document fits."""
    document = _document(table.of_rows(np.arange(start, end)))
    if end - start > 1 and _size(document) > MAX_BYTES:
        middle = (start + end) // 2
        yield from _divided(table, start, middle)
        yield from _divided(table, middle, end)
    else:
        yield document


def _document(part: Columns) -> dict[str, Any]:
    used = {name: one.used() for name, one in part.dimensions.items()}
    return {
        "rows": part.rows,
        "columns": {
            name: _column(one) for name, one in used.items() if not _is_left_out(name, one)
        },
        "measures": {name: _measure(name, one) for name, one in part.measures.items() if one.any()},
    }


def _is_left_out(name: str, column: Column) -> bool:
    return name == CURRENCY and column.values == [HOME_CURRENCY]


def _size(stored: Any) -> int:
    if isinstance(stored, dict):
        return sum(map(_size, stored.values()))
    if isinstance(stored, str):
        return len(stored) if stored.isascii() else len(stored.encode())
    return len(stored) if isinstance(stored, bytes) else 0


def table_of(
    documents: Sequence[Mapping[str, Any]],
    names: Sequence[str],
    wanted: Mapping[str, Collection[str]] = MappingProxyType({}),
) -> Columns:
    """Return the table of these documents, with these dimensions and only the `wanted` values."""
    return joined([_part(one, names, wanted) for one in documents], names)


def _part(
    document: Mapping[str, Any], names: Sequence[str], wanted: Mapping[str, Collection[str]]
) -> Columns:
    stored = {name: document["columns"].get(name) for name in names}
    values = {
        name: one["values"].split("\n") if one else [HOME_CURRENCY] for name, one in stored.items()
    }
    codes = {
        name: _unpacked(one) if one else np.zeros(document["rows"], np.int64)
        for name, one in stored.items()
    }
    # Select rows while they are narrow: most filters leave few to widen.
    rows = np.arange(document["rows"])
    for name in wanted:
        rows = rows[passing(values[name], wanted[name])[codes[name][rows]]]
    columns = {name: Column(values[name], codes[name][rows].astype(np.int64)) for name in names}
    columns |= {name: columns[name].used() for name in wanted}
    measures = {name: _numbers(name, one, rows) for name, one in document["measures"].items()}
    return Columns(columns, measures, len(rows))


def _column(column: Column) -> dict[str, Any]:
    return {"values": "\n".join(column.values), **_packed(column.codes)}


def _measure(name: str, numbers: Numbers) -> Any:
    return " ".join(map(str, numbers)) if name in MONEY else _packed(numbers)


def _numbers(name: str, stored: Any, rows: Codes) -> Numbers:
    if name in MONEY:
        texts = stored.split()
        return np.array([int(texts[row]) for row in rows], object)
    return _unpacked(stored)[rows].astype(np.int64)


def _packed(numbers: Numbers) -> dict[str, Any]:
    low, high = (int(numbers.min()), int(numbers.max())) if len(numbers) else (0, 0)
    kind = next(one for one in _TYPES if _fits(low, high, np.iinfo(np.dtype(one))))
    return {"type": kind, "numbers": numbers.astype(kind).tobytes()}


def _fits(low: int, high: int, limits: Any) -> bool:
    return bool(limits.min <= low and high <= limits.max)


def _unpacked(stored: Mapping[str, Any]) -> Numbers:
    found: Numbers = np.frombuffer(stored["numbers"], stored["type"])
    return found

"""Columns as documents in MongoDB: numbers packed into the narrowest binary type. Pure.

The distinct values of a dimension are one text, one a line: no value holds a line break. Money is a
text too, because it has no largest number. A large table becomes several documents. Measures that
are zero are left out, and so are columns where all have the usual value. A table from before an
account had an extra column lacks it.
"""

from collections.abc import Container, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final

from tracker.reports.arrays import np
from tracker.reports.columns import MONEY, Codes, Column, Columns, Numbers, joined, passing
from tracker.reports.counted import COUNTED_FIELDS, EXTRA_DIMENSIONS
from tracker.reports.dimensions import CURRENCY, DOMAIN, HOME_CURRENCY
from tracker.visitor_dimensions import UNKNOWN

ROWS_PER_DOCUMENT: Final = 200_000
"""Rows of one document. With all dimensions they take some 5 MB; MongoDB allows 16."""

MAX_BYTES: Final = 8_000_000
"""Approximate bytes of one document. Visitors choose the values, and may send new ones each
time."""

_USUAL: Final = {
    CURRENCY: HOME_CURRENCY,
    **{name: COUNTED_FIELDS[name].absent for name in EXTRA_DIMENSIONS},
}

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
    return name in _USUAL and column.values == [_USUAL[name]]


def _size(stored: Any) -> int:
    if isinstance(stored, dict):
        return sum(map(_size, stored.values()))
    if isinstance(stored, str):
        return len(stored) if stored.isascii() else len(stored.encode())
    return len(stored) if isinstance(stored, bytes) else 0


def table_of(
    documents: Sequence[Mapping[str, Any]],
    names: Sequence[str],
    wanted: Mapping[str, Container[str]] = MappingProxyType({}),
) -> Columns:
    """Return the table of these documents, with these dimensions and only the `wanted` values."""
    return joined([_part(one, names, wanted) for one in documents], names)


def _part(
    document: Mapping[str, Any], names: Sequence[str], wanted: Mapping[str, Container[str]]
) -> Columns:
    stored = {name: _stored(document, name) for name in names}
    values = {name: one[0] for name, one in stored.items()}
    codes = {name: one[1] for name, one in stored.items()}
    # Select rows while they are narrow: most filters leave few to widen.
    rows = np.arange(document["rows"])
    for name in wanted:
        rows = rows[passing(values[name], wanted[name])[codes[name][rows]]]
    columns = {name: Column(values[name], codes[name][rows].astype(np.int64)) for name in names}
    columns |= {name: columns[name].used() for name in wanted}
    measures = {name: _numbers(name, one, rows) for name, one in document["measures"].items()}
    return Columns(columns, measures, len(rows))


def _stored(document: Mapping[str, Any], name: str) -> tuple[list[str], Numbers]:
    """Return the values of a column, and their numbers. A missing one has the usual value."""
    if column := document["columns"].get(name):
        return column["values"].split("\n"), _unpacked(column)
    usual, domain = _USUAL.get(name, HOME_CURRENCY), document["columns"].get(DOMAIN)
    if name not in EXTRA_DIMENSIONS or domain is None:
        return [usual], np.zeros(document["rows"], np.int64)
    # Conversions without a click are unknown in every value of clicks.
    unknown = passing(domain["values"].split("\n"), {UNKNOWN}).astype(np.int64)
    return [usual, UNKNOWN], unknown[_unpacked(domain)]


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

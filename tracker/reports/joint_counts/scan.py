"""Counts of stored clicks and events by any dimensions, one time span after another.

MongoDB sends the values of each document as they are stored, and Python counts them: MongoDB is the
busier of both, and takes longer to join or group the values. A link is sent as its number in a
list: decoding ids would take longer than all the rest.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from functools import partial
from typing import Any, Final, NamedTuple
from uuid import UUID

from tracker.clicks.document import NO_TEST
from tracker.conversions.document import COUNTED
from tracker.ids import id_text
from tracker.reports import columns
from tracker.reports.arrays import np
from tracker.reports.columns import CLICK_MEASURES, Columns, Numbers, column_of
from tracker.reports.counted import COUNTED_FIELDS, ID_DIMENSIONS
from tracker.reports.dimensions import (
    CURRENCY,
    EVENT,
    HOME_CURRENCY,
    HOUR,
    LINK,
    NO_KEY,
    DocumentKind,
)
from tracker.reports.rollups.money import billionths
from tracker.reports.rollups.rollup import measured
from tracker.stores.mongodb.documents import with_stored_ids
from tracker.stores.mongodb.reads import MongoReads
from tracker.visitor_dimensions import UNKNOWN

_HOUR_MS: Final = 3_600_000
_VALUES_AT_ONCE: Final = 15_000
"""Values of a batch: 3 to 4 ms to decode. A batch of 3,000 clicks with two dimensions takes MongoDB
and Python a tenth less than three of 1,000."""

_COUNTED: Final[Mapping[DocumentKind, Mapping[str, Any]]] = {
    "clicks": NO_TEST,
    "events": {"status": {"$in": list(COUNTED)}},
}
MEASURED_FIELDS: Final[Mapping[DocumentKind, Sequence[str]]] = {
    "clicks": ("bot", "unique", "cost", "cost_unknown"),
    "events": ("bot", "value", "payout", "link_id", "reported", "currency", "refunded_value"),
}
"""The fields from which documents are measured. An event without a link has no click."""


_IDS: Final = frozenset((LINK, EVENT, *ID_DIMENSIONS))
_NO_VALUE: Final = {**NO_KEY, CURRENCY: HOME_CURRENCY}


class Span(NamedTuple):
    """Documents from `start` to before `end`.

    Hours are numbered from `day_start`. Listing the usual `links` only saves time.
    """

    matching: Mapping[str, Any]
    start: datetime
    end: datetime
    day_start: datetime
    links: Sequence[UUID] = ()

    def divided(self, parts: int) -> Iterator["Span"]:
        """Yield equal parts."""
        step = (self.end - self.start) / parts
        for number in range(parts):
            end = self.end if number == parts - 1 else self.start + (number + 1) * step
            yield self._replace(start=self.start + number * step, end=end)


async def read(
    reader: MongoReads, of: DocumentKind, span: Span, names: Sequence[str]
) -> Callable[[], Columns]:
    """Read the documents. Return the function that makes their table, for a thread."""
    fields = [COUNTED_FIELDS[name].field for name in names if name in COUNTED_FIELDS]
    shown = {"_id": 0, **dict.fromkeys([*MEASURED_FIELDS[of], *fields], 1)}
    computed = {LINK: _link(span), HOUR: _hour(span), EVENT: "$event_config_id", CURRENCY: 1}
    shown |= {name: computed[name] for name in names if name in computed}
    times = {"$gte": span.start, "$lt": span.end}
    matching = {**span.matching, "at": times, **_COUNTED[of]}
    stages = [{"$match": matching}, {"$project": shown}]
    rows = await reader.with_binary_ids().aggregate(
        of, [with_stored_ids(one) for one in stages], batchSize=_batch_size(names)
    )
    return partial(table_of, of, names, rows, span.links)


def _batch_size(names: Sequence[str]) -> int:
    """Return the number of rows that the event loop may decode at once."""
    return _VALUES_AT_ONCE // (len(names) + len(CLICK_MEASURES))


def with_missing(table: Columns, missing: dict[str, int], names: Sequence[str]) -> Columns:
    """Add the clicks that retention has deleted, and their costs, as unknown in the first hour."""
    if not missing:
        return table
    values = ["00" if name == HOUR else UNKNOWN for name in names]
    rest = columns.of_columns(
        {name: [value] for name, value in zip(names, values, strict=True)},
        {name: [one] for name, one in missing.items()},
    )
    return columns.joined([table, rest], names)


def _link(span: Span) -> Any:
    """Return the expression for the number of a link in the list, or for its id."""
    if not span.links:
        return "$link_id"
    number = {"$indexOfArray": [{"$literal": list(span.links)}, "$link_id"]}
    known = {"$cond": [{"$gte": ["$$number", 0]}, "$$number", "$link_id"]}
    return {"$let": {"vars": {"number": number}, "in": known}}


def _hour(span: Span) -> dict[str, Any]:
    return {"$floor": {"$divide": [{"$subtract": ["$at", span.day_start]}, _HOUR_MS]}}


def table_of(
    of: DocumentKind,
    names: Sequence[str],
    rows: Sequence[Mapping[str, Any]],
    links: Sequence[UUID] = (),
) -> Columns:
    """Return the counts of documents, which have ids as bytes, or links as numbers in a list."""
    found = {
        name: column_of(_values(of, name, rows)).mapped(partial(_text, name, links))
        for name in names
    }
    measures = _of_clicks(rows) if of == "clicks" else _of_events(rows)
    return Columns(found, measures, len(rows)).by(names)


def _values(of: DocumentKind, name: str, rows: Sequence[Mapping[str, Any]]) -> list[Any]:
    is_of_click = name in COUNTED_FIELDS
    field = COUNTED_FIELDS[name].field if is_of_click else name
    if is_of_click and of == "events":
        values = [row.get(field) if "link_id" in row else UNKNOWN for row in rows]
    else:
        values = [row.get(field) for row in rows]
    if name in _IDS:
        # Binary of the driver, unlike bytes, is hashed in Python.
        return [bytes(one) if isinstance(one, bytes) else one for one in values]
    return values


def _text(name: str, links: Sequence[UUID], value: Any) -> str:
    if name == HOUR:
        return f"{int(value):02}"
    if value is None:
        return COUNTED_FIELDS[name].absent if name in COUNTED_FIELDS else _NO_VALUE[name]
    if isinstance(value, int):
        return str(links[value])
    return id_text(value) if isinstance(value, bytes) else str(value)


def _of_clicks(rows: Sequence[Mapping[str, Any]]) -> dict[str, Numbers]:
    bots, unique = _flags(rows, "bot"), _flags(rows, "unique")
    found = {"clicks": 1 - bots, "unique": unique * (1 - bots), "bots": bots}
    return found | _costs_of(rows, bots)


def _costs_of(rows: Sequence[Mapping[str, Any]], bots: Numbers) -> dict[str, Numbers]:
    """Return the costs of clicks, if any has one or should have."""
    if not any("cost" in row or "cost_unknown" in row for row in rows):
        return {}
    amounts = [billionths(row["cost"]) if "cost" in row else 0 for row in rows]
    found = {
        "costed": np.array(["cost" in row for row in rows], np.int64),
        "cost_unknown": np.array(["cost_unknown" in row for row in rows], np.int64),
        "cost": np.array(amounts, object),
    }
    return found | {f"bot_{name}": bots * numbers for name, numbers in found.items()}


def _of_events(rows: Sequence[Mapping[str, Any]]) -> dict[str, Numbers]:
    bots = _flags(rows, "bot")
    found = {"conversions": np.ones(len(rows), np.int64)}
    for name in ("value", "payout"):
        amounts = [0 if row[name] is None else billionths(row[name]) for row in rows]
        found[name] = np.array(amounts, object)
    for number, row in enumerate(rows):
        if "reported" in row or "currency" in row or "refunded_value" in row:
            _count_apart(found, number, row)
    return found | {f"bot_{name}": bots * numbers for name, numbers in found.items()}


def _count_apart(found: dict[str, Numbers], number: int, row: Mapping[str, Any]) -> None:
    """Count an event that is not only an approved one in the account's currency."""
    for numbers in found.values():
        numbers[number] = 0
    measures, money = measured(row)
    for names, amount in zip(measures, (1, *money), strict=True):
        for name in names:
            if name not in found:
                kind = object if name.endswith(("value", "payout")) else np.int64
                found[name] = np.zeros_like(found["conversions"], kind)
            found[name][number] = amount


def _flags(rows: Sequence[Mapping[str, Any]], field: str) -> Numbers:
    """Return 1 for each row whose field is set, else 0."""
    stored: list[Any] = [row.get(field) for row in rows]
    column = column_of(stored)
    values: Sequence[Any] = column.values
    flags = np.array([value is not None and value is not False for value in values], np.int64)
    return flags[column.codes]

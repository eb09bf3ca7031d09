"""Counts of stored clicks and events by any dimensions, one period at a time.

One pipeline groups the documents of a period by the values that were asked for. They are one text,
and an array with the ids: that takes MongoDB half as long as to group by several fields.
"""

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, Final, NamedTuple

from tracker.clicks.country import UNKNOWN
from tracker.conversions import document as event_document
from tracker.db.connect import Database
from tracker.db.transaction import Session
from tracker.reports import columns
from tracker.reports.columns import Columns
from tracker.reports.dimensions import (
    EVENT,
    HOUR,
    LINK,
    NO_VALUE,
    OfDocuments,
    value_of,
)
from tracker.reports.money import whole_number

_HOUR_MS: Final = 3_600_000
_SEPARATOR: Final = "\n"
"""No header of a request, and so no value, holds a line break."""

_KIND: Final = {"$cond": ["$bot", "bot", {"$cond": ["$unique", "unique", "click"]}]}
"""How a click counts. As a part of the key it costs half of three conditional sums."""

# Rounded as in rollups.
_EVENT: Final = {
    "conversions": {"$literal": 1},
    "value": {"$round": ["$value", 9]},
    "payout": {"$round": ["$payout", 9]},
}
_EVENT_MEASURES: Final = {
    **_EVENT,
    **{f"bot_{name}": {"$cond": ["$bot", one, 0]} for name, one in _EVENT.items()},
}


class Span(NamedTuple):
    """Documents of a stretch of time: what selects them, from `start` to before `end`.

    `day_start` is where the numbers of hours begin.
    """

    matching: Mapping[str, Any]
    start: datetime
    end: datetime
    day_start: datetime

    def divided(self, parts: int) -> Iterator["Span"]:
        """Yield the stretches of that many equal parts."""
        step = (self.end - self.start) / parts
        for number in range(parts):
            end = self.end if number == parts - 1 else self.start + (number + 1) * step
            yield self._replace(start=self.start + number * step, end=end)

    def filter(self) -> dict[str, Any]:
        """Return the filter of its documents."""
        return {**self.matching, "at": {"$gte": self.start, "$lt": self.end}}


async def count(
    database: Database, of: OfDocuments, span: Span, names: Sequence[str], session: Session
) -> Columns:
    """Return the counts of clicks or events of a span by these dimensions.

    Raises PyMongoError if MongoDB does not answer in time.
    """
    if of == "clicks":
        return await _count_clicks(database, span, names, session)
    return await _count_events(database, span, names, session)


async def _count_clicks(
    database: Database, span: Span, names: Sequence[str], session: Session
) -> Columns:
    group = {"_id": [_KIND, *_key("clicks", span, names)], "count": {"$sum": 1}}
    found = database["clicks"].aggregate(
        [{"$match": span.filter()}, {"$group": group}], session=session, allowDiskUse=True
    )
    return await asyncio.to_thread(_clicks_table, names, await found.to_list(None))


def _clicks_table(names: Sequence[str], rows: Sequence[Mapping[str, Any]]) -> Columns:
    kinds = [row["_id"][0] for row in rows]
    counts = [row["count"] for row in rows]
    measures = {
        name: [count if kind in of else 0 for kind, count in zip(kinds, counts, strict=True)]
        for name, of in _MEASURES_OF_KINDS.items()
    }
    dimensions = _dimensions(names, [row["_id"][1:] for row in rows])
    return columns.of_columns(dimensions, measures).by(names)


_MEASURES_OF_KINDS: Final = {
    "clicks": ("click", "unique"),
    "unique": ("unique",),
    "bots": ("bot",),
}


async def _count_events(
    database: Database, span: Span, names: Sequence[str], session: Session
) -> Columns:
    counted = {**span.filter(), "status": {"$in": list(event_document.COUNTED)}}
    sums = {name: {"$sum": one} for name, one in _EVENT_MEASURES.items()}
    group = {"_id": _key("events", span, names), **sums}
    found = database["events"].aggregate(
        [{"$match": counted}, {"$group": group}], session=session, allowDiskUse=True
    )
    return await asyncio.to_thread(_events_table, names, await found.to_list(None))


def _events_table(names: Sequence[str], rows: Sequence[Mapping[str, Any]]) -> Columns:
    measures = {name: [whole_number(row[name]) for row in rows] for name in _EVENT_MEASURES}
    return columns.of_columns(_dimensions(names, [row["_id"] for row in rows]), measures)


def _key(of: OfDocuments, span: Span, names: Sequence[str]) -> list[Any]:
    """Return the expressions to group by: ids and the hour, then all texts as one."""
    hour = {"$floor": {"$divide": [{"$subtract": ["$at", span.day_start]}, _HOUR_MS]}}
    own = {LINK: "$link_id", HOUR: hour, EVENT: "$event_config_id"}
    texts = [value_of(name, of) for name in names if name not in own]
    between: list[Any] = [_SEPARATOR] * (2 * len(texts) - 1)
    between[::2] = texts
    ids = [{"$ifNull": [own[name], None]} for name in names if name in own]
    return [*ids, {"$concat": between}] if texts else ids


def _dimensions(names: Sequence[str], keys: Sequence[Sequence[Any]]) -> dict[str, list[str]]:
    """Return the values of each dimension, row by row, from what `_key` groups by."""
    apart = [name for name in names if name in _NOT_TEXTS]
    together = [name for name in names if name not in _NOT_TEXTS]
    parts = list(zip(*keys, strict=True)) or [()] * (len(apart) + 1)
    found = {name: _texts(name, part) for name, part in zip(apart, parts, strict=False)}
    if together:
        split = {text: text.split(_SEPARATOR) for text in set(parts[-1])}
        for number, name in enumerate(together):
            found[name] = [split[text][number] for text in parts[-1]]
    return {name: found[name] for name in names}


_NOT_TEXTS: Final = (LINK, HOUR, EVENT)


def _texts(name: str, values: Sequence[Any]) -> list[str]:
    texts = {value: _text(name, value) for value in set(values)}
    return [texts[value] for value in values]


def _text(name: str, value: Any) -> str:
    if name == HOUR:
        return f"{int(value):02}"
    if value is None:
        return UNKNOWN if name == LINK else NO_VALUE
    return str(value)

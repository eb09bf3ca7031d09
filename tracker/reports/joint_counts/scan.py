"""Counts of stored clicks and events by any dimensions, one time span after another.

MongoDB sends the values of each click as they are stored, and Python counts them: MongoDB is the
busier of both, and takes longer to join or group the values. A link is sent as its number in a
list: decoding ids would take longer than all the rest. MongoDB groups events, which are few and
have money to add up.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from functools import partial
from typing import Any, Final, NamedTuple
from uuid import UUID

from tracker.clicks.document import NO_TEST
from tracker.conversions import document as event_document
from tracker.ids import id_text
from tracker.reports import columns
from tracker.reports.arrays import np
from tracker.reports.columns import CLICK_MEASURES, Column, Columns, Numbers, column_of
from tracker.reports.counted import COUNTED_FIELDS, value_of
from tracker.reports.dimensions import EVENT, HOUR, LINK, NO_VALUE, DocumentKind
from tracker.reports.rollups.money import whole_number
from tracker.reports.threads import in_thread
from tracker.stores.mongodb.documents import with_stored_ids
from tracker.stores.mongodb.reads import MongoReads
from tracker.visitor_dimensions import UNKNOWN

_HOUR_MS: Final = 3_600_000
LISTED_LINKS: Final = 1000
"""Links that are sent as a number instead of an id."""
_VALUES_AT_ONCE: Final = 15_000
"""Values of a batch: 3 to 4 ms to decode. A batch of 3,000 clicks with two dimensions takes MongoDB
and Python a tenth less than three of 1,000."""

_BOT: Final = "bot"
_UNIQUE: Final = "unique"
_VALUE_SEPARATOR: Final = "\n"
"""The separator of the values in a key of events. No request header contains it."""

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

    def filter(self) -> dict[str, Any]:
        return {**self.matching, "at": {"$gte": self.start, "$lt": self.end}}


async def count(reader: MongoReads, of: DocumentKind, span: Span, names: Sequence[str]) -> Columns:
    return await in_thread(await read(reader, of, span, names))


async def read(
    reader: MongoReads, of: DocumentKind, span: Span, names: Sequence[str]
) -> Callable[[], Columns]:
    """Read the documents for `count`. Return the function that makes the table, for a thread."""
    make, counted, stage = _clicks_table, NO_TEST, _clicks_stage(span, names)
    if of == "events":
        counted = {"status": {"$in": list(event_document.COUNTED)}}
        make, stage = _events_table, _events_stage(span, names)
    stages = [{"$match": {**span.filter(), **counted}}, stage]
    if LINK in names and of == "clicks":
        stages, reader = [with_stored_ids(one) for one in stages], reader.with_binary_ids()
    rows = await reader.aggregate(of, stages, batchSize=_batch_size(names))
    return lambda: make(span, names, rows)


def _batch_size(names: Sequence[str]) -> int:
    """Return as many rows as the event loop may decode at once."""
    return _VALUES_AT_ONCE // (len(names) + len(CLICK_MEASURES))


async def links_of(reader: MongoReads, matching: Mapping[str, Any]) -> list[UUID]:
    """Return some links of these rollups. Each costs as much as decoding the id of one click."""
    rows = await reader.find("rollups", matching, ["_id.link_id"], limit=LISTED_LINKS)
    return list({row["_id"]["link_id"] for row in rows})


def with_missing(table: Columns, missing: dict[str, int], names: Sequence[str]) -> Columns:
    """Add the clicks that retention has deleted: unknown values, in the first hour."""
    if not missing:
        return table
    values = ["00" if name == HOUR else UNKNOWN for name in names]
    rest = columns.of_columns(
        {name: [value] for name, value in zip(names, values, strict=True)},
        {name: [one] for name, one in missing.items()},
    )
    return columns.joined([table, rest], names)


def _clicks_stage(span: Span, names: Sequence[str]) -> dict[str, Any]:
    """Return the stage for the values of clicks. Expressions would cost as much as reading them."""
    fields = dict.fromkeys([_BOT, _UNIQUE, *_fields_of(names).values()], 1)
    own = {HOUR: _hour(span), LINK: _link_of_click(span)}
    return {"$project": {"_id": 0, **fields, **{name: own[name] for name in names if name in own}}}


def _fields_of(names: Sequence[str]) -> dict[str, str]:
    return {name: COUNTED_FIELDS[name].field for name in names if name in COUNTED_FIELDS}


def _link_of_click(span: Span) -> Any:
    """Return the expression for the number of a link in the list, or for its id."""
    if not span.links:
        return "$link_id"
    number = {"$indexOfArray": [{"$literal": list(span.links)}, "$link_id"]}
    known = {"$cond": [{"$gte": ["$$number", 0]}, "$$number", "$link_id"]}
    return {"$let": {"vars": {"number": number}, "in": known}}


def _clicks_table(span: Span, names: Sequence[str], rows: Sequence[Mapping[str, Any]]) -> Columns:
    fields = _fields_of(names)
    found = {
        name: _column(_values(rows, fields.get(name, name)), partial(_value, span, name))
        for name in names
        if name != LINK
    }
    if LINK in names:
        found[LINK] = _column(_links(rows), partial(_link_text, span))
    bots, unique = (_flags(rows, name) for name in (_BOT, _UNIQUE))
    measures = {"clicks": 1 - bots, "unique": unique * (1 - bots), "bots": bots}
    return Columns(found, measures, len(rows)).by(names)


def _column(values: Sequence[Any], value_of: Callable[[Any], str]) -> Column:
    return column_of(values).mapped(value_of)


def _flags(rows: Sequence[Mapping[str, Any]], field: str) -> Numbers:
    """Return 1 for each row whose field is set, else 0."""
    column = column_of(_values(rows, field))
    values: Sequence[Any] = column.values
    flags = np.array([value is not None and value is not False for value in values], np.int64)
    return flags[column.codes]


def _values(rows: Sequence[Mapping[str, Any]], field: str) -> list[Any]:
    return [row.get(field) for row in rows]


def _links(rows: Sequence[Mapping[str, Any]]) -> list[Any]:
    """Return numbers and ids. Binary of the driver, unlike bytes, is hashed in Python."""
    return [bytes(link) if isinstance(link, bytes) else link for link in _values(rows, LINK)]


def _value(span: Span, name: str, value: Any) -> str:
    if name == HOUR:
        return _hour_text(value)
    return COUNTED_FIELDS[name].absent if value is None else str(value)


def _hour_text(number: Any) -> str:
    return f"{int(number):02}"


def _link_text(span: Span, link: int | bytes | None) -> str:
    if link is None:
        return UNKNOWN
    return str(span.links[link]) if isinstance(link, int) else id_text(link)


def _events_stage(span: Span, names: Sequence[str]) -> dict[str, Any]:
    sums = {name: {"$sum": one} for name, one in _EVENT_MEASURES.items()}
    return {"$group": {"_id": _event_key(span, names), **sums}}


def _events_table(span: Span, names: Sequence[str], rows: Sequence[Mapping[str, Any]]) -> Columns:
    measures = {name: [whole_number(row[name]) for row in rows] for name in _EVENT_MEASURES}
    return columns.of_columns(_dimensions(names, [row["_id"] for row in rows]), measures)


def _hour(span: Span) -> dict[str, Any]:
    return {"$floor": {"$divide": [{"$subtract": ["$at", span.day_start]}, _HOUR_MS]}}


def _joined(texts: Sequence[Any], separator: str) -> dict[str, Any]:
    between: list[Any] = [separator] * (2 * len(texts) - 1)
    between[::2] = texts
    return {"$concat": between}


def _event_key(span: Span, names: Sequence[str]) -> list[Any]:
    """Return the expressions to group by: ids and the hour, then all texts as one."""
    own = {LINK: "$link_id", HOUR: _hour(span), EVENT: "$event_config_id"}
    texts = [value_of(name, "events") for name in names if name not in own]
    ids = [{"$ifNull": [own[name], None]} for name in names if name in own]
    return [*ids, _joined(texts, _VALUE_SEPARATOR)] if texts else ids


def _dimensions(names: Sequence[str], keys: Sequence[Sequence[Any]]) -> dict[str, list[str]]:
    """Split keys of `_event_key` into the values of each dimension, row by row."""
    apart = [name for name in names if name in _NOT_TEXTS]
    together = [name for name in names if name not in _NOT_TEXTS]
    parts = list(zip(*keys, strict=True)) or [()] * (len(apart) + 1)
    found = {name: _texts(name, part) for name, part in zip(apart, parts, strict=False)}
    if together:
        split = {text: text.split(_VALUE_SEPARATOR) for text in set(parts[-1])}
        for number, name in enumerate(together):
            found[name] = [split[text][number] for text in parts[-1]]
    return {name: found[name] for name in names}


_NOT_TEXTS: Final = (LINK, HOUR, EVENT)


def _texts(name: str, values: Sequence[Any]) -> list[str]:
    texts = {value: _text(name, value) for value in set(values)}
    return [texts[value] for value in values]


def _text(name: str, value: Any) -> str:
    if name == HOUR:
        return _hour_text(value)
    if value is None:
        return UNKNOWN if name == LINK else NO_VALUE
    return str(value)

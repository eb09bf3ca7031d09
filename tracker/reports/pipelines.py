"""Aggregation pipelines of reports: a query in, a collection and its stages out. Pure.

Every source is read as cells of measures. They are added up by key, and a `$facet` returns the
page, the number of rows and the totals of the same sums. Text from a client is only ever a value in
a pipeline, never an operator or a field name.
"""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, time
from typing import Any, Final, NamedTuple
from uuid import UUID

from tracker.clicks.country import UNKNOWN
from tracker.clicks.dimensions import NAMES as VISITOR_DIMENSIONS
from tracker.conversions.document import COUNTED
from tracker.reports.dimensions import Source, key, source_of
from tracker.reports.field_names import encoded
from tracker.reports.query import Query, Value

Stages = list[dict[str, Any]]

# Money is reported by the advertiser: it is not hidden because its click looked like a bot's.
_EXCLUDE: Final[Mapping[str, tuple[str, ...]]] = {
    "clicks": ("clicks",),
    "unique_clicks": ("unique",),
    "bot_clicks": ("bots",),
    "conversions": ("conversions",),
    "value": ("value",),
    "payout": ("payout",),
}
MEASURES: Final = {
    "exclude": _EXCLUDE,
    "include": {**_EXCLUDE, "clicks": ("clicks", "bots")},
    "only": {
        "clicks": ("bots",),
        "unique_clicks": (),
        "bot_clicks": ("bots",),
        "conversions": ("bot_conversions",),
        "value": ("bot_value",),
        "payout": ("bot_payout",),
    },
}
"""The measures of reports, as sums of measures of rollups, by how bots are counted."""

_CLICK_MEASURES: Final = ("clicks", "unique", "bots")
_LAST_MOMENT: Final = time(23, 59, 59, 999_000)


class Aggregation(NamedTuple):
    """A collection and its pipeline; `reads_clicks` if it reads each click instead of sums."""

    collection: str
    stages: Stages
    reads_clicks: bool


class _Cells(NamedTuple):
    """The cells to add up: the stages that find them, their key, and the field of measures."""

    stages: Stages
    key: Any
    measures: str


def aggregation(query: Query, links: Sequence[UUID] | None, host: str) -> Aggregation:
    """Return the aggregation of a query. Its result is one document:

    - `rows`, a list of {_id, measures}, one page of them;
    - `count`, a list of one {rows}, and `totals`, a list of one {measures}: empty without rows.

    `links` are the links that the filters by link and tag let through, None without such filters.
    `host` is the name of the default domain.
    """
    source = source_of(query.group_by, query.filters)
    if source.of == "clicks":
        cells = _from_clicks(query, links, host)
        return Aggregation("clicks", [*cells.stages, *_summed(query, cells)], True)
    cells = _from_rollups(query, source, links, host)
    return Aggregation("rollups", [*cells.stages, *_summed(query, cells)], False)


def _from_rollups(query: Query, source: Source, links: Sequence[UUID] | None, host: str) -> _Cells:
    matching: dict[str, Any] = {
        "_id.account_id": query.account_id,
        "_id.of": source.of,
        "_id.day": {"$gte": query.first.isoformat(), "$lte": query.last.isoformat()},
    }
    if links is not None:
        matching["_id.link_id"] = {"$in": list(links)}
    if source.of == "link" and "domain" in query.filters:
        matching["domain_name"] = {"$in": _stored(query, "domain", host)}
    found: Stages = [{"$match": matching}]
    row = key(query.group_by, source.of, host)
    if source.map is None:
        return _Cells(found, row, "total")
    cells = _of_map(query, source.map, host)
    split: Stages = [{"$project": {"domain_name": 1, "cell": cells}}, {"$unwind": "$cell"}]
    return _Cells([*found, *split], row, "cell.v")


def _of_map(query: Query, name: str, host: str) -> Any:
    """Return the expression for the wanted cells of a map, as a list of {k, v}."""
    if name in query.filters:
        return [_cell(name, str(value)) for value in _stored(query, name, host)]
    cells = {"$objectToArray": {"$ifNull": [f"${name}", {}]}}
    if name != "event":
        return cells
    clicks = {measure: f"$total.{measure}" for measure in _CLICK_MEASURES}
    return {"$concatArrays": [cells, [{"k": None, "v": clicks}]]}


def _cell(name: str, value: str) -> dict[str, Any]:
    """Return the expression for one cell, by its name.

    It is three times as fast as to split the map and filter its cells.
    """
    field = {"$literal": encoded(value)}
    return {"k": field, "v": {"$getField": {"field": field, "input": f"${name}"}}}


_IS_BOT: Final = {"$ne": [{"$ifNull": ["$bot", None]}, None]}
_IS_UNIQUE: Final = {"$and": [{"$not": _IS_BOT}, {"$eq": ["$unique", True]}]}
_EVENT: Final = {
    "conversions": {"$literal": 1},
    # Rounded as in rollups.
    "value": {"$round": ["$value", 9]},
    "payout": {"$round": ["$payout", 9]},
}
_CELLS: Final = {
    "clicks": {
        "clicks": {"$cond": [_IS_BOT, 0, 1]},
        "unique": {"$cond": [_IS_UNIQUE, 1, 0]},
        "bots": {"$cond": [_IS_BOT, 1, 0]},
    },
    "events": {
        **_EVENT,
        **{f"bot_{name}": {"$cond": [_IS_BOT, one, 0]} for name, one in _EVENT.items()},
    },
}


def _from_clicks(query: Query, links: Sequence[UUID] | None, host: str) -> _Cells:
    first = datetime.combine(query.first, time(), UTC)
    last = datetime.combine(query.last, _LAST_MOMENT, UTC)
    matching: dict[str, Any] = {
        "account_id": query.account_id,
        "at": {"$gte": first, "$lte": last},
        **{
            name: {"$in": _of_documents(_stored(query, dimension, host))}
            for dimension, name in _FIELDS.items()
            if dimension in query.filters
        },
    }
    if links is not None:
        matching["link_id"] = {"$in": list(links)}
    counted = {**matching, "status": {"$in": list(COUNTED)}}
    events = [{"$match": counted}, _cell_of("events", query, host)]
    stages = [
        {"$match": matching},
        _cell_of("clicks", query, host),
        {"$unionWith": {"coll": "events", "pipeline": events}},
    ]
    return _Cells(stages, "$key", "v")


_FIELDS: Final = {**{name: name for name in VISITOR_DIMENSIONS}, "domain": "domain_name"}


def _of_documents(values: Sequence[Value]) -> list[Value | None]:
    """Return the values as documents have them; for `unknown` the field may be missing."""
    return [*values, None] if UNKNOWN in values else list(values)


def _cell_of(of: str, query: Query, host: str) -> dict[str, Any]:
    return {"$project": {"_id": 0, "key": key(query.group_by, of, host), "v": _CELLS[of]}}


def _stored(query: Query, dimension: str, host: str) -> list[Value]:
    """Return the values of a filter as clicks have them; the default domain is empty there."""
    values = dict.fromkeys(query.filters[dimension])
    return [*values, ""] if dimension == "domain" and host in values else list(values)


def _summed(query: Query, cells: _Cells) -> Stages:
    measures = MEASURES[query.bots]
    sums = {name: _sum(cells.measures, of) for name, of in measures.items()}
    again = {name: {"$sum": f"${name}"} for name in measures}
    not_zero = {"_id": {"$ne": None}, "$or": [{name: {"$ne": 0}} for name in measures]}
    by_tag = query.group_by == "tag"
    rows: Stages = [*(_of_each_tag(again) if by_tag else ()), {"$match": not_zero}]
    page = [
        {"$sort": {"clicks": -1, "_id": 1}},
        {"$skip": (query.page - 1) * query.page_size},
        {"$limit": query.page_size},
    ]
    return [
        {"$group": {"_id": cells.key, **sums}},
        *([_TAGS_OF_LINK] if by_tag else ()),
        {
            "$facet": {
                "rows": [*rows, *page],
                "count": [*rows, {"$count": "rows"}],
                "totals": [{"$group": {"_id": None, **again}}],
            }
        },
    ]


def _sum(at: str, names: Sequence[str]) -> dict[str, Any]:
    fields = [f"${at}.{name}" for name in names]
    # A list makes the report a tenth slower.
    return {"$sum": fields[0] if len(fields) == 1 else {"$sum": fields}}


_TAGS_OF_LINK: Final[dict[str, Any]] = {
    "$lookup": {
        "from": "links",
        "localField": "_id",
        "foreignField": "_id",
        "pipeline": [{"$project": {"_id": 0, "tags": 1}}],
        "as": "link",
    }
}


def _of_each_tag(sums: Mapping[str, Any]) -> Stages:
    """Return the stages that move the sums of each link to each of its tags."""
    return [
        {"$unwind": "$link"},
        {"$unwind": "$link.tags"},
        {"$group": {"_id": "$link.tags", **sums}},
    ]

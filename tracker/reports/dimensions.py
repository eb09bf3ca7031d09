"""The dimensions of reports, and where each is read, as tables. Pure.

- Rollups of an account have the day as a field, those of a link also link, tags and domain.
- Both have maps by one more dimension, and none by two at once: a report that crosses two such
  dimensions reads the clicks and events themselves.
"""

from collections.abc import Collection
from typing import Any, Final, Literal, NamedTuple

from tracker.clicks.country import UNKNOWN
from tracker.clicks.dimensions import NAMES as VISITOR_DIMENSIONS
from tracker.reports.field_names import encoded

_FIELDS: Final = {"account": {"day"}, "link": {"day", "link", "tag", "domain"}}
_MAPS: Final = {
    "account": {*VISITOR_DIMENSIONS, "hour", "event", "domain"},
    "link": {*VISITOR_DIMENSIONS, "hour", "event"},
}


class Source(NamedTuple):
    """The documents that a report reads.

    - `of`: rollups of the `account` or of each `link`, or the `clicks` and events themselves.
    - `map`: the map of the rollups whose cells are added up; None for their totals.
    """

    of: Literal["account", "link", "clicks"]
    map: str | None = None


def source_of(group_by: str, filters: Collection[str]) -> Source:
    """Return the smallest source that has all these dimensions."""
    wanted = {group_by, *filters}
    for of in ("account", "link"):
        crossed = wanted - _FIELDS[of]
        if len(crossed) <= 1 and crossed <= _MAPS[of]:
            return Source(of, next(iter(crossed), None))
    return Source("clicks")


SORTED_LAST: Final = True
"""The key of rows without a link or event configuration: MongoDB sorts it after all ids. (MaxKey
too, but MongoDB 6.0 may answer another value for it.)"""

NO_KEY: Final = {"link": UNKNOWN, "event": "none"}
"""The key in a report for `SORTED_LAST`, by dimension."""

_LINK_KEYS: Final[dict[str, Any]] = {
    "link": {"$ifNull": ["$_id.link_id", SORTED_LAST]},
    "day": "$_id.day",
    "domain": "$domain_name",
    "hour": {"$concat": ["$_id.day", "T", "$cell.k", ":00Z"]},
}
# Only names of domains hold dots, which maps encode.
_ACCOUNT_KEYS: Final = _LINK_KEYS | {
    "domain": {"$replaceAll": {"input": "$cell.k", "find": encoded("."), "replacement": "."}}
}
_CLICK_KEYS: Final[dict[str, Any]] = {
    "link": {"$ifNull": ["$link_id", SORTED_LAST]},
    "day": {"$dateToString": {"date": "$at", "format": "%Y-%m-%d"}},
    "domain": {"$ifNull": ["$domain_name", UNKNOWN]},
    "hour": {"$dateToString": {"date": "$at", "format": "%Y-%m-%dT%H:00Z"}},
    "event": {"$literal": None},  # clicks belong to no event configuration
    **{name: {"$ifNull": [f"${name}", UNKNOWN]} for name in VISITOR_DIMENSIONS},
}
_EVENT_KEYS: Final = _CLICK_KEYS | {"event": {"$ifNull": ["$event_config_id", SORTED_LAST]}}
_KEYS: Final = {
    "account": _ACCOUNT_KEYS,
    "link": _LINK_KEYS,
    "clicks": _CLICK_KEYS,
    "events": _EVENT_KEYS,
}


def key(group_by: str, of: str, host: str) -> Any:
    """Return the expression for the key of a row.

    `of` names the documents: rollups (`account`, `link`) with one `cell` of their map, `clicks` or
    `events`. Grouped by tag it is the link's key, because tags are joined later. `host` is the name
    of the default domain.
    """
    if group_by == "tag":
        return _KEYS[of]["link"]
    found = _KEYS[of].get(group_by, "$cell.k")
    if group_by != "domain":
        return found
    default = encoded("") if of == "account" else ""
    return {"$cond": [{"$eq": [found, default]}, {"$literal": host}, found]}

"""The dimensions of reports as tables: what each is in documents, in rollups and in time. Pure.

- A *counted* dimension is a column of joint counts. Clicks and events have its value, or lack it.
- A *time* dimension is derived from the day, and from the number of the hour in it.
- A tag belongs to links, and is joined when a report is read.

Rollups of an account have the day as a field, those of a link also the link and its domain. Both
have maps by one more dimension, and none by two at once.
"""

from collections.abc import Collection, Mapping
from typing import Any, Final, Literal, NamedTuple, TypeAlias

from tracker.clicks.country import UNKNOWN
from tracker.clicks.dimensions import NAMES as VISITOR_DIMENSIONS
from tracker.clicks.sources import SOURCES

NO_VALUE: Final = "none"
"""The value of people's clicks as reasons to be a bot's, and of no event configuration."""

NO_EVENT: Final = ""
"""The event configuration of clicks. Reports by event leave it out."""

NO_KEY: Final = {"link": UNKNOWN, "event": NO_VALUE}
"""The key in a report of conversions without a link or an event configuration."""

TIME: Final = ("hour", "day", "week", "month", "hour_of_day", "weekday", "hour_of_week")
HOURS: Final = ("hour", "hour_of_day", "hour_of_week")
"""The time dimensions that need the hour of each click."""

OfDocuments: TypeAlias = Literal["clicks", "events"]


class Counted(NamedTuple):
    """A dimension as clicks and events have it.

    - `field`: the field of documents.
    - `absent`: its value if a click, or the click of an event, lacks the field.
    """

    field: str
    absent: str


COUNTED: Final[Mapping[str, Counted]] = {
    **{name: Counted(name, UNKNOWN) for name in VISITOR_DIMENSIONS},
    "domain": Counted("domain_name", UNKNOWN),
    **{source.name: Counted(source.field, source.absent) for source in SOURCES},
    "bot": Counted("bot", NO_VALUE),
}
"""The dimensions of joint counts whose values are texts. The others are the three below."""

LINK: Final = "link"
REFERRER: Final = "referrer"
HOUR: Final = "hour"
EVENT: Final = "event"

ALL_COUNTED: Final = (LINK, HOUR, EVENT, *COUNTED)
"""Every column of joint counts, in their order. Clicks have no event."""


def value_of(name: str, of: OfDocuments) -> Any:
    """Return the expression of a dimension's value in clicks or events.

    Events without a click have no link, and what the click would have told is unknown.
    """
    field, absent = COUNTED[name]
    if of == "clicks" or absent == UNKNOWN:
        return {"$ifNull": [f"${field}", absent]}
    no_click = {"$eq": [{"$type": "$link_id"}, "missing"]}
    return {"$ifNull": [f"${field}", {"$cond": [no_click, UNKNOWN, absent]}]}


_MAPS: Final = {
    "account": frozenset((*VISITOR_DIMENSIONS, HOUR, EVENT, "domain")),
    "link": frozenset((*VISITOR_DIMENSIONS, HOUR, EVENT)),
}
_FIELDS: Final = {"account": frozenset[str](), "link": frozenset((LINK, "domain"))}


class RollupSource(NamedTuple):
    """Rollups that have everything that a report needs.

    `of` is `account` or `link`; `map` is the map whose cells are added up, None for the totals.
    """

    of: str
    map: str | None


def rollups_for(needed: Collection[str]) -> RollupSource | None:
    """Return the smallest rollups that have these counted dimensions; None if none has them."""
    for of, maps in _MAPS.items():
        crossed = set(needed) - _FIELDS[of]
        if len(crossed) <= 1 and crossed <= maps:
            return RollupSource(of, next(iter(crossed), None))
    return None


def needed_for(group_by: str, filters: Collection[str]) -> tuple[str, ...]:
    """Return the counted dimensions that a report needs, in the order of ALL_COUNTED."""
    asked = {group_by, *filters}
    found = {name for name in asked if name in COUNTED or name in (LINK, EVENT)}
    if "tag" in asked:
        found.add(LINK)
    if group_by in HOURS:
        found.add(HOUR)
    return tuple(name for name in ALL_COUNTED if name in found)

"""The log of an account's conversions: pages of stored events, newest first. The API reads it.

- A page ends at a position, and the next one begins there. A position names an event by its time
  and id, which never change. So no event is on two pages, and none that existed is left out, while
  new ones arrive.
- Filters by state and time are bounds of the index `log`. The other filters look at each event in
  these bounds, at most at MAX_EXAMINED for a page.

Guarantee: the cost of a page does not grow with the number of events, whatever the filters.
"""

from collections.abc import Mapping
from datetime import datetime
from decimal import Decimal
from typing import Any, Final, NamedTuple
from uuid import UUID

import msgspec
from bson import Decimal128

from tracker.conversions.document import Status
from tracker.conversions.rules import Rule
from tracker.db.connect import Database
from tracker.db.documents import record

SHOWN: Final = tuple(one for one in Status if one is not Status.CLAIMED)
"""The states of events in the log. A claimed event becomes another one when it counts."""

MAX_EXAMINED: Final = 50_000
"""Events that one page looks at. If none of them passes, MongoDB takes 0.05 s to find the last of
them and 0.07 s to read them all (measured in an account with 600,000)."""

_NEWEST_FIRST: Final = [("at", -1), ("_id", -1)]


class LoggedEvent(msgspec.Struct, frozen=True, kw_only=True):
    """A stored event with an account. The fields of its click are None while it has none."""

    id: int
    account_id: UUID
    at: datetime
    status: Status
    refused: Rule | None = None
    event_config_id: UUID | None
    click_id: UUID | None
    link_id: UUID | None = None
    value: Decimal | None
    payout: Decimal | None
    transaction_id: str | None = None
    metadata: str | None = None
    country: str | None = None
    device: str | None = None
    browser: str | None = None
    os: str | None = None
    bot: str | None = None


class Position(NamedTuple):
    """A place in the log: after the event of this time and id, and before all older ones."""

    at: datetime
    event_id: int


class LogFilter(msgspec.Struct, frozen=True, kw_only=True):
    """A filter of the log; None matches everything. Both times are included."""

    status: Status | None = None
    first: datetime | None = None
    last: datetime | None = None
    event_config_id: UUID | None = None
    link_id: UUID | None = None


class LogPage(NamedTuple):
    """A page of the log.

    `next` is where the next page begins, None if this is the last one. A page with fewer events
    than were asked for may have a next one: then `searched_to` is how far back it has looked.
    """

    events: list[LoggedEvent]
    next: Position | None
    searched_to: datetime | None


class ConversionLog:
    """The logs of all accounts."""

    def __init__(self, database: Database, max_examined: int = MAX_EXAMINED) -> None:
        self._events = database["events"]
        self._max_examined = max_examined

    async def find(self, event_id: int) -> LoggedEvent | None:
        """Return the event with this id; None if there is none or it has no account yet."""
        row = await self._events.find_one({"_id": event_id})
        is_shown = row is not None and row["account_id"] is not None and row["status"] in SHOWN
        return _event(row) if row is not None and is_shown else None

    async def page(
        self, account_id: UUID, wanted: LogFilter, after: Position | None, size: int
    ) -> LogPage:
        """Return the next `size` events of an account after a position, or the newest."""
        bounds = _bounds(account_id, wanted, after)
        others = _others(wanted)
        end = await self._end(bounds) if others else None
        if end is not None:
            bounds.append(_not_older(end))
        found = self._events.find({"$and": [*bounds, *others]}).sort(_NEWEST_FIRST)
        rows = await found.limit(size + 1).to_list(None)
        events = [_event(row) for row in rows[:size]]
        if len(rows) > size:
            return LogPage(events, Position(events[-1].at, events[-1].id), None)
        return LogPage(events, end, end.at if end else None)

    async def _end(self, bounds: list[dict[str, Any]]) -> Position | None:
        """Return the position after MAX_EXAMINED events within `bounds`; None if they are fewer."""
        found = self._events.find({"$and": bounds}, ["at"]).sort(_NEWEST_FIRST)
        for row in await found.skip(self._max_examined - 1).limit(1).to_list(None):
            return Position(row["at"], int(row["_id"]))
        return None


def _bounds(account_id: UUID, wanted: LogFilter, after: Position | None) -> list[dict[str, Any]]:
    """Return the conditions that the index decides."""
    statuses = SHOWN if wanted.status is None else [wanted.status]
    bounds: list[dict[str, Any]] = [{"account_id": account_id, "status": {"$in": list(statuses)}}]
    if wanted.first is not None:
        bounds.append({"at": {"$gte": wanted.first}})
    if wanted.last is not None:
        bounds.append({"at": {"$lte": wanted.last}})
    if after is not None:
        newer = {"at": after.at, "_id": {"$gte": after.event_id}}
        bounds.append({"at": {"$lte": after.at}, "$nor": [newer]})
    return bounds


def _not_older(end: Position) -> dict[str, Any]:
    # With $or instead of $nor MongoDB would look for plans with other indexes, and sort in memory.
    older = {"at": end.at, "_id": {"$lt": end.event_id}}
    return {"at": {"$gte": end.at}, "$nor": [older]}


def _others(wanted: LogFilter) -> list[dict[str, Any]]:
    """Return the conditions that each event is examined for."""
    fields = {"event_config_id": wanted.event_config_id, "link_id": wanted.link_id}
    return [{name: value} for name, value in fields.items() if value is not None]


def _event(row: Mapping[str, Any]) -> LoggedEvent:
    # MongoDB returns large numbers in a type of its own.
    numbers = {"_id": int(row["_id"]), **{name: _money(row[name]) for name in ("value", "payout")}}
    return record(LoggedEvent, {**row, **numbers})


def _money(value: Decimal128 | None) -> Decimal | None:
    return None if value is None else value.to_decimal()

"""The count of one day of an account: from its documents, and from its rollups.

Both are read in one snapshot. Called by `reports/repair/recount`.
"""

import asyncio
from collections import Counter, defaultdict
from collections.abc import Mapping
from datetime import date, datetime, timedelta
from typing import Any, Final, NamedTuple
from uuid import UUID

import pymongo

from tracker import visitor_dimensions
from tracker.calendar import DEFAULT_ZONE, Calendar, calendar_of
from tracker.clicks.document import NO_TEST
from tracker.conversions.document import COUNTED
from tracker.reports.limits import RECOUNT_SECONDS
from tracker.reports.rollups.layout import RollupId, Sums, of_zone, stored_sums
from tracker.reports.rollups.money import EXACT, differ, whole_number
from tracker.reports.rollups.rollup import Rollup
from tracker.stores.mongodb.reads import MongoReads

UTC: Final = calendar_of(DEFAULT_ZONE)

_CLICK_VALUES: Final = ("link_id", "domain_name", *visitor_dimensions.NAMES, "unique")

_ROWS_PER_READ, _ROLLUPS_PER_READ = 300, 20
"""Rows of one batch: a click or event takes 30 µs, a rollup up to a millisecond. Requests are
served between batches."""

_HOUR_MS: Final = 3_600_000

_LEFT_OUT: Final = {"metadata": 0, "changes": 0}


class DayCount(NamedTuple):
    """One day of an account, recounted and as stored, in the calendar of `zone`.

    `clicks` and `events` are numbers of documents.
    """

    account_id: UUID
    zone: str
    day: str
    clicks: int
    events: int
    recounted: dict[RollupId, Sums]
    stored: dict[RollupId, Sums]
    domain_names: dict[RollupId, str]
    version: int

    @property
    def is_beyond_exact(self) -> bool:
        """Return whether only 30 digits are compared, because a sum is too large to be exact."""
        return any(
            abs(number) >= EXACT for sums in self.recounted.values() for number in sums.values()
        )

    def differences(self) -> dict[RollupId, Sums]:
        """Return the missing sums of each wrong rollup, by path; negative for too much."""
        found = {}
        for rollup_id in self.recounted.keys() | self.stored.keys():
            recounted = self.recounted.get(rollup_id, {})
            stored = self.stored.get(rollup_id, {})
            missing = {
                path: recounted.get(path, 0) - stored.get(path, 0)
                for path in recounted.keys() | stored.keys()
                if differ(recounted.get(path, 0), stored.get(path, 0))
            }
            if missing:
                found[rollup_id] = missing
        return found


async def count_day(
    reader: MongoReads, account_id: UUID, day: str, calendar: Calendar = UTC
) -> DayCount:
    """Count a day. The reader is one of a snapshot."""
    rollup = Rollup({account_id.bytes: calendar})
    with pymongo.timeout(RECOUNT_SECONDS):
        clicks = await _count_clicks(reader, rollup, account_id, day, calendar)
        events = await _count_events(reader, rollup, account_id, day, calendar)
        stored, domain_names = await _stored(reader, account_id, day, calendar.zone)
        version = await _version(reader, account_id, day, calendar.zone)
    return DayCount(
        account_id,
        calendar.zone,
        day,
        clicks,
        events,
        # In a thread: a day of 20,000 links takes a fifth of a second.
        await asyncio.to_thread(rollup.sums),
        stored,
        domain_names | rollup.domain_names(),
        version,
    )


async def _version(reader: MongoReads, account_id: UUID, day: str, zone: str) -> int:
    of_day = {"_id": version_id(account_id, day, zone)}
    found = await reader.find_one("rebuilds", of_day)
    return int(found["version"]) if found else 0


async def _count_clicks(
    reader: MongoReads, rollup: Rollup, account_id: UUID, day: str, calendar: Calendar
) -> int:
    """Add the day's clicks, which MongoDB groups by their values. Return their number."""
    start = calendar.start_of(date.fromisoformat(day))
    since = {"$divide": [{"$subtract": ["$at", start]}, _HOUR_MS]}
    values = {name: f"${name}" for name in _CLICK_VALUES}
    key = {**values, "hour": {"$floor": since}, "bot": {"$ne": ["$bot", None]}}
    costs: dict[str, Any] = {
        "costed": {"$sum": {"$cond": [{"$gt": ["$cost", None]}, 1, 0]}},
        "unknown": {"$sum": {"$cond": ["$cost_unknown", 1, 0]}},
        "cost": {"$sum": "$cost"},
    }
    stages: list[Mapping[str, Any]] = [
        {"$match": {**_of_day(account_id, day, calendar), **NO_TEST}},
        {"$group": {"_id": key, "count": {"$sum": 1}, **costs}},
    ]
    total = 0
    rows = reader.aggregate_each("clicks", stages, batchSize=_ROWS_PER_READ)
    async for row in rows:
        group, total = row["_id"], total + row["count"]
        at = start + timedelta(hours=group.pop("hour"))
        bot = "bot" if group["bot"] else None
        click = {**group, "account_id": account_id, "at": at, "bot": bot}
        rollup.add_click(click, row["count"])
        if row["costed"] or row["unknown"]:
            rollup.add_costs(click, row["costed"], row["unknown"], whole_number(row["cost"]))
    return total


async def _count_events(
    reader: MongoReads, rollup: Rollup, account_id: UUID, day: str, calendar: Calendar
) -> int:
    total = 0
    matching = {**_of_day(account_id, day, calendar), "status": {"$in": list(COUNTED)}}
    rows = reader.find_each("events", matching, _LEFT_OUT, batch_size=_ROWS_PER_READ)
    async for event in rows:
        rollup.add_event(event)
        total += 1
    return total


async def _stored(
    reader: MongoReads, account_id: UUID, day: str, zone: str
) -> tuple[dict[RollupId, Sums], dict[RollupId, str]]:
    found: defaultdict[RollupId, Counter[str]] = defaultdict(Counter)
    domain_names = {}
    of_day = {"_id.account_id": account_id, "_id.of": of_rollups(zone), "_id.day": day}
    rows = reader.find_each("rollups", of_day, batch_size=_ROLLUPS_PER_READ)
    async for row in rows:
        rollup_id = RollupId(account_id, row["_id"]["of"], day, row["_id"]["link_id"])
        for path, number in stored_sums(row).items():
            found[rollup_id][path] += number
        if "domain_name" in row:
            domain_names[rollup_id] = row["domain_name"]
    return {one: dict(sums) for one, sums in found.items()}, domain_names


def of_rollups(zone: str) -> dict[str, list[str]]:
    """Return the condition on `of` for rollups in a zone."""
    return {"$in": [of_zone("account", zone), of_zone("link", zone)]}


def _of_day(account_id: UUID, day: str, calendar: Calendar) -> dict[str, Any]:
    one = date.fromisoformat(day)
    start: datetime = calendar.start_of(one)
    return {"account_id": account_id, "at": {"$gte": start, "$lt": calendar.end_of(one)}}


def version_id(account_id: UUID, day: str, zone: str) -> dict[str, Any]:
    """Return the id of the document that counts the corrections of a day."""
    of_day = {"account_id": account_id, "day": day}
    return of_day if zone == DEFAULT_ZONE else {**of_day, "zone": zone}

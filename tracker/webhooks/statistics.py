"""Counts of the last deliveries of a webhook, and how long its receiver took."""

from collections import Counter, defaultdict
from collections.abc import Mapping
from datetime import date, timedelta
from typing import Any, Final, NamedTuple
from uuid import UUID

from tracker.calendar import Calendar
from tracker.stores.mongodb.reader import Reader
from tracker.webhooks.delivery import Status

MAX_DELIVERIES: Final = 5_000
"""Deliveries that are looked at, the last ones. They take 30 ms."""


class Statistics(NamedTuple):
    """The deliveries of each day by their status, and the milliseconds of their last attempts.

    Days without deliveries between others are among the `days`.
    """

    days: dict[date, Counter[str]]
    milliseconds: list[int]


async def statistics(reader: Reader, webhook_id: UUID, calendar: Calendar) -> Statistics:
    """Return how the last deliveries of a webhook went, by the days of a calendar."""
    days: defaultdict[date, Counter[str]] = defaultdict(Counter)
    milliseconds = []
    for row in await reader.aggregate("deliveries", statistics_pipeline(webhook_id)):
        days[calendar.day_of(row["created_at"])][row["status"]] += 1
        if row.get("milliseconds") is not None:
            milliseconds.append(row["milliseconds"])
    return Statistics(_filled(days), sorted(milliseconds))


def _filled(days: Mapping[date, Counter[str]]) -> dict[date, Counter[str]]:
    if not days:
        return {}
    first, last = min(days), max(days)
    every = [first + timedelta(days=number) for number in range((last - first).days + 1)]
    return {day: days.get(day, Counter()) for day in every}


def statistics_pipeline(webhook_id: UUID) -> list[dict[str, Any]]:
    last = {"$arrayElemAt": ["$attempts.milliseconds", -1]}
    return [
        # The index has the status before the time: MongoDB merges those of each.
        {"$match": {"webhook_id": webhook_id, "status": {"$in": list(Status)}}},
        {"$sort": {"created_at": -1, "_id": -1}},
        {"$limit": MAX_DELIVERIES},
        {"$project": {"_id": 0, "created_at": 1, "status": 1, "milliseconds": last}},
    ]

"""`/api/webhooks/{id}/statistics`: how deliveries went, and how long the receiver took."""

from collections import Counter, defaultdict
from collections.abc import Mapping
from datetime import date, timedelta
from typing import Annotated, Any, Final, NamedTuple
from uuid import UUID

import msgspec
from msgspec import Meta, field

from tracker.calendar import Calendar
from tracker.stores.mongodb.reader import Reader
from tracker.web.call import Nothing
from tracker.web.endpoint import Endpoints
from tracker.web.schema import Day, TimeZone
from tracker.webhooks.api.webhooks import WEBHOOKS
from tracker.webhooks.delivery import Status
from tracker.webhooks.services import WebhookCall

endpoint = Endpoints("webhooks")

MAX_DELIVERIES: Final = 5_000
"""Deliveries that are looked at, the last ones. They take 30 ms."""


class DeliveryDay(msgspec.Struct, kw_only=True):
    """The deliveries that were created on a day, by their state now."""

    day: Day
    delivered: int
    failed: int
    due: int
    cancelled: int


class WebhookStatistics(msgspec.Struct, kw_only=True):
    """The last deliveries of a webhook."""

    deliveries: Annotated[int, Meta(description=f"the last {MAX_DELIVERIES:,} at most")]
    days: list[DeliveryDay]
    median_milliseconds: Annotated[
        int | None, Meta(description="of the last attempt of each delivery")
    ] = field(name="medianMilliseconds")
    p95_milliseconds: int | None = field(name="p95Milliseconds")
    time_zone: TimeZone = field(name="timeZone")


@endpoint("GET", "/api/webhooks/{id}/statistics", "webhooks:read")
async def show(call: WebhookCall[Nothing, Nothing]) -> WebhookStatistics:
    """Count the last deliveries by day and state, and how long the receiver took."""
    webhook = await WEBHOOKS.own(call)
    zone = await call.services.time_zones.find(call.account_id)
    found = await statistics(call.services.mongodb.reads, webhook.id, zone.calendar)
    took = found.milliseconds
    return WebhookStatistics(
        deliveries=sum(of_day.total() for of_day in found.days.values()),
        days=[
            DeliveryDay(
                day=day.isoformat(),
                delivered=counts[Status.DELIVERED],
                failed=counts[Status.FAILED],
                due=counts[Status.DUE],
                cancelled=counts[Status.CANCELLED],
            )
            for day, counts in found.days.items()
        ],
        median_milliseconds=took[len(took) // 2] if took else None,
        p95_milliseconds=took[len(took) * 95 // 100] if took else None,
        time_zone=zone.zone,
    )


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

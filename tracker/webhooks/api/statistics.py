"""`/api/webhooks/{id}/statistics`: the states of deliveries, and the receiver's response times."""

from collections import Counter
from datetime import date
from typing import Annotated, Any, Final
from uuid import UUID

import msgspec
from msgspec import Meta, field

from tracker.calendar import Calendar
from tracker.stores.mongodb.reads import MongoReads
from tracker.web.call import Nothing
from tracker.web.endpoint import Endpoints
from tracker.web.schema import Day, TimeZone
from tracker.webhooks.api.webhooks import WEBHOOKS
from tracker.webhooks.delivery import DeliveryStatus
from tracker.webhooks.services import WebhookCall

endpoint = Endpoints("webhooks")

MAX_DELIVERIES: Final = 5_000
"""The last deliveries that are counted. They take 30 ms."""


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
    """Show the last deliveries by day and state, and the response times of the receiver."""
    webhook = await WEBHOOKS.find(call)
    zone = await call.services.time_zones.find(call.account_id)
    days, took = await statistics(call.services.mongodb.reads, webhook.id, zone.calendar)
    return WebhookStatistics(
        deliveries=sum(of_day.total() for of_day in days.values()),
        days=[
            DeliveryDay(
                day=day.isoformat(),
                delivered=counts[DeliveryStatus.DELIVERED],
                failed=counts[DeliveryStatus.FAILED],
                due=counts[DeliveryStatus.DUE],
                cancelled=counts[DeliveryStatus.CANCELLED],
            )
            for day, counts in days.items()
        ],
        median_milliseconds=took[len(took) // 2] if took else None,
        p95_milliseconds=took[len(took) * 95 // 100] if took else None,
        time_zone=zone.zone,
    )


async def statistics(
    reader: MongoReads, webhook_id: UUID, calendar: Calendar
) -> tuple[dict[date, Counter[str]], list[int]]:
    """Return each day's deliveries by status, and the sorted milliseconds of their last attempts.

    The days have no gaps.
    """
    took = {"$arrayElemAt": ["$attempts.milliseconds", -1]}
    stages: list[dict[str, Any]] = [
        # The index has status before time; MongoDB merges the statuses in order of time.
        {"$match": {"webhook_id": webhook_id, "status": {"$in": list(DeliveryStatus)}}},
        {"$sort": {"created_at": -1, "_id": -1}},
        {"$limit": MAX_DELIVERIES},
        {"$project": {"_id": 0, "created_at": 1, "status": 1, "milliseconds": took}},
    ]
    rows = await reader.aggregate("deliveries", stages)
    found = [(calendar.day_of(row["created_at"]), row["status"]) for row in rows]
    first, last = (min(found)[0], max(found)[0]) if found else (date.max, date.min)
    numbers = range(first.toordinal(), last.toordinal() + 1)
    days = {date.fromordinal(number): Counter[str]() for number in numbers}
    for day, status in found:
        days[day][status] += 1
    return days, sorted(row["milliseconds"] for row in rows if row.get("milliseconds") is not None)

"""`/api/webhooks/{id}/statistics`: the states of deliveries, and the receiver's response times."""

from collections import Counter
from collections.abc import Mapping
from datetime import date
from typing import Annotated, Any, Final
from uuid import UUID

import msgspec
from msgspec import Meta, field

from tracker.calendar import Calendar
from tracker.clock import now
from tracker.stores.mongodb.reads import MongoReads
from tracker.web.call import Nothing
from tracker.web.endpoint import Endpoints
from tracker.web.schema import Day, TimeZone
from tracker.webhooks.api.webhooks import WEBHOOKS
from tracker.webhooks.delivery import DeliveryStatus, is_delivered
from tracker.webhooks.services import WebhookCall

endpoint = Endpoints("webhooks")

MAX_DELIVERIES: Final = 5_000
"""The last deliveries that are counted. They take 30 ms."""

_RETRYING: Final = "retrying"


class DeliveryDay(msgspec.Struct, kw_only=True):
    """The deliveries that were created on a day, by their state now."""

    day: Day
    delivered: int
    failed: int
    due: int
    retrying: Annotated[int, Meta(description="those of `due` whose last attempt failed")]
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
    calendar = await call.services.accounts.time_zones.find(call.account_id)
    days, took = await statistics(call.web.mongodb.reads, webhook.id, calendar)
    return WebhookStatistics(
        deliveries=sum(of_day.total() for of_day in days.values()),
        days=[
            DeliveryDay(
                day=day.isoformat(),
                delivered=counts[DeliveryStatus.DELIVERED],
                failed=counts[DeliveryStatus.FAILED],
                due=counts[DeliveryStatus.DUE] + counts[_RETRYING],
                retrying=counts[_RETRYING],
                cancelled=counts[DeliveryStatus.CANCELLED],
            )
            for day, counts in days.items()
        ],
        median_milliseconds=took[len(took) // 2] if took else None,
        p95_milliseconds=took[len(took) * 95 // 100] if took else None,
        time_zone=calendar.zone_at(now()),
    )


async def statistics(
    reader: MongoReads, webhook_id: UUID, calendar: Calendar
) -> tuple[dict[date, Counter[str]], list[int]]:
    """Return each day's deliveries by state, and the sorted milliseconds of their last attempts.

    A state is a DeliveryStatus, or _RETRYING. The days have no gaps.
    """
    fields = ("milliseconds", "code", "error")
    of_last = {name: {"$arrayElemAt": [f"$attempts.{name}", -1]} for name in fields}
    stages: list[dict[str, Any]] = [
        # The index has status before time; MongoDB merges the statuses in order of time.
        {"$match": {"webhook_id": webhook_id, "status": {"$in": list(DeliveryStatus)}}},
        {"$sort": {"created_at": -1, "_id": -1}},
        {"$limit": MAX_DELIVERIES},
        {"$project": {"_id": 0, "created_at": 1, "status": 1, **of_last}},
    ]
    rows = await reader.aggregate("deliveries", stages)
    found = [(calendar.day_of(row["created_at"]), _state(row)) for row in rows]
    first, last = (min(found)[0], max(found)[0]) if found else (date.max, date.min)
    numbers = range(first.toordinal(), last.toordinal() + 1)
    days = {date.fromordinal(number): Counter[str]() for number in numbers}
    for day, state in found:
        days[day][state] += 1
    return days, sorted(row["milliseconds"] for row in rows if row.get("milliseconds") is not None)


def _state(row: Mapping[str, Any]) -> str:
    status: str = row["status"]
    was_tried = row.get("milliseconds") is not None
    is_failing = was_tried and not is_delivered(row.get("code"), row.get("error"))
    return _RETRYING if status == DeliveryStatus.DUE and is_failing else status

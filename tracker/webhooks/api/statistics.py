"""`/api/webhooks/{id}/statistics`: how deliveries went, and how long the receiver took."""

from typing import Annotated

import msgspec
from msgspec import Meta, field

from tracker.web.call import Nothing
from tracker.web.endpoint import Endpoints
from tracker.web.schema import Day, TimeZone
from tracker.webhooks.api.webhooks import WEBHOOKS
from tracker.webhooks.delivery import Status
from tracker.webhooks.services import WebhookCall
from tracker.webhooks.statistics import MAX_DELIVERIES, statistics

endpoint = Endpoints("webhooks")


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

"""`/api/conversions/delays`: the time from a click to its conversion."""

from bisect import bisect_left
from collections import Counter
from datetime import timedelta
from statistics import median
from typing import Annotated, Any, Final
from uuid import UUID

import msgspec
from msgspec import Meta, field

from tracker.clock import now
from tracker.conversions.document import Attribution
from tracker.feeds.services import FeedCall
from tracker.stores.mongodb.reads import MongoReads
from tracker.web.call import Nothing
from tracker.web.endpoint import Endpoints
from tracker.web.schema import AccountQuery

endpoint = Endpoints("feeds")

_LONGEST_SECONDS: Final = (60, 600, 3600, 6 * 3600, 24 * 3600, 7 * 24 * 3600)
"""The longest delay of each group but the last."""

MAX_CONVERSIONS: Final = 10_000
"""The last conversions to read. They take 20 ms."""

DAYS: Final = 30


class DelayGroup(msgspec.Struct, kw_only=True):
    """The conversions up to a delay, and above the delay of the previous group."""

    up_to_seconds: Annotated[int | None, Meta(description="null: any longer delay")] = field(
        name="upToSeconds"
    )
    conversions: int


class ConversionDelays(msgspec.Struct, kw_only=True):
    """The delays of the last conversions whose click is known."""

    conversions: Annotated[
        int,
        Meta(description=f"of the last {DAYS} days; the last {MAX_CONVERSIONS:,} at most"),
    ]
    median_seconds: float | None = field(name="medianSeconds")
    groups: list[DelayGroup]


@endpoint("GET", "/api/conversions/delays", "reports:read")
async def count(call: FeedCall[AccountQuery, Nothing]) -> ConversionDelays:
    """Count the last conversions by the time since their click."""
    seconds = await conversion_delays(call.web.mongodb.reads, call.account_id)
    counts = Counter(bisect_left(_LONGEST_SECONDS, one) for one in seconds)
    return ConversionDelays(
        conversions=len(seconds),
        median_seconds=median(seconds) if seconds else None,
        groups=[
            DelayGroup(up_to_seconds=longest, conversions=counts[number])
            for number, longest in enumerate((*_LONGEST_SECONDS, None))
        ],
    )


async def conversion_delays(reader: MongoReads, account_id: UUID) -> list[float]:
    """Return the seconds from click to conversion of the last conversions."""
    since = {"$gte": now() - timedelta(days=DAYS)}
    milliseconds = {"$subtract": ["$at", "$click_at"]}
    stages: list[dict[str, Any]] = [
        {"$match": {"account_id": account_id, "status": Attribution.ATTRIBUTED, "at": since}},
        {"$sort": {"at": -1, "_id": -1}},
        {"$limit": MAX_CONVERSIONS},
        {"$project": {"_id": 0, "seconds": {"$divide": [milliseconds, 1000]}}},
    ]
    return [row["seconds"] for row in await reader.aggregate("events", stages)]

"""`/api/conversions/delays`: how long people take from a click to its conversion."""

from bisect import bisect_left
from collections import Counter
from statistics import median
from typing import Annotated, Final

import msgspec
from msgspec import Meta, field

from tracker.api.endpoint import Call, Endpoint, Nothing
from tracker.api.schema import AccountId
from tracker.feeds.conversion_delays import DAYS, MAX_CONVERSIONS, conversion_delays

_BOUNDS: Final = (60, 600, 3600, 6 * 3600, 24 * 3600, 7 * 24 * 3600)
"""The longest delays of each group but the last, in seconds."""


class CountDelays(msgspec.Struct, kw_only=True):
    """The account whose conversions are looked at."""

    account_id: AccountId = field(name="accountId")


class DelayGroup(msgspec.Struct, kw_only=True):
    """The conversions within a delay, and beyond that of the group before."""

    up_to_seconds: Annotated[int | None, Meta(description="null: any longer delay")] = field(
        name="upToSeconds"
    )
    conversions: int


class Delays(msgspec.Struct, kw_only=True):
    """The delays of the last conversions whose click is known."""

    conversions: Annotated[
        int,
        Meta(description=f"of the last {DAYS} days; the last {MAX_CONVERSIONS:,} at most"),
    ]
    median_seconds: float | None = field(name="medianSeconds")
    groups: list[DelayGroup]


async def count(call: Call[CountDelays, Nothing]) -> Delays:
    """Count conversions by their delay."""
    seconds = await conversion_delays(call.services.reader, call.account_id)
    counts = Counter(bisect_left(_BOUNDS, one) for one in seconds)
    return Delays(
        conversions=len(seconds),
        median_seconds=median(seconds) if seconds else None,
        groups=[
            DelayGroup(up_to_seconds=bound, conversions=counts[number])
            for number, bound in enumerate((*_BOUNDS, None))
        ],
    )


ENDPOINTS = (
    Endpoint(
        "GET",
        "/api/conversions/delays",
        "reports:read",
        count,
        "Count the last conversions by the time since their click",
        Delays,
        query=CountDelays,
    ),
)

"""Counts of an account's last minutes, and the delay of the journal."""

from datetime import datetime, timedelta
from typing import Any, Final
from uuid import UUID

import msgspec
import pymongo

from tracker.clicks.document import NO_TEST
from tracker.clock import now
from tracker.conversions import document as event_document
from tracker.journal.backlog import Backlog
from tracker.stores.mongodb.reads import MongoReads

MINUTES: Final = 5
COUNT_SECONDS: Final = 5.0
"""The time limit of a count."""

_IN_TIME_SECONDS: Final = 3
"""An entry of the journal is late beyond this age."""


class LiveState(msgspec.Struct, frozen=True, kw_only=True):
    """The clicks of people and of bots, and the conversions, of the last minutes.

    `behind_seconds` is the age of the oldest unstored click or conversion; 0 if none is late.
    """

    clicks: int
    bots: int
    conversions: int
    minutes: int = MINUTES
    behind_seconds: int = msgspec.field(name="behindSeconds")


async def live_state(reader: MongoReads, account_id: UUID, behind_seconds: int) -> LiveState:
    since = now() - timedelta(minutes=MINUTES)
    with pymongo.timeout(COUNT_SECONDS):
        rows = await reader.aggregate("clicks", clicks_pipeline(account_id, since))
        conversions = await reader.count("events", conversions_filter(account_id, since))
    counts = {row["_id"]: row["count"] for row in rows}
    return LiveState(
        clicks=counts.get(False, 0),
        bots=counts.get(True, 0),
        conversions=conversions,
        behind_seconds=behind_seconds,
    )


def clicks_pipeline(account_id: UUID, since: datetime) -> list[dict[str, Any]]:
    """Return the pipeline that counts clicks by whether they are a bot's."""
    is_bot = {"$ne": ["$bot", None]}
    return [
        {"$match": {"account_id": account_id, "at": {"$gte": since}, **NO_TEST}},
        {"$group": {"_id": is_bot, "count": {"$sum": 1}}},
    ]


def conversions_filter(account_id: UUID, since: datetime) -> dict[str, Any]:
    """Return the filter for conversions that count."""
    counted = {"$in": list(event_document.COUNTED)}
    return {"account_id": account_id, "status": counted, "at": {"$gte": since}}


async def behind_seconds(backlog: Backlog) -> int:
    """Return the age of the oldest unstored entry; 0 if it is not late."""
    age = (await backlog.measure()).oldest_ms // 1000
    return age if age > _IN_TIME_SECONDS else 0

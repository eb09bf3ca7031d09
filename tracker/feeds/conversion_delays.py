"""The time from a click to its conversion, of the last conversions of an account."""

from datetime import datetime, timedelta
from typing import Any, Final
from uuid import UUID

from tracker.clock import now
from tracker.conversions.document import Status
from tracker.stores.mongodb.reader import Reader

MAX_CONVERSIONS: Final = 10_000
"""Conversions that are looked at, the last ones. They take 20 ms."""

DAYS: Final = 30


async def conversion_delays(reader: Reader, account_id: UUID) -> list[float]:
    """Return the seconds from click to conversion, of conversions whose click is known."""
    stages = delays_pipeline(account_id, now() - timedelta(days=DAYS))
    return [row["seconds"] for row in await reader.aggregate("events", stages)]


def delays_pipeline(account_id: UUID, since: datetime) -> list[dict[str, Any]]:
    """Return the pipeline that reads the delays."""
    milliseconds = {"$subtract": ["$at", "$click_at"]}
    return [
        {
            "$match": {
                "account_id": account_id,
                "status": Status.ATTRIBUTED,
                "at": {"$gte": since},
            }
        },
        {"$sort": {"at": -1, "_id": -1}},
        {"$limit": MAX_CONVERSIONS},
        {"$project": {"_id": 0, "seconds": {"$divide": [milliseconds, 1000]}}},
    ]

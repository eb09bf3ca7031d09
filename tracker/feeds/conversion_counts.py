"""The numbers of conversions of clicks."""

from collections.abc import Collection
from typing import Any, Final
from uuid import UUID

from tracker.conversions.document import COUNTED
from tracker.stores.mongodb.reader import Reader

MAX_COUNTED: Final = 1000
"""Conversions of one click that are counted; a number that high says that there may be more."""

_MAX_TOGETHER: Final = 50_000
"""Conversions that one query counts for all clicks. If a stranger has reported more, further
queries count those of each click up to MAX_COUNTED, which is slower for the others."""


async def count_conversions(
    reader: Reader, account_id: UUID, click_ids: Collection[UUID]
) -> dict[UUID, int]:
    """Return the number of the account's conversions that count, for each click that has some."""
    counting: dict[str, Any] = {"account_id": account_id, "status": {"$in": list(COUNTED)}}
    stages: list[dict[str, Any]] = [
        {"$match": {"click_id": {"$in": list(click_ids)}, **counting}},
        {"$limit": _MAX_TOGETHER},
        {"$group": {"_id": "$click_id", "count": {"$sum": 1}}},
    ]
    together = await reader.aggregate("events", stages, hint="by_click")
    counts = {row["_id"]: min(row["count"], MAX_COUNTED) for row in together}
    if sum(row["count"] for row in together) < _MAX_TOGETHER:
        return counts
    for click_id in click_ids:
        counts[click_id] = await reader.count(
            "events", {"click_id": click_id, **counting}, limit=MAX_COUNTED, hint="by_click"
        )
    return counts

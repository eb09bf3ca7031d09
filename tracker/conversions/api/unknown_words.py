"""`/api/event-configs/unknown-words`: statuses that nobody has given a meaning."""

from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Annotated, Any, Final
from uuid import UUID

import msgspec
from msgspec import Meta

from tracker.clock import iso, now
from tracker.conversions.postbacks.words import meaning_of
from tracker.conversions.services import ConversionCall
from tracker.stores.mongodb.reads import MongoReads
from tracker.web.call import Nothing
from tracker.web.endpoint import Endpoints
from tracker.web.schema import AccountQuery, Timestamp

endpoint = Endpoints("conversions")

DAYS: Final = 90
MAX_CONVERSIONS: Final = 10_000
"""The last conversions with such words to read."""
MAX_ROWS: Final = 100


class UnknownWord(msgspec.Struct, kw_only=True):
    """A word that conversions of an event configuration had as status."""

    word: str
    event_config_id: UUID
    event_config_name: str
    conversions: int
    last_at: Annotated[Timestamp, Meta(description="when the last of them occurred")]


class UnknownWords(msgspec.Struct, kw_only=True):
    """The most frequent words first."""

    rows: Annotated[
        list[UnknownWord],
        Meta(
            description=f"at most {MAX_ROWS}, of the last {DAYS} days; of the last "
            f"{MAX_CONVERSIONS:,} conversions at most. Without words that have a meaning now"
        ),
    ]


@endpoint("GET", "/api/event-configs/unknown-words", "event_configs:read")
async def unknown_words(call: ConversionCall[AccountQuery, Nothing]) -> UnknownWords:
    """List the statuses of conversions to which nobody has given a meaning."""
    found = await _unknown(call.web.mongodb.reads, call.account_id)
    ids = {row["event_config_id"] for row in found}
    configs = await call.services.event_configs.find_all(ids)
    rows = []
    for row in found:
        config = configs.get(row["event_config_id"])
        if config and not config.archived and not meaning_of(row["word"], config.statuses):
            rows.append(
                UnknownWord(
                    word=row["word"],
                    event_config_id=config.id,
                    event_config_name=config.name,
                    conversions=row["conversions"],
                    last_at=iso(row["last_at"]),
                )
            )
    return UnknownWords(rows=rows[:MAX_ROWS])


async def _unknown(reader: MongoReads, account_id: UUID) -> Sequence[Mapping[str, Any]]:
    since = {"$gte": now() - timedelta(days=DAYS)}
    which = {"word": "$unknown_word", "event_config_id": "$event_config_id"}
    wanted = {"account_id": account_id, "at": since, "unknown_word": {"$exists": True}}
    stages: list[dict[str, Any]] = [
        {"$match": wanted},
        {"$sort": {"at": -1}},
        {"$limit": MAX_CONVERSIONS},
        {"$group": {"_id": which, "conversions": {"$sum": 1}, "last_at": {"$max": "$at"}}},
        {"$sort": {"conversions": -1, "last_at": -1}},
    ]
    return [{**row.pop("_id"), **row} for row in await reader.aggregate("events", stages)]

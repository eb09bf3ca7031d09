"""`/api/conversions/warnings`: the warnings of an account's last conversions, counted."""

from datetime import timedelta
from typing import Annotated, Any, Final
from uuid import UUID

import msgspec
from msgspec import Meta

from tracker.clock import iso, now
from tracker.conversions.postbacks.aliases import is_alias_now
from tracker.feeds.api.conversion_schema import ConversionEventConfig
from tracker.feeds.conversions import SHOWN
from tracker.feeds.services import FeedCall
from tracker.stores.mongodb.reads import MongoReads
from tracker.web.call import Nothing
from tracker.web.endpoint import Endpoints
from tracker.web.resource import record_of
from tracker.web.schema import AccountQuery, Timestamp

endpoint = Endpoints("feeds")

DAYS: Final = 7
MAX_CONVERSIONS: Final = 10_000
"""The last conversions with warnings to read."""
MAX_ROWS: Final = 20


class ConversionWarning(msgspec.Struct, kw_only=True):
    """A warning of conversions of one event configuration."""

    warning: str
    event_config: ConversionEventConfig | None
    conversions: int
    last_at: Annotated[Timestamp, Meta(description="when the last of them was received")]


class ConversionWarnings(msgspec.Struct, kw_only=True):
    """The most frequent warnings first."""

    rows: Annotated[
        list[ConversionWarning],
        Meta(
            description=f"at most {MAX_ROWS}, of the last {DAYS} days; of the last "
            f"{MAX_CONVERSIONS:,} conversions at most. Without ignored parameters that are "
            "parameter_aliases of the event configuration now"
        ),
    ]


@endpoint("GET", "/api/conversions/warnings", "conversions:read")
async def count(call: FeedCall[AccountQuery, Nothing]) -> ConversionWarnings:
    """Count the last conversions with each warning, by event configuration."""
    found = await conversion_warnings(call.web.mongodb.reads, call.account_id)
    configs = await call.services.conversions.event_configs.find_all(
        {row["event_config_id"] for row in found if row["event_config_id"]}
    )
    rows = []
    for row in found:
        config = configs.get(row["event_config_id"])
        if config is None or not is_alias_now(row["warning"], config.parameter_aliases):
            shown = record_of(ConversionEventConfig, config) if config else None
            rows.append(
                ConversionWarning(
                    warning=row["warning"],
                    event_config=shown,
                    conversions=row["conversions"],
                    last_at=iso(row["last_at"]),
                )
            )
    return ConversionWarnings(rows=rows)


async def conversion_warnings(reader: MongoReads, account_id: UUID) -> list[dict[str, Any]]:
    """Return the most frequent warnings of the last conversions, by event configuration."""
    since = {"$gte": now() - timedelta(days=DAYS)}
    warned = {"account_id": account_id, "at": since, "warnings": {"$exists": True}}
    which = {"warning": "$warnings", "event_config_id": "$event_config_id"}
    stages: list[dict[str, Any]] = [
        {"$match": {**warned, "status": {"$in": list(SHOWN)}}},
        {"$sort": {"at": -1}},
        {"$limit": MAX_CONVERSIONS},
        {"$project": {"warnings": 1, "event_config_id": 1, "at": 1}},
        {"$unwind": "$warnings"},
        {"$group": {"_id": which, "conversions": {"$sum": 1}, "last_at": {"$max": "$at"}}},
        {"$sort": {"conversions": -1, "last_at": -1}},
        {"$limit": MAX_ROWS},
    ]
    return [{**row.pop("_id"), **row} for row in await reader.aggregate("events", stages)]

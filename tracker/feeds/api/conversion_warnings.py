"""`/api/conversions/warnings`: the warnings of an account's last conversions, counted."""

from datetime import datetime, timedelta
from typing import Annotated, Any, Final, NamedTuple
from uuid import UUID

import msgspec
from msgspec import Meta

from tracker.clock import now
from tracker.conversions.aliases import is_alias_now
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


class WarningRecord(msgspec.Struct, kw_only=True):
    """A warning of conversions of one event configuration."""

    warning: str
    event_config: ConversionEventConfig | None
    conversions: int
    last_at: Annotated[Timestamp, Meta(description="when the last of them was received")]


class Warnings(msgspec.Struct, kw_only=True):
    """The most frequent warnings first."""

    rows: Annotated[
        list[WarningRecord],
        Meta(
            description=f"at most {MAX_ROWS}, of the last {DAYS} days; of the last "
            f"{MAX_CONVERSIONS:,} conversions at most. Without ignored parameters that are "
            "parameter_aliases of the event configuration now"
        ),
    ]


@endpoint("GET", "/api/conversions/warnings", "conversions:read")
async def count(call: FeedCall[AccountQuery, Nothing]) -> Warnings:
    """Count the last conversions with each warning, by event configuration."""
    found = await conversion_warnings(call.web.mongodb.reads, call.account_id)
    configs = await call.services.conversions.event_configs.find_all(
        {one.event_config_id for one in found if one.event_config_id}
    )
    rows = []
    for one in found:
        config = configs.get(one.event_config_id) if one.event_config_id else None
        if config is None or not is_alias_now(one.warning, config.parameter_aliases):
            shown = record_of(ConversionEventConfig, config) if config else None
            rows.append(record_of(WarningRecord, one, event_config=shown))
    return Warnings(rows=rows)


class CountedWarning(NamedTuple):
    """A warning, the event configuration of its conversions, their number and last time."""

    warning: str
    event_config_id: UUID | None
    conversions: int
    last_at: datetime


async def conversion_warnings(reader: MongoReads, account_id: UUID) -> list[CountedWarning]:
    """Return the most frequent warnings of the last conversions."""
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
    return [
        CountedWarning(
            row["_id"]["warning"],
            row["_id"].get("event_config_id"),
            row["conversions"],
            row["last_at"],
        )
        for row in await reader.aggregate("events", stages)
    ]

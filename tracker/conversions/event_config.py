"""Event configurations: what a postback key stands for, and what a conversion pays."""

from datetime import datetime
from decimal import Decimal
from enum import StrEnum
from typing import Any
from uuid import UUID

from bson import Decimal128
from redis.asyncio import Redis

from tracker.clock import now, now_ms
from tracker.db import keys
from tracker.db.breaker import Breaker
from tracker.db.cache import Cache, Versioned
from tracker.db.connect import Database
from tracker.db.documents import document, record
from tracker.ids import new_id, new_secret


class PayoutType(StrEnum):
    """RevShare pays a percentage of the conversion's value, the others a fixed amount."""

    REV_SHARE = "RevShare"
    CPA = "CPA"
    CPL = "CPL"
    CPS = "CPS"
    CPI = "CPI"


class EventConfig(Versioned, frozen=True, kw_only=True):
    id: UUID
    account_id: UUID
    name: str
    pbk: str
    payout_type: PayoutType
    payout: Decimal
    active: bool
    created_at: datetime

    def payout_of(self, value: Decimal | None) -> Decimal:
        """What one conversion of `value` pays."""
        if self.payout_type is PayoutType.REV_SHARE:
            return (value or Decimal(0)) * self.payout / 100
        return self.payout


EventConfigCache = Cache[EventConfig]


def event_config_cache(
    redis: Redis, breaker: Breaker, database: Database, entries: int
) -> EventConfigCache:
    """Active configurations; names are those of `keys.event_config`."""

    async def load(name: str) -> EventConfig | None:
        row = await database["event_configs"].find_one({"pbk": name.removeprefix("event_config:")})
        config = None if row is None else _config(row)
        return config if config is not None and config.active else None

    return Cache(redis, breaker, EventConfig, load, entries)


class EventConfigs:
    def __init__(self, database: Database, cache: EventConfigCache) -> None:
        self._configs = database["event_configs"]
        self._cache = cache

    async def create(
        self, account_id: UUID, name: str, payout_type: PayoutType, payout: Decimal
    ) -> EventConfig:
        config = EventConfig(
            version=now_ms(),
            id=new_id(),
            account_id=account_id,
            name=name,
            pbk=new_secret("", 16),
            payout_type=payout_type,
            payout=payout,
            active=True,
            created_at=now(),
        )
        await self._configs.insert_one({**document(config), "payout": Decimal128(payout)})
        await self._cache.changed(keys.event_config(config.pbk), config, config.version)
        return config

    async def list(self, account_id: UUID) -> list[EventConfig]:
        """The account's configurations, newest first."""
        rows = self._configs.find({"account_id": account_id}).sort("_id", -1)
        return [_config(row) async for row in rows]

    async def by_postback_key(self, pbk: str) -> EventConfig | None:
        """None if it is unknown or inactive."""
        return await self._cache.get(keys.event_config(pbk))


def _config(row: dict[str, Any]) -> EventConfig:
    return record(EventConfig, {**row, "payout": row["payout"].to_decimal()})

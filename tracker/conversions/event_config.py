"""Event configurations: the meaning of a postback key, and the payout of a conversion.

The API writes them. A conversion's postback key finds them, through a cache.
"""

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from decimal import Decimal
from enum import StrEnum
from typing import Any, Final
from uuid import UUID

from bson import Decimal128

from tracker.clock import now, now_ms
from tracker.conversions.corrections.status import OnRepeat, Status
from tracker.conversions.postbacks.aliases import AliasedParameter, Aliases
from tracker.conversions.postbacks.words import Meaning
from tracker.errors import NotFound
from tracker.ids import new_id, new_secret
from tracker.limits.allowance import Allowance
from tracker.stores.cache.cache import Cache, Versioned
from tracker.stores.cache.filling import Names
from tracker.stores.cache.lookup import FieldLookup
from tracker.stores.mongodb.database import MongoDB
from tracker.stores.mongodb.documents import as_document, as_struct, updated
from tracker.stores.mongodb.paging import Pages
from tracker.stores.redis import keys
from tracker.stores.services import StoreServices
from tracker.syntax.amounts import DECIMALS, checked_amount

MAX_PAYOUT: Final = 10**9
MAX_WINDOW_DAYS: Final = 400
MAX_MIN_SECONDS: Final = 86_400
_PAIRS: Final = ("parameter_aliases", "statuses")
_NOT_ARCHIVED: Final = {"archived": {"$ne": True}}


class PayoutType(StrEnum):
    """RevShare is a percentage of the conversion's value. The other types are fixed amounts."""

    REV_SHARE = "RevShare"
    CPA = "CPA"
    CPL = "CPL"
    CPS = "CPS"
    CPI = "CPI"

    @classmethod
    def _missing_(cls, value: object) -> "PayoutType | None":
        """Ignore case: `revshare` is RevShare."""
        name = value.casefold() if isinstance(value, str) else None
        return next((kind for kind in cls if kind.casefold() == name), None)


class EventConfig(Versioned, frozen=True, kw_only=True):
    """An event configuration. An `archived` one stays stored for its conversions.

    - `statuses`: the network's words. One of 1.0.0 has no `unknown_status`: other words change
      nothing there.
    - `on_repeat`: None for `update` with a status, else `first`.
    - `window_days`, `min_seconds`: the allowed time since the click, None for any.
    - `currency` of conversions that bring none, None for the account's.
    """

    id: UUID
    account_id: UUID
    name: str
    pbk: str
    payout_type: PayoutType
    payout: Decimal
    active: bool
    archived: bool = False
    parameter_aliases: Mapping[str, AliasedParameter] = {}
    statuses: Mapping[str, Meaning] = {}
    unknown_status: Status = Status.APPROVED
    on_repeat: OnRepeat | None = None
    window_days: int | None = None
    min_seconds: int | None = None
    currency: str | None = None
    created_at: datetime

    def payout_of(self, value: Decimal | None) -> Decimal:
        if self.payout_type is PayoutType.REV_SHARE:
            return (value or Decimal(0)) * self.payout / 100
        return self.payout


def checked_payout(value: object) -> Decimal:
    """Return a payout without exponent. Raises as `checked_amount`."""
    payout = checked_amount("payout", value, MAX_PAYOUT)
    decimals = min(max(0, -int(payout.as_tuple().exponent)), DECIMALS)
    return abs(round(payout, decimals))


EventConfigCache = Cache[EventConfig]


def event_config_cache(
    stores: StoreServices, max_values: int, misses: Allowance
) -> EventConfigCache:
    """Build the cache. Its keys are `keys.event_config(pbk)`."""
    fields = [name for name in EventConfig.__struct_fields__ if name != "id"]
    lookup = FieldLookup(
        stores.mongodb.reads, "event_configs", "pbk", fields, lambda row: _if_active(_config(row))
    )
    return Cache(stores.copies, EventConfig, lookup, max_values, misses)


def names_of_event_configs(cache: EventConfigCache) -> Names:
    return Names(
        cache, "event_configs", _NOT_ARCHIVED, ["pbk"], lambda row: [keys.event_config(row["pbk"])]
    )


class EventConfigs:
    """The event configurations of all accounts."""

    def __init__(self, mongodb: MongoDB, cache: EventConfigCache) -> None:
        self._configs = mongodb["event_configs"]
        self._pages = Pages(mongodb.reads, "event_configs", EventConfig, _config)
        self._cache = cache

    async def create(
        self,
        account_id: UUID,
        name: str,
        payout_type: PayoutType,
        payout: Decimal,
        parameter_aliases: Aliases | None = None,
        **reports: Any,
    ) -> EventConfig:
        """Store a new configuration with a new postback key. `reports`: further checked fields."""
        config = EventConfig(
            version=now_ms(),
            id=new_id(),
            account_id=account_id,
            name=name,
            pbk=new_secret("", 16),
            payout_type=payout_type,
            payout=payout,
            active=True,
            parameter_aliases=parameter_aliases or {},
            created_at=now(),
            **{"unknown_status": Status.PENDING, **reports},
        )
        await self._configs.insert_one(_stored(as_document(config)))
        await self._cache.created(keys.event_config(config.pbk), config)
        return config

    async def page(
        self, account_id: UUID, page: int, page_size: int
    ) -> tuple[list[EventConfig], int]:
        """Return a page of configurations that are not archived, newest first, and their number."""
        matching = {"account_id": account_id, **_NOT_ARCHIVED}
        return await self._pages.find(matching, page, page_size)

    async def list(self, account_id: UUID) -> list[EventConfig]:
        """Return configurations that are not archived, newest first."""
        rows = self._configs.find({"account_id": account_id, **_NOT_ARCHIVED}).sort("_id", -1)
        return [_config(row) async for row in rows]

    async def ids(self, account_id: UUID) -> Sequence[UUID]:
        """Return the ids of all configurations, also archived ones."""
        rows = self._configs.find({"account_id": account_id}, {"_id": 1})
        return [row["_id"] async for row in rows]

    async def find(self, config_id: UUID) -> EventConfig | None:
        """Return the configuration, even if it is archived."""
        return await self._pages.by_id(config_id)

    async def find_all(self, ids: Collection[UUID]) -> dict[UUID, EventConfig]:
        return await self._pages.by_ids(ids)

    async def change(self, config_id: UUID, fields: Mapping[str, Any]) -> EventConfig:
        """Set checked `fields`. Raises NotFound if there is no configuration, or it is archived.

        Raises Unavailable if Redis is unavailable, because it would serve the old copy.
        """
        config = await self.find(config_id)
        if config is None:
            raise NotFound("event config: not found")
        key = keys.event_config(config.pbk)
        await self._cache.begin_update(key)
        # It may have been archived meanwhile.
        wanted = {"_id": config_id, **_NOT_ARCHIVED}
        update = {"$set": _stored(fields), "$inc": {"version": 1}}
        changed = _config(await updated(self._configs, wanted, update, "event config"))
        await self._cache.changed(key, _if_active(changed), changed.version)
        return changed

    def peek(self, pbk: str) -> EventConfig | None:
        """Return the active configuration if memory has it; None: ask `by_postback_key`."""
        entry = self._cache.peek(keys.event_config(pbk))
        return None if entry is None else entry.value

    async def by_postback_key(self, pbk: str, client: str = "") -> EventConfig | None:
        """Return the active configuration, if any. `client` is the sender's address.

        Raises RateLimited for too many unknown keys, Unavailable if no store answers.
        """
        return await self._cache.get(keys.event_config(pbk), client)


def _if_active(config: EventConfig) -> EventConfig | None:
    """Return None for a configuration whose postback key must not be found."""
    return config if config.active and not config.archived else None


def _stored(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Store money exactly, and aliases as pairs: senders' names never become field names."""
    stored = dict(fields)
    if "payout" in fields:
        stored["payout"] = Decimal128(fields["payout"])
    for name in _PAIRS:
        if name in fields:
            stored[name] = [list(one) for one in fields[name].items()]
    return stored


def _config(row: dict[str, Any]) -> EventConfig:
    pairs = {name: dict(row.get(name, ())) for name in _PAIRS}
    return as_struct(EventConfig, {**row, **pairs, "payout": row["payout"].to_decimal()})

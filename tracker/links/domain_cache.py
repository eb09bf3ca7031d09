"""The cache of hostnames: memory, then Redis, then MongoDB (see `db/cache`)."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any, Final

from redis.asyncio import Redis

from tracker.db import keys
from tracker.db.breaker import Breaker
from tracker.db.budget import Budget
from tracker.db.cache import Cache
from tracker.db.connect import LookUpDatabase
from tracker.db.documents import record
from tracker.db.mongo_reader import MongoReader
from tracker.limits.allowance import Allowance
from tracker.links.domain import Domain, Reserves, ServedName, served_name

DomainCache = Cache[ServedName]

_FIELDS: Final = [name for name in Domain.__struct_fields__ if name != "id"]
_CLAIMS_PER_NAME: Final = 4
"""Claims read of a name, on average, before those names are asked for one by one: few are claimed
by several accounts, and whoever has it claimed by hundreds costs no more than this."""


class _DomainSource:
    def __init__(self, database: LookUpDatabase, reserves: Reserves) -> None:
        self._reader = MongoReader(database["domains"])
        self._reserves = reserves

    async def find(self, names: Sequence[str]) -> Mapping[str, Any]:
        """Return the claims to each name, or as many as tell the same. Raises PyMongoError."""
        wanted = [name.removeprefix("domain:") for name in names]
        most = _CLAIMS_PER_NAME * len(wanted) + 1
        rows = await self._rows({"domain_name": {"$in": wanted}}, most)
        if len(rows) == most:
            rows = [row for name in wanted for row in await self._decisive(name)]
        claims: defaultdict[str, list[Domain]] = defaultdict(list)
        for row in rows:
            claims[keys.domain(row["domain_name"])].append(record(Domain, row))
        return claims

    async def _decisive(self, name: str) -> list[dict[str, Any]]:
        """Return the proven claim and two more: its account's first, if it may have it again."""
        held = await self._rows({"domain_name": name, "verified": True}, 1)
        owner = [{"account_id": row["account_id"]} for row in held]
        claims = {"domain_name": name, "verified": False}
        return held + await self._rows({**claims, **(owner[0] if owner else {})}, 2)

    async def _rows(self, wanted: Mapping[str, Any], most: int) -> list[dict[str, Any]]:
        return await self._reader.find(wanted, _FIELDS, most)

    def value_of(self, found: Any) -> ServedName | None:
        return served_name(found, self._reserves)

    async def close(self) -> None:
        await self._reader.close()


def domain_cache(
    redis: Redis,
    breaker: Breaker,
    database: LookUpDatabase,
    entries: int,
    misses: Allowance,
    budget: Budget,
    reserves: Reserves,
) -> DomainCache:
    """Names are those of `keys.domain`."""
    source = _DomainSource(database, reserves)
    return Cache(redis, breaker, ServedName, source, entries, misses, budget)

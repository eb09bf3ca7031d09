"""The cache of served names, by hostname: memory, then Redis, then MongoDB (`db/cache`)."""

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

_UNUSED: Final = ("id", "last_check")
_FIELDS: Final = [name for name in Domain.__struct_fields__ if name not in _UNUSED]
_CLAIMS_PER_NAME: Final = 4
"""Claims that one query reads for each name on average. If there are more, names are looked up one
by one. Few names have several claims, and a name with hundreds of them costs no more than this."""


class _DomainSource:
    def __init__(self, database: LookUpDatabase, reserves: Reserves) -> None:
        self._reader = MongoReader(database["domains"])
        self._reserves = reserves

    async def find(self, names: Sequence[str]) -> Mapping[str, Any]:
        """Return the claims to each name, or the decisive ones if there are many.

        Raises PyMongoError if MongoDB does not answer.
        """
        wanted = [name.removeprefix("domain:") for name in names]
        limit = _CLAIMS_PER_NAME * len(wanted) + 1
        rows = await self._rows({"domain_name": {"$in": wanted}}, limit)
        if len(rows) == limit:
            rows = [row for name in wanted for row in await self._decisive(name)]
        claims: defaultdict[str, list[Domain]] = defaultdict(list)
        for row in rows:
            claims[keys.domain(row["domain_name"])].append(record(Domain, row))
        return claims

    async def _decisive(self, name: str) -> list[dict[str, Any]]:
        """Return the proven claim, if any, and two others, which then are of its account."""
        proven = await self._rows({"domain_name": name, "verified": True}, 1)
        others: dict[str, Any] = {"domain_name": name, "verified": False}
        if proven:
            others["account_id"] = proven[0]["account_id"]
        return proven + await self._rows(others, 2)

    async def _rows(self, wanted: Mapping[str, Any], limit: int) -> list[dict[str, Any]]:
        return await self._reader.find(wanted, _FIELDS, limit)

    def value_of(self, found: Any) -> ServedName | None:
        """Return the served name of these claims; None if it serves nothing."""
        return served_name(found, self._reserves)

    async def close(self) -> None:
        """Close the connections of the look-ups."""
        await self._reader.close()


def domain_cache(
    redis: Redis,
    breaker: Breaker,
    database: LookUpDatabase,
    max_values: int,
    misses: Allowance,
    budget: Budget,
    reserves: Reserves,
) -> DomainCache:
    """Return the cache of served names, by the names of `keys.domain`."""
    source = _DomainSource(database, reserves)
    return Cache(redis, breaker, ServedName, source, max_values, misses, budget)

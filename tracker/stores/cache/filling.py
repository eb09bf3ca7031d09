"""Copies in Redis of everything that visitors may look up, made again when Redis is new.

Until a copy is there, MongoDB answers for its name. One process fills, by a lease, at a bounded
rate. A server counts as new if its id is (`stores/redis/server_id`), or if it was emptied.
"""

import asyncio
import random
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple

import structlog
from pymongo.errors import PyMongoError
from redis.asyncio import Redis
from redis.exceptions import RedisError

from tracker.metrics import COPIES_RESTORED
from tracker.stores.cache.cache import Cache
from tracker.stores.mongodb.reads import MongoReads
from tracker.stores.redis import keys
from tracker.stores.redis.clients import known_server_ids
from tracker.stores.redis.lease import Lease
from tracker.stores.redis.memory_budget import EVICT_FROM, Budget

log = structlog.get_logger(__name__)

NAMES_AT_ONCE: Final = 500
PAUSE_SECONDS: Final = 0.25
"""The pause after so many names: at most 2,000 names a second, 6 % of a core."""

LOOK_SECONDS: Final = 5.0
_LEASE_SECONDS: Final = 60.0


class Names(NamedTuple):
    """The names of one cache: of the `matching` documents of a collection, by `fields`."""

    cache: Cache[Any]
    collection: str
    matching: Mapping[str, Any]
    fields: Sequence[str]
    names_of: Callable[[Mapping[str, Any]], Sequence[str]]


class CopyFiller:
    """The loop of a process that fills an empty or new Redis with copies."""

    def __init__(
        self,
        redis: Redis,
        reads: MongoReads,
        budget: Budget,
        names: Sequence[Names],
    ) -> None:
        self._redis = redis
        self._reads = reads
        self._budget = budget
        self._names = names
        self._lease = Lease(redis, keys.COPIES_LEASE, _LEASE_SECONDS)

    async def run(self) -> None:
        """Look for a new Redis until cancelled."""
        while True:
            try:
                await self.fill()
            except (PyMongoError, RedisError, OSError, TimeoutError) as error:
                log.warning("copies not filled", error=type(error).__name__)
            await asyncio.sleep(LOOK_SECONDS * random.uniform(0.8, 1.2))  # noqa: S311

    async def fill(self) -> int:
        """Fill a Redis that is new; return the number of names that were looked at."""
        servers = await known_server_ids(self._redis)
        if not servers or self._budget.used >= EVICT_FROM:
            return 0
        if await self._redis.get(keys.COPIES_FILLED) == servers or not await self._lease.acquire():
            return 0
        log.info("Redis is new: copies are stored")
        looked_at = 0
        async for cache, group in self._groups():
            await cache.restore(group)
            looked_at += len(group)
            COPIES_RESTORED.inc(len(group))
            if self._budget.used >= EVICT_FROM:
                # For good: more copies would push out copies that may be in use.
                log.warning("Redis has no room for all copies", names=looked_at)
                break
            await asyncio.sleep(PAUSE_SECONDS)
            if not await self._lease.acquire() or await known_server_ids(self._redis) != servers:
                return looked_at
        await self._redis.set(keys.COPIES_FILLED, servers)
        await self._lease.release()
        log.info("copies are stored", names=looked_at)
        return looked_at

    async def _groups(self) -> AsyncIterator[tuple[Cache[Any], list[str]]]:
        for names in self._names:
            after: dict[str, Any] = {}
            while True:
                rows = await self._reads.find(
                    names.collection,
                    {**names.matching, **after},
                    [*names.fields, "_id"],
                    sort=[("_id", 1)],
                    hint=[("_id", 1)],
                    limit=NAMES_AT_ONCE,
                )
                if not rows:
                    break
                found = [name for row in rows for name in names.names_of(row)]
                for first in range(0, len(found), NAMES_AT_ONCE):
                    yield names.cache, found[first : first + NAMES_AT_ONCE]
                after = {"_id": {"$gt": rows[-1]["_id"]}}

"""The cache of links' targets, by slug: memory, then Redis, then MongoDB (`db/cache`)."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

from redis.asyncio import Redis

from tracker.db import keys
from tracker.db.breaker import Breaker
from tracker.db.budget import Budget
from tracker.db.cache import Cache
from tracker.db.connect import LookUpDatabase
from tracker.db.documents import record
from tracker.db.mongo_reader import MongoReader
from tracker.limits.allowance import Allowance
from tracker.links.domain import namespace_of
from tracker.links.link import Link, Target, target

LinkCache = Cache[Target]

_FIELDS = [name for name in Link.__struct_fields__ if name != "id"]


class _LinkSource:
    def __init__(self, database: LookUpDatabase) -> None:
        self._reader = MongoReader(database["links"])

    async def find(self, names: Sequence[str]) -> Mapping[str, Any]:
        """Return the links' documents by name, with one query.

        Raises PyMongoError if MongoDB does not answer.
        """
        slugs: defaultdict[str, list[str]] = defaultdict(list)
        for name in names:
            namespace, _, slug = name.removeprefix("link:").partition("/")
            slugs[namespace].append(slug)
        branches = [
            {"domain_id": _domain_id(namespace), "slug": {"$in": group}}
            for namespace, group in slugs.items()
        ]
        rows = await self._reader.find({"$or": branches}, _FIELDS, len(names))
        return {keys.link(namespace_of(row["domain_id"]), row["slug"]): row for row in rows}

    def value_of(self, found: Any) -> Target | None:
        """Return the target of a link's document; None if visitors get 404."""
        return target(record(Link, found))

    async def close(self) -> None:
        """Close the connections of the look-ups."""
        await self._reader.close()


def _domain_id(namespace: str) -> UUID | None:
    return UUID(namespace) if namespace else None


def link_cache(
    redis: Redis,
    breaker: Breaker,
    database: LookUpDatabase,
    max_values: int,
    misses: Allowance,
    budget: Budget,
) -> LinkCache:
    """Return the cache of links' targets, by the names of `keys.link`."""
    return Cache(redis, breaker, Target, _LinkSource(database), max_values, misses, budget)

"""Targets by slug: memory, then Redis, then MongoDB (see `db/cache`)."""

from redis.asyncio import Redis

from tracker.db.breaker import Breaker
from tracker.db.cache import Cache
from tracker.db.connect import Database
from tracker.db.documents import record
from tracker.links.link import Link, Target, target

LinkCache = Cache[Target]


def link_cache(redis: Redis, breaker: Breaker, database: Database, entries: int) -> LinkCache:
    """Names are those of `keys.link`."""

    async def load(name: str) -> Target | None:
        domain_name, _, slug = name.removeprefix("link:").partition("/")
        row = await database["links"].find_one({"domain_name": domain_name, "slug": slug})
        return None if row is None else target(record(Link, row))

    return Cache(redis, breaker, Target, load, entries)

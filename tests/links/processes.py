"""Further processes on the same stores, and the links that visitors find in each."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from uuid import UUID

from config.settings import Settings
from tests.stores.cache.listening import listening
from tracker.links.domain import namespace_of
from tracker.links.link import CachedLink
from tracker.service.services import Services
from tracker.stores.redis import keys


@asynccontextmanager
async def process(settings: Settings) -> AsyncIterator[Services]:
    """Yield another process on the same stores, which is notified of changes."""
    built = Services(settings)
    try:
        async with listening(built.changes):
            yield built
    finally:
        await built.stop()
        await built.close()


async def visited(
    services: Services, slug: str = "abc", domain_id: UUID | None = None
) -> CachedLink | None:
    """Return the link that a visitor finds."""
    return await services.links.link_cache.get(keys.link(namespace_of(domain_id), slug))


async def expire(services: Services, name: str, ttl_seconds: float) -> None:
    """Drop the copies of `name` as if they had expired; in Redis that takes `ttl_seconds`."""
    left = await services.stores.redis.pttl(name)
    assert 0 < left <= ttl_seconds * 1000
    await services.stores.redis.delete(name)
    services.links.link_cache.forget(name)

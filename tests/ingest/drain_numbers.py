"""Numbers of drains."""

from typing import Any

from tracker.ingest.drain_number import DrainNumber
from tracker.service.services import Services
from tracker.stores.redis import keys


def drain_number_of(services: Services) -> DrainNumber:
    return DrainNumber(services.stores.redis, services.stores.mongodb)


async def recorded(services: Services) -> dict[bytes, bytes]:
    """Return the sessions on record, by drain number."""
    found: Any = await services.stores.redis.hgetall(keys.DRAIN_SESSIONS)
    return dict(found)

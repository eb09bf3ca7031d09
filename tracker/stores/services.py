"""The connections to Redis and MongoDB, which every room above uses."""

from typing import NamedTuple

from redis.asyncio import Redis

from tracker.stores.breaker import Breaker
from tracker.stores.cache.copies import Copies
from tracker.stores.mongodb.database import MongoDB
from tracker.stores.redis import clients
from tracker.stores.redis.memory_budget import Budget
from tracker.stores.redis.pool import Generation

_CONNECTIONS_PER_PARTITION = 4
"""A partition of the journal keeps them to append, with a limit too, to replay, and to append for
another server of a cluster."""

_CONNECTIONS_OF_COPIES = 2
_CONNECTIONS_OF_VISITORS = 1


class StoreServices(NamedTuple):
    """`redis` answers at once or fails; `redis_blocking` may block. Both connect at first use."""

    redis: Redis
    redis_blocking: Redis
    mongodb: MongoDB
    breaker: Breaker
    budget: Budget
    copies: Copies

    async def close(self) -> None:
        await self.redis.aclose()
        await self.redis_blocking.aclose()
        await self.mongodb.close()


def build(
    *, redis_url: str, mongodb_uri: str, mongodb_database: str, partitions: int
) -> StoreServices:
    generation = Generation()
    dedicated = _CONNECTIONS_PER_PARTITION * partitions
    dedicated += _CONNECTIONS_OF_COPIES + _CONNECTIONS_OF_VISITORS
    redis = clients.redis_for_requests(redis_url, generation, dedicated)
    breaker, budget = Breaker(), Budget()
    return StoreServices(
        redis=redis,
        redis_blocking=clients.redis_for_blocking(redis_url, generation),
        mongodb=MongoDB(mongodb_uri, mongodb_database),
        breaker=breaker,
        budget=budget,
        copies=Copies(redis, breaker, budget),
    )

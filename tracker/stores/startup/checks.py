"""Checks at start that the stores can be used (`stores/startup/diagnosis`).

UnusableStore ends the start. After StoreUnavailable the store may still come up.
"""

import contextlib
from collections.abc import AsyncIterator
from typing import Any, Final

import pymongo
from pymongo.errors import PyMongoError
from redis.asyncio import Redis
from redis.exceptions import RedisError, ResponseError

from tracker.stores.mongodb.drivers import MongoClient
from tracker.stores.redis.clients import check_writable
from tracker.stores.redis.cluster import is_cluster
from tracker.stores.startup.diagnosis import UnusableStore, hello_fault, mongodb_fault, redis_fault

CHECK_SECONDS: Final = 3.0
"""How long a start looks for a MongoDB that takes writes."""

_CLUSTER: Final = (
    "REDIS_URL names a server of a Redis Cluster: begin it with redis+cluster:// and name several "
    "servers, or name a Redis with cluster-enabled no"
)


async def check_redis(client: Redis) -> None:
    """Raises UnusableStore if Redis never can be used, StoreUnavailable if it may be later."""
    async with redis_diagnosed():
        await client.ping()
        if not is_cluster(client) and await _is_in_cluster(client):
            raise UnusableStore(_CLUSTER)
        await check_writable(client)


async def _is_in_cluster(client: Redis) -> bool:
    """Return whether the server is in a cluster; False if it hides that, as managed ones may."""
    try:
        cluster: Any = await client.info("cluster")
    except ResponseError:
        return False
    return bool(cluster.get("cluster_enabled"))


async def check_mongodb(client: MongoClient) -> None:
    """Raises UnusableStore if MongoDB never can be used, StoreUnavailable if it may be later."""
    async with mongodb_diagnosed():
        with pymongo.timeout(CHECK_SECONDS):
            hello = await client.admin.command("hello")
    if fault := hello_fault(hello):
        raise fault


@contextlib.asynccontextmanager
async def redis_diagnosed() -> AsyncIterator[None]:
    """Raises UnusableStore or StoreUnavailable in place of RedisError."""
    try:
        yield
    except RedisError as error:
        raise redis_fault(error) from error


@contextlib.asynccontextmanager
async def mongodb_diagnosed() -> AsyncIterator[None]:
    """Raises UnusableStore or StoreUnavailable in place of PyMongoError."""
    try:
        yield
    except PyMongoError as error:
        raise mongodb_fault(error) from error

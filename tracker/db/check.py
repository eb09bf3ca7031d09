"""Checks at start that the stores can be used. The rule is in `db/diagnosis`.

Every failure becomes UnusableStore, which ends the start, or StoreUnavailable, which does not.
"""

import contextlib
from collections.abc import AsyncIterator
from typing import Any, Final, NoReturn

import pymongo
from pymongo.errors import PyMongoError
from redis.asyncio import Redis
from redis.exceptions import RedisError, ResponseError

from tracker.db.connect import MongoClient, StoreUnavailable, UnusableStore, check_writable
from tracker.db.diagnosis import Fault, hello_fault
from tracker.db.probe import diagnose_mongodb, diagnose_redis
from tracker.db.redis_cluster import is_cluster

CHECK_SECONDS: Final = 3.0
"""How long a start looks for a MongoDB that takes writes."""

_CLUSTER: Final = (
    "REDIS_URL names a server of a Redis Cluster: begin it with redis+cluster:// and name several "
    "servers, or name a Redis with cluster-enabled no"
)
_NO_CLUSTER: Final = (
    "REDIS_URL begins with redis+cluster://, but the server that it names has cluster-enabled no: "
    "begin it with redis://"
)


async def check_redis(client: Redis, url: str) -> None:
    """Check that Redis can be used.

    Raises UnusableStore if it never can with this URL, StoreUnavailable if it may later.
    """
    async with redis_diagnosed(url):
        try:
            await client.ping()
        except ResponseError as error:
            if is_cluster(client) and "cluster support disabled" in str(error):
                raise UnusableStore(_NO_CLUSTER) from error
            raise
        if not is_cluster(client) and await _is_of_cluster(client):
            raise UnusableStore(_CLUSTER)
        await check_writable(client)


async def _is_of_cluster(client: Redis) -> bool:
    """Return whether the server is of a cluster; False if it hides that, as managed ones may."""
    try:
        cluster: Any = await client.info("cluster")
    except ResponseError:
        return False
    return bool(cluster.get("cluster_enabled"))


async def check_mongodb(client: MongoClient, uri: str) -> None:
    """Check that MongoDB can be used.

    Raises UnusableStore if it never can with this URI, StoreUnavailable if it may later.
    """
    async with mongodb_diagnosed(uri):
        with pymongo.timeout(CHECK_SECONDS):
            hello = await client.admin.command("hello")
    if fault := hello_fault(hello, ""):
        _raise(fault)


@contextlib.asynccontextmanager
async def redis_diagnosed(url: str) -> AsyncIterator[None]:
    """Run a block that uses Redis, and diagnose its errors.

    Raises UnusableStore or StoreUnavailable in place of RedisError.
    """
    try:
        yield
    except RedisError as error:
        _raise(await diagnose_redis(url, error), error)


@contextlib.asynccontextmanager
async def mongodb_diagnosed(uri: str) -> AsyncIterator[None]:
    """Run a block that uses MongoDB, and diagnose its errors.

    Raises UnusableStore or StoreUnavailable in place of PyMongoError.
    """
    try:
        yield
    except PyMongoError as error:
        _raise(await diagnose_mongodb(uri, error), error)


def _raise(fault: Fault, error: Exception | None = None) -> NoReturn:
    kind = StoreUnavailable if fault.is_transient else UnusableStore
    raise kind(fault.line) from error

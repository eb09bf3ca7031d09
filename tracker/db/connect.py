"""The only place that builds Redis and MongoDB clients. Each of their calls has a timeout.

Clients belong to the event loop and the process that made them: build them after a fork.
"""

from collections.abc import Callable, Coroutine
from typing import Any

from motor.motor_asyncio import (
    AsyncIOMotorClient,
    AsyncIOMotorCollection,
    AsyncIOMotorDatabase,
)
from pymongo import AsyncMongoClient
from pymongo.asynchronous.collection import AsyncCollection
from pymongo.asynchronous.database import AsyncDatabase
from pymongo.errors import PyMongoError
from redis.asyncio import Redis
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.exceptions import ResponseError

from config.redis_address import cluster_address
from tracker.db import keys
from tracker.db.redis_cluster import ClusterRedis, is_cluster, servers
from tracker.db.redis_pool import Generation, NoConnectionFree, Pool

Database = AsyncIOMotorDatabase[dict[str, Any]]
Collection = AsyncIOMotorCollection[dict[str, Any]]
MongoClient = AsyncIOMotorClient[dict[str, Any]]
LookUpDatabase = AsyncDatabase[dict[str, Any]]
LookUpCollection = AsyncCollection[dict[str, Any]]
LookUpClient = AsyncMongoClient[dict[str, Any]]

REQUEST_TIMEOUT_SECONDS = 1.0
"""How long a request waits for Redis before it goes on without."""

BLOCK_SECONDS = 1.0
"""How long a consumer's read waits for entries. The socket timeout is longer."""

_READ_TIMEOUT_SECONDS = BLOCK_SECONDS + 5

_MAX_REQUEST_CONNECTIONS = 64
_MAX_WAITING_CONNECTIONS = 68
"""Connections to Redis of one process: for requests, and for subscriptions and blocking reads, of
which a drain has one for each partition of the journal."""

MONGODB_TIMEOUT_SECONDS = 5.0
"""Seconds for one MongoDB operation, retries of the driver and its search for a server included."""

_MONGODB_CONNECT_SECONDS = 2.0
"""Seconds for a connection to MongoDB, and for the search for its primary."""

_PROBE_SECONDS = 60
"""How long the key lives that `check_writable` writes."""

UNLIMITED = 0
"""Seconds for `pymongo.timeout` if an operation has no time limit. With None the client's own limit
would apply."""


class UnusableStore(Exception):
    """A store that cannot be used with these settings, however long we wait.

    The message is one line for the operator, with the remedy.
    """


class StoreUnavailable(Exception):
    """A store that cannot be used now, but may be later. The message is a line for the operator."""


def redis_for_requests(url: str, generation: Generation | None = None, dedicated: int = 0) -> Redis:
    """Return a client for the request path, without retries: a dead Redis is noticed at once.

    Clients of one address share a `generation`, so that all of them leave a server that takes no
    writes. Up to `dedicated` connections are kept by callers (`db/redis_command_connection`), and
    leave the others enough.
    """
    max_connections = _MAX_REQUEST_CONNECTIONS + dedicated
    return _redis(url, generation, max_connections, REQUEST_TIMEOUT_SECONDS)


def redis_for_waiting(url: str, generation: Generation | None = None) -> Redis:
    """Return a client for blocking reads and subscriptions, which outlast an ordinary timeout.

    `generation` is as for `redis_for_requests`.
    """
    return _redis(url, generation, _MAX_WAITING_CONNECTIONS, _READ_TIMEOUT_SECONDS)


def _redis(
    url: str, generation: Generation | None, max_connections: int, read_seconds: float
) -> Redis:
    def make_pool(address: str, generation: Generation) -> Pool:
        return Pool.from_url(
            address,
            generation=generation,
            max_connections=max_connections,
            timeout=REQUEST_TIMEOUT_SECONDS,
            socket_timeout=read_seconds,
            socket_connect_timeout=REQUEST_TIMEOUT_SECONDS,
            retry=Retry(NoBackoff(), 0),
            # With RESP3 the client would send commands that Redis 6.2 does not know.
            protocol=2,
        )

    cluster = cluster_address(url)
    if cluster is None:
        return Redis.from_pool(make_pool(url, generation or Generation()))
    return ClusterRedis(
        cluster.servers,
        lambda host, port: make_pool(cluster.server_url(host, port), Generation()),
    )


def mongodb(uri: str) -> MongoClient:
    """Return a client whose writes are acknowledged by a majority, on disk.

    Anything less loses them in a crash.
    """
    return AsyncIOMotorClient(uri, w="majority", journal=True, **_mongodb_options())


def mongodb_for_look_ups(uri: str) -> LookUpClient:
    """Return a client for look-ups that answers wait for (`db/mongo_reader`), and for lists.

    Motor sends each command to a thread, which competes with the loop for the interpreter; this
    client, its successor, works on the loop.
    """
    return AsyncMongoClient(uri, **_mongodb_options())


def _mongodb_options() -> dict[str, Any]:
    return {
        "uuidRepresentation": "standard",
        "tz_aware": True,
        "readConcernLevel": "majority",
        # Also if the URI names another: the drain has to see what it has just stored.
        "readPreference": "primary",
        "timeoutMS": int(MONGODB_TIMEOUT_SECONDS * 1000),
        "serverSelectionTimeoutMS": int(_MONGODB_CONNECT_SECONDS * 1000),
        "connectTimeoutMS": int(_MONGODB_CONNECT_SECONDS * 1000),
        "appname": "tracker",
    }


def followers(client: Redis, waiting: Redis) -> dict[str, Callable[[], Coroutine[Any, Any, None]]]:
    """Return the loops that follow the servers to wherever the keys are, by their names.

    One server needs none; sentinels and a cluster are asked again and again. Both clients are of
    one address, and share a generation.
    """
    if isinstance(client, ClusterRedis) and isinstance(waiting, ClusterRedis):
        return {"redis_cluster": client.follow, "redis_cluster_waiting": waiting.follow}
    pool = client.connection_pool
    assert isinstance(pool, Pool), "the client is not of this module"
    return {"redis_primary": pool.follow_primary} if pool.has_sentinels else {}


async def check_writable(client: Redis) -> None:
    """Write one key that expires. Raises RedisError if Redis does not take writes.

    A PING is not enough: a replica and a full Redis answer it too.
    """
    await client.set(keys.probe(), "", ex=_PROBE_SECONDS)


async def redis_advice(client: Redis, replicas: int = 0) -> list[str]:
    """Return a line for each setting of Redis that could lose clicks, as far as Redis shows it.

    `replicas` must have a click before it is answered. Raises RedisError if Redis fails.
    """
    lines = [line for one in await servers(client) for line in await _advice(one, replicas)]
    if is_cluster(client) and await _stops_as_a_whole(client):
        lines.append(
            "cluster-require-full-coverage is on: while one part of the cluster has no primary, "
            "none takes clicks, and all go to the spool"
        )
    return list(dict.fromkeys(lines))


async def _advice(client: Redis, replicas: int) -> list[str]:
    persistence = await client.info("persistence")
    memory = await client.info("memory")
    advice = []
    if not persistence.get("aof_enabled"):
        advice.append("appendonly is off: a restart of Redis loses what is not yet drained")
    elif await _flushes_later(client):
        advice.append(
            "appendfsync is not always: Redis killed while the disk is slow, or a loss of power, "
            "can lose clicks of the last seconds"
        )
    if memory.get("maxmemory_policy", "noeviction") != "noeviction":
        advice.append("maxmemory-policy is not noeviction: Redis may drop what is not yet drained")
    return advice + await _replication_advice(client, replicas)


async def _replication_advice(client: Redis, replicas: int) -> list[str]:
    connected = int((await client.info("replication")).get("connected_slaves", 0))
    if connected and not replicas:
        return [
            "Redis has replicas, but JOURNAL_REPLICAS is 0: a failover loses the clicks that the "
            "new primary does not have yet"
        ]
    if connected < replicas:
        return [
            f"JOURNAL_REPLICAS is {replicas}, but Redis has {connected} replicas: clicks go to the "
            "spool until it has more"
        ]
    return []


async def _flushes_later(client: Redis) -> bool:
    """Return whether Redis answers before it flushes; False if it hides its configuration."""
    return await _configured(client, "appendfsync") not in (None, "always")


async def _stops_as_a_whole(client: Redis) -> bool:
    return await _configured(client, "cluster-require-full-coverage") == "yes"


async def _configured(client: Redis, name: str) -> str | None:
    """Return a setting of Redis; None if Redis hides its configuration."""
    try:
        configured: Any = await client.config_get(name)
    except ResponseError:
        return None
    value: str | None = configured.get(name)
    return value


__all__ = [
    "BLOCK_SECONDS",
    "UNLIMITED",
    "Collection",
    "Database",
    "Generation",
    "LookUpClient",
    "LookUpCollection",
    "LookUpDatabase",
    "MongoClient",
    "NoConnectionFree",
    "PyMongoError",
    "StoreUnavailable",
    "UnusableStore",
    "check_writable",
    "followers",
    "mongodb",
    "mongodb_for_look_ups",
    "redis_advice",
    "redis_for_requests",
    "redis_for_waiting",
]

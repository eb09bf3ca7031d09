"""The only place that builds Redis clients. Build them after a fork; each call has a timeout."""

import structlog
from redis.asyncio import Redis
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.exceptions import RedisError

from config.redis_address import cluster_address
from tracker.loops import sleep_in_step
from tracker.stores.redis import keys
from tracker.stores.redis.cluster import ClusterRedis, is_cluster, server_of, servers
from tracker.stores.redis.pool import Generation, Pool
from tracker.stores.redis.server_id import UNKNOWN_SERVER, server_id

log = structlog.get_logger(__name__)

REQUEST_TIMEOUT_SECONDS = 1.0

BLOCK_SECONDS = 1.0
"""How long a consumer's read waits for entries. The socket timeout is longer."""

_READ_TIMEOUT_SECONDS = BLOCK_SECONDS + 5

_MAX_REQUEST_CONNECTIONS = 64
_MAX_BLOCKING_CONNECTIONS = 68
"""For subscriptions and blocking reads: a drain has one for each partition of the journal."""

_PROBE_SECONDS = 60
_CHECK_SECONDS = 1.0


def redis_for_requests(url: str, generation: Generation | None = None, dedicated: int = 0) -> Redis:
    """Return a client without retries, which notices a dead Redis at once.

    Clients of one address share a `generation`, and so leave a server that takes no writes. Callers
    keep up to `dedicated` connections (`stores/redis/command_connection`).
    """
    max_connections = _MAX_REQUEST_CONNECTIONS + dedicated
    return _redis(url, generation, max_connections, REQUEST_TIMEOUT_SECONDS)


def redis_for_blocking(url: str, generation: Generation | None = None) -> Redis:
    """Return a client for blocking reads and subscriptions, which outlast an ordinary timeout."""
    return _redis(url, generation, _MAX_BLOCKING_CONNECTIONS, _READ_TIMEOUT_SECONDS)


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


def has_sentinels(client: Redis) -> bool:
    return not is_cluster(client) and _pool_of(client).has_sentinels


async def follow(client: Redis) -> None:
    """Follow sentinels or a cluster to the servers that have the keys, until cancelled."""
    if isinstance(client, ClusterRedis):
        await client.topology.follow()
    else:
        await _pool_of(client).follow_primary()


async def known_server_id(client: Redis, key: str) -> bytes:
    """Return the id of the server of `key`, as a new connection or a check found it last."""
    generation: Generation = _pool_of(await server_of(client, key)).connection_kwargs["generation"]
    return generation.server_id


async def known_server_ids(client: Redis) -> bytes:
    """Return the ids of all servers, as `known_server_id` does; empty unless each is known."""
    generations = [_pool_of(one).connection_kwargs["generation"] for one in await servers(client)]
    ids = sorted(one.server_id for one in generations)
    return b"" if UNKNOWN_SERVER in ids else b"".join(ids)


async def check_server_ids(client: Redis) -> None:
    """Ask each server for its id: one that is promoted keeps its connections."""
    for server in await servers(client):
        generation: Generation = _pool_of(server).connection_kwargs["generation"]
        try:
            generation.server_id = server_id(await server.info("replication"))
        except RedisError:
            generation.server_id = UNKNOWN_SERVER


async def keep_checking(client: Redis) -> None:
    """Check each second, until cancelled, on which servers copies can be trusted."""
    while True:
        try:
            await check_server_ids(client)
        except RedisError as error:
            log.debug("copies not checked", error=type(error).__name__)
        await sleep_in_step(_CHECK_SECONDS)


def _pool_of(client: Redis) -> Pool:
    pool = client.connection_pool
    assert isinstance(pool, Pool), "the client is not of this module"
    return pool


async def check_writable(client: Redis) -> None:
    """Raises RedisError unless Redis takes writes. Replicas and a full Redis answer a PING."""
    await client.set(keys.probe(), "", ex=_PROBE_SECONDS)

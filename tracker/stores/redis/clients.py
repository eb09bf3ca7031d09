"""The only place that builds Redis clients. Each of their calls has a timeout.

Clients belong to the event loop and the process that made them: build them after a fork.
"""

from redis.asyncio import Redis
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff

from config.redis_address import cluster_address
from tracker.stores.redis import keys
from tracker.stores.redis.cluster import ClusterRedis, is_cluster
from tracker.stores.redis.pool import Generation, Pool

REQUEST_TIMEOUT_SECONDS = 1.0
"""How long a request waits for Redis before it goes on without."""

BLOCK_SECONDS = 1.0
"""How long a consumer's read waits for entries. The socket timeout is longer."""

_READ_TIMEOUT_SECONDS = BLOCK_SECONDS + 5

_MAX_REQUEST_CONNECTIONS = 64
_MAX_WAITING_CONNECTIONS = 68
"""Connections to Redis of one process: for requests, and for subscriptions and blocking reads, of
which a drain has one for each partition of the journal."""

_PROBE_SECONDS = 60
"""How long the key lives that `check_writable` writes."""


def redis_for_requests(url: str, generation: Generation | None = None, dedicated: int = 0) -> Redis:
    """Return a client for the request path, without retries: a dead Redis is noticed at once.

    Clients of one address share a `generation`, so that all of them leave a server that takes no
    writes. Up to `dedicated` connections are kept by callers (`stores/redis/command_connection`),
    and leave the others enough.
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


def has_sentinels(client: Redis) -> bool:
    """Return whether `client` asks sentinels where the primary is."""
    return not is_cluster(client) and _pool_of(client).has_sentinels


async def follow(client: Redis) -> None:
    """Follow the servers to wherever the keys are, until cancelled.

    Sentinels or a cluster are asked again and again. Clients that share a generation follow the
    same sentinels.
    """
    if isinstance(client, ClusterRedis):
        await client.topology.follow()
    else:
        await _pool_of(client).follow_primary()


def _pool_of(client: Redis) -> Pool:
    pool = client.connection_pool
    assert isinstance(pool, Pool), "the client is not of this module"
    return pool


async def check_writable(client: Redis) -> None:
    """Write one key that expires. Raises RedisError if Redis does not take writes.

    A PING is not enough: a replica and a full Redis answer it too.
    """
    await client.set(keys.probe(), "", ex=_PROBE_SECONDS)

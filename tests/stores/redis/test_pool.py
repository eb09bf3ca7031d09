"""Connections that the other end closes at once, and servers that are no longer the primary."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest
from redis.asyncio import Redis
from redis.exceptions import ReadOnlyError, RedisError, ResponseError

from config.settings import Settings
from tests.factories import make_click
from tests.stores.redis.own_redis import OwnRedis, closing_redis, own_redis
from tests.stores.relay import Relay, relay
from tests.waiting import PATIENCE_SECONDS, becomes, eventually
from tracker.service import background
from tracker.service.services import Services
from tracker.stores.builtin.servers import redis_url
from tracker.stores.redis import clients
from tracker.stores.redis.command_connection import RedisCommandConnection
from tracker.stores.redis.keys import CHANGES, JOURNAL
from tracker.stores.redis.pool import takes_no_writes

pytestmark = pytest.mark.redis

ATTEMPTS = 1500
"""If an address closes each connection at once, uvloop raises RuntimeError for one in a hundred."""


def _ping(client: Redis) -> Callable[[], Awaitable[object]]:
    return client.ping


def _pipeline(client: Redis) -> Callable[[], Awaitable[object]]:
    async def execute() -> None:
        pipeline = client.pipeline(transaction=True)
        pipeline.set("a", 1)
        await pipeline.execute()

    return execute


def _subscription(client: Redis) -> Callable[[], Awaitable[object]]:
    async def subscribe() -> None:
        async with client.pubsub() as subscription:
            await subscription.subscribe(CHANGES)
            await subscription.get_message(timeout=5)

    return subscribe


def _direct(client: Redis) -> Callable[[], Awaitable[object]]:
    direct = RedisCommandConnection(client)
    return lambda: direct.execute("PING")


@pytest.mark.parametrize("way", [_ping, _pipeline, _subscription, _direct])
async def test_an_address_that_accepts_and_closes_raises_errors_of_redis_only(
    way: Callable[[Redis], Callable[[], Awaitable[object]]],
) -> None:
    with closing_redis() as port:
        async with clients.redis_for_requests(redis_url(port)) as client:
            ask = way(client)
            for _ in range(ATTEMPTS):
                with pytest.raises(RedisError):
                    await ask()


TAKES_NO_WRITES = (
    "READONLY You can't write against a read only replica.",
    "LOADING Redis is loading the dataset in memory",
    "MASTERDOWN Link with MASTER is down",
    "NOREPLICAS Not enough good replicas to write.",
    "CLUSTERDOWN The cluster is down",
    "UNBLOCKED force unblock from blocking operation",
    "ERR Error running script (call to f_1): -READONLY You can't write",
)
TAKES_WRITES = (
    "OOM command not allowed when used memory > 'maxmemory'.",
    "ERR unknown command 'READONLY'",
    "WRONGTYPE Operation against a key",
    "the connection was lost",
)


def test_refusals_of_a_server_without_writes_are_recognised() -> None:
    assert takes_no_writes(ReadOnlyError("You can't write against it.", status_code="READONLY"))
    for texts, expected in ((TAKES_NO_WRITES, True), (TAKES_WRITES, False)):
        assert [takes_no_writes(ResponseError(one)) for one in texts] == [expected] * len(texts)


class Pair:
    """A primary, its replica, and an address that leads to the primary."""

    def __init__(self, one: OwnRedis, other: OwnRedis, way: Relay) -> None:
        self.one = clients.redis_for_requests(one.url)
        self.other = clients.redis_for_requests(other.url)
        self._ports = one.port, other.port
        self.way = way

    async def state_of_replica(self) -> object:
        return (await self.other.info("replication"))["master_link_status"]

    async def fail_over(self) -> None:
        """Promote the replica and demote the primary; all connections stay open."""
        await self.other.replicaof("NO", "ONE")
        await self.one.replicaof("127.0.0.1", self._ports[1])
        self.way.lead_to(self._ports[1])


@asynccontextmanager
async def pair(folder: Path) -> AsyncIterator[Pair]:
    with own_redis(folder / "one") as one, own_redis(folder / "other") as other:
        async with relay(one.port) as way:
            built = Pair(one, other, way)
            await built.other.replicaof("127.0.0.1", one.port)
            await becomes(built.state_of_replica, "up")
            yield built
            await built.one.aclose()
            await built.other.aclose()


@asynccontextmanager
async def serving(settings: Settings, stores: Pair) -> AsyncIterator[Services]:
    """Yield the services of a process that reaches Redis through the relay, with running loops."""
    url = redis_url(stores.way.port)
    services = Services(msgspec.structs.replace(settings, redis_url=url))
    try:
        async with background.serving(services):
            yield services
    finally:
        await services.close()


async def test_after_a_failover_nothing_stays_in_the_spool(
    settings: Settings, tmp_path: Path
) -> None:
    async with pair(tmp_path) as stores, serving(settings, stores) as services:
        await asyncio.gather(*(services.journal.journal.append(make_click()) for _ in range(50)))
        await asyncio.gather(
            *(services.stores.redis.get("a") for _ in range(20))
        )  # so many connections
        await stores.fail_over()
        for _ in range(50):
            await services.journal.journal.append(make_click())
        await eventually(lambda: written(services))
        await eventually(lambda: not services.journal.journal.spool.bytes_waiting)
        assert await records(stores.other) == 100
        await eventually(lambda: not services.stores.breaker.is_open)
        await services.journal.journal.append(make_click())
        assert services.journal.journal.spool.bytes_waiting == 0


async def test_after_a_failover_changes_are_heard_from_the_new_primary(
    settings: Settings, tmp_path: Path
) -> None:
    async with pair(tmp_path) as stores, serving(settings, stores) as services:
        await asyncio.wait_for(services.changes.subscribed.wait(), PATIENCE_SECONDS)
        await services.stores.redis.get("a")  # a connection to the old one
        await stores.fail_over()
        with pytest.raises(RedisError):
            await clients.check_writable(services.stores.redis)
        await becomes(lambda: stores.other.pubsub_numsub(CHANGES), [(CHANGES.encode(), 1)])


async def written(services: Services) -> bool:
    try:
        await clients.check_writable(services.stores.redis)
    except RedisError:
        return False
    return True


async def records(client: Redis) -> int:
    entries: Any = await client.xrange(JOURNAL)
    return sum(len(msgspec.msgpack.decode(fields[b"1"])) for _, fields in entries)

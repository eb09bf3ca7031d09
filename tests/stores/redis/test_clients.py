"""No call waits for long, whatever a store does, and settings that could lose clicks are named."""

import asyncio
import contextlib
import time
from pathlib import Path
from typing import Any

import pytest
from pymongo.errors import PyMongoError
from redis.exceptions import ConnectionError as RedisConnectionError
from redis.exceptions import RedisError

from config.settings import Settings
from tests.ports import free_port
from tests.stores.redis.own_redis import hanging_redis, own_redis, unavailable_redis
from tests.waiting import PATIENCE_SECONDS, becomes
from tracker.stores.breaker import Breaker
from tracker.stores.builtin.servers import mongodb_uri
from tracker.stores.mongodb import drivers
from tracker.stores.redis import clients
from tracker.stores.redis.command_connection import RedisCommandConnection
from tracker.stores.startup.redis_advice import redis_advice

pytestmark = pytest.mark.redis


async def test_an_unavailable_redis_is_noticed_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clients, "REQUEST_TIMEOUT_SECONDS", 3600.0)
    async with (
        clients.redis_for_requests(unavailable_redis()) as client,
        asyncio.timeout(PATIENCE_SECONDS),
    ):
        with pytest.raises(RedisError):
            await client.ping()


@pytest.mark.usefixtures("short_patience")
async def test_a_redis_that_hangs_is_waited_for_as_long_as_a_request_may() -> None:
    with hanging_redis() as url:
        async with clients.redis_for_requests(url) as client, asyncio.timeout(PATIENCE_SECONDS):
            begun = time.monotonic()
            with pytest.raises(RedisError):
                await client.ping()
            assert time.monotonic() - begun > clients.REQUEST_TIMEOUT_SECONDS * 0.8


async def test_more_calls_than_connections_wait_for_their_turn(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(clients, "REQUEST_TIMEOUT_SECONDS", PATIENCE_SECONDS)
    async with clients.redis_for_requests(settings.redis_url) as client:
        assert all(await asyncio.gather(*(client.ping() for _ in range(200))))


async def connections(settings: Settings, name: str) -> int:
    """Return how many connections of this name Redis has."""
    async with clients.redis_for_requests(settings.redis_url) as other:
        listed: Any = await other.client_list()
    return sum(one["name"] == name for one in listed)


async def test_a_closed_client_opens_no_connection(settings: Settings) -> None:
    client = clients.redis_for_requests(f"{settings.redis_url}?client_name=closed")
    dedicated = RedisCommandConnection(client)
    await dedicated.execute("PING")
    opening = asyncio.ensure_future(client.ping())
    await asyncio.sleep(0)
    await client.aclose()
    for late in (opening, client.ping(), dedicated.execute("PING")):
        with pytest.raises(RedisConnectionError):
            await late
    await becomes(lambda: connections(settings, "closed"), 0)


async def test_a_blocking_read_outlasts_the_timeout_of_requests(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(clients, "REQUEST_TIMEOUT_SECONDS", 1.0)
    async with clients.redis_for_blocking(settings.redis_url) as client:
        options = client.connection_pool.connection_kwargs
        monkeypatch.setitem(options, "socket_connect_timeout", PATIENCE_SECONDS)
        begun = time.monotonic()
        assert (
            await client.blpop(["nothing"], timeout=clients.REQUEST_TIMEOUT_SECONDS + 0.5) is None
        )
        assert time.monotonic() - begun > clients.REQUEST_TIMEOUT_SECONDS


@pytest.mark.usefixtures("short_patience")
async def test_an_unavailable_mongodb_is_noticed_by_a_client_of_durable_writes() -> None:
    uri = mongodb_uri(free_port())
    with contextlib.closing(drivers.mongodb(uri)) as client, pytest.raises(PyMongoError):
        assert client.write_concern.document == {"w": "majority", "j": True}
        await asyncio.wait_for(client.admin.command("ping"), PATIENCE_SECONDS)


async def test_advice_names_the_settings_that_could_lose_clicks(tmp_path: Path) -> None:
    with own_redis(tmp_path) as server:
        async with clients.redis_for_requests(server.url) as client:
            await client.config_set("appendfsync", "everysec")
            [appendfsync] = await redis_advice(client)
            await client.config_set("appendfsync", "always")
            assert await redis_advice(client) == []
            await client.config_set("appendonly", "no")
            await client.config_set("maxmemory-policy", "allkeys-lru")
            appendonly, policy = await redis_advice(client)
    assert appendfsync.startswith("appendfsync is not always")
    assert appendonly.startswith("appendonly is off")
    assert policy.startswith("maxmemory-policy is not noeviction")


async def test_waiting_for_a_free_connection_is_no_failure_of_redis(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with clients.redis_for_requests(settings.redis_url) as client:
        pool: Any = client.connection_pool
        taken = [await pool.get_connection() for _ in range(64)]
        breaker = Breaker()
        with monkeypatch.context() as impatient, pytest.raises(RedisError) as refused:
            impatient.setattr(pool, "timeout", 0.1)
            await client.ping()
        breaker.record_failure(refused.value)
        assert not breaker.is_open
        for connection in taken:
            await pool.release(connection)
        assert await client.ping()

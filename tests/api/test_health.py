"""Whether the process is alive, and whether its stores answer."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from tests.api.client import Client
from tests.conversions import scene
from tracker.api import health
from tracker.db import connect
from tracker.db.direct import Direct
from tracker.services import Services

DEAD = "127.0.0.1:1"


@asynccontextmanager
async def silence() -> AsyncIterator[str]:
    """The address of a server that takes connections and never answers."""
    stop = asyncio.Event()

    async def wait(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await stop.wait()
        writer.close()

    server = await asyncio.start_server(wait, "127.0.0.1", 0)
    try:
        yield f"127.0.0.1:{server.sockets[0].getsockname()[1]}"
    finally:
        stop.set()
        server.close()
        await server.wait_closed()


async def test_a_process_that_answers_is_alive_and_ready(client: Client) -> None:
    alive, ready = await client.get("/healthz"), await client.get("/readyz")
    assert (alive.status, alive.json()) == (200, {"status": "ok"})
    assert (ready.status, ready.json()) == (200, {"status": "ready"})


async def test_a_dead_redis_is_named(services: Services, client: Client) -> None:
    away, services.redis = services.redis, connect.redis_for_requests(f"redis://{DEAD}")
    response = await client.get("/readyz")
    await services.redis.aclose()
    services.redis = away
    assert (response.status, response.error) == (503, "no answer from redis")
    assert "Retry-After" not in response.headers


async def test_what_waits_in_the_spool_is_told_until_it_is_in_redis(
    services: Services, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    there, away = services.redis, connect.redis_for_requests(f"redis://{DEAD}")
    monkeypatch.setattr(services.journal, "_redis", away)
    monkeypatch.setattr(services.journal, "_appending", Direct(away))
    await services.journal.append(scene.click())
    waiting = services.journal.bytes_waiting
    monkeypatch.setattr(services, "redis", away)
    response = await client.get("/readyz")
    assert (response.status, waiting > 0) == (503, True)
    message = f"no answer from redis; {waiting} bytes wait in the spool"
    assert response.json() == {"error": message}
    monkeypatch.setattr(services, "redis", there)
    monkeypatch.setattr(services.journal, "_redis", there)
    monkeypatch.setattr(services.journal, "_appending", Direct(there))
    await away.aclose()
    response = await client.get("/readyz")
    assert (response.status, response.json()) == (200, {"status": "ready", "spool_bytes": waiting})
    assert await services.journal.replay_once() == 1
    response = await client.get("/readyz")
    assert (response.status, response.json()) == (200, {"status": "ready"})


async def test_a_dead_mongodb_is_named_and_the_process_is_still_alive(
    services: Services, client: Client
) -> None:
    there = services.database
    dead = connect.mongodb(f"mongodb://{DEAD}/?directConnection=true")
    services.database = dead["tracker"]
    response = await client.get("/readyz")
    assert (await client.get("/healthz")).status == 200
    services.database = there
    dead.close()
    assert (response.status, response.error) == (503, "no answer from mongodb")


async def test_stores_that_take_connections_but_never_answer_are_named(
    services: Services, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(health, "_PATIENCE", 0.2)
    redis, database = services.redis, services.database
    async with silence() as address:
        services.redis = connect.redis_for_requests(f"redis://{address}")
        silent = connect.mongodb(f"mongodb://{address}/?directConnection=true")
        services.database = silent["tracker"]
        response = await client.get("/readyz")
        await services.redis.aclose()
        silent.close()
    services.redis, services.database = redis, database
    assert (response.status, response.error) == (503, "no answer from redis and mongodb")


@pytest.mark.parametrize(
    ("away", "expected"),
    [
        ([], "MongoDB has no indexes yet"),
        (["mongodb"], "no answer from mongodb; MongoDB has no indexes yet"),
        (["redis", "mongodb"], "no answer from redis and mongodb; MongoDB has no indexes yet"),
    ],
)
@pytest.mark.parametrize("spooled", [False, True])
async def test_before_mongodb_has_its_indexes_all_that_is_away_and_spooled_is_told(
    services: Services,
    client: Client,
    monkeypatch: pytest.MonkeyPatch,
    away: list[str],
    expected: str,
    spooled: bool,
) -> None:
    redis = connect.redis_for_requests(f"redis://{DEAD}")
    mongodb = connect.mongodb(f"mongodb://{DEAD}/?directConnection=true&serverSelectionTimeoutMS=1")
    services.prepared.clear()
    with monkeypatch.context() as patched:
        if spooled:
            patched.setattr(services.journal, "_redis", redis)
            patched.setattr(services.journal, "_appending", Direct(redis))
            await services.journal.append(scene.click())
            expected += f"; {services.journal.bytes_waiting} bytes wait in the spool"
        if "redis" in away:
            patched.setattr(services, "redis", redis)
        if "mongodb" in away:
            patched.setattr(services, "database", mongodb["tracker"])
        response = await client.get("/readyz")
    await redis.aclose()
    mongodb.close()
    assert (response.status, response.error) == (503, expected)

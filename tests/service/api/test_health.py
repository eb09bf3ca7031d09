"""`/healthz` and `/readyz`: liveness, degraded parts, and what can still be served."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from tests.factories import create_link, make_click
from tests.journal.moving import move_journal
from tests.service.api.silence import DEAD, silence
from tests.waiting import PATIENCE_SECONDS
from tests.web.client import Client
from tests.web.world import World
from tracker.errors import Unavailable
from tracker.loops import cancel_and_wait
from tracker.service.api.readiness import why_unready
from tracker.service.services import Services
from tracker.stores.mongodb.database import MongoDB
from tracker.stores.redis import clients

NOTHING = "visitors and postbacks cannot be served"
NO_POSTBACKS = "postbacks cannot be served"
MEMORY = "only links and postback keys in memory are found"
STOP = "the process stops, and serves what still arrives"


Ready = dict[str, object]


@asynccontextmanager
async def without(services: Services, *stores: str, address: str = DEAD) -> AsyncIterator[None]:
    """Move the named `stores` of the services to `address`, where nothing answers."""
    redis = clients.redis_for_requests(f"redis://{address}")
    mongodb = MongoDB(f"mongodb://{address}/?directConnection=true", "tracker")
    with pytest.MonkeyPatch.context() as patched:
        if "redis" in stores:
            patched.setattr(services, "stores", services.stores._replace(redis=redis))
            move_journal(services.journal.journal, redis, patched)
        if "mongodb" in stores:
            patched.setattr(services, "stores", services.stores._replace(mongodb=mongodb))
        yield
    await redis.aclose()
    await mongodb.close()


async def test_a_process_that_answers_is_alive_and_ready(client: Client) -> None:
    for path in ("/healthz", "/livez"):
        alive = await client.get(path)
        assert (alive.status, alive.json()["status"]) == (200, "ok")
    ready = await client.get("/readyz")
    assert (ready.status, ready.json()) == (200, {"status": "ready"})


@pytest.mark.parametrize(
    ("degraded", "expected"),
    [
        ([], []),
        (["redis"], []),
        (["spool"], []),
        (["mongodb"], []),
        (["indexes", "loops"], []),
        (["mongodb", "indexes", "spool", "loops"], []),
        (["redis", "spool"], [NOTHING]),
        (["redis", "spool", "mongodb", "event_ids", "stop"], [NOTHING]),
        (["redis", "mongodb"], [MEMORY]),
        (["redis", "mongodb", "event_ids"], [MEMORY, NO_POSTBACKS]),
        (["mongodb", "event_ids"], [NO_POSTBACKS]),
        (["stop"], [STOP]),
        (["stop", "redis", "mongodb"], [STOP, MEMORY]),
    ],
)
def test_the_degraded_parts_decide_what_cannot_be_served(
    degraded: list[str], expected: list[str]
) -> None:
    assert why_unready(dict.fromkeys(degraded, "so")) == "; ".join(expected)


async def test_while_redis_is_unavailable_visitors_are_served(
    services: Services, client: Client
) -> None:
    async with without(services, "redis"):
        await services.journal.journal.append(make_click())
        waiting = services.journal.journal.spool.bytes_waiting
        response = await client.get("/readyz")
    assert waiting > 0
    expected: Ready = {"status": "degraded", "degraded": {"redis": "no answer"}}
    assert (response.status, response.json()) == (200, expected | {"spool_bytes": waiting})
    response = await client.get("/readyz")
    assert (response.status, response.json()) == (200, {"status": "ready", "spool_bytes": waiting})
    assert await services.journal.journal.replay_once() == 1
    response = await client.get("/readyz")
    assert (response.status, response.json()) == (200, {"status": "ready"})


async def test_a_full_redis_is_degraded_although_it_answers_ping(
    services: Services, client: Client
) -> None:
    await services.stores.redis.config_set("maxmemory", 1)
    try:
        assert await services.stores.redis.ping()
        response = await client.get("/readyz")
    finally:
        await services.stores.redis.config_set("maxmemory", 0)
    assert response.json()["degraded"] == {"redis": "full: it refuses writes"}


async def test_a_replica_is_degraded_although_it_answers_ping(
    services: Services, client: Client
) -> None:
    await services.stores.redis.replicaof("127.0.0.1", "1")
    try:
        assert await services.stores.redis.ping()
        response = await client.get("/readyz")
    finally:
        await services.stores.redis.replicaof("NO", "ONE")
    assert response.json()["degraded"] == {"redis": "refuses writes: READONLY"}


@pytest.mark.usefixtures("short_patience")
async def test_while_mongodb_is_unavailable_visitors_and_postbacks_are_served(
    services: Services, client: Client
) -> None:
    await services.conversions.event_ids.start()
    async with without(services, "mongodb"):
        response = await client.get("/readyz")
    expected: Ready = {"status": "degraded", "degraded": {"mongodb": "no answer"}}
    assert (response.status, response.json()) == (200, expected)


@pytest.mark.usefixtures("short_patience")
async def test_without_event_ids_postbacks_cannot_be_served(
    services: Services, client: Client
) -> None:
    async with without(services, "mongodb"):
        response = await client.get("/readyz")
        assert (await client.get("/livez")).status == 200
    assert response.status == 503
    assert response.error == (
        "postbacks cannot be served; mongodb: no answer; "
        "event_ids: none left, and MongoDB has to give more"
    )
    assert "Retry-After" not in response.headers


@pytest.mark.usefixtures("short_patience")
async def test_a_process_that_only_drains_is_never_unready(
    services: Services, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(services, "serves", False)
    async with without(services, "redis", "mongodb"):
        response = await client.get("/readyz")
    expected: Ready = {"redis": "no answer", "mongodb": "no answer"}
    assert (response.status, response.json()["degraded"]) == (200, expected)


@pytest.mark.usefixtures("short_patience")
async def test_stores_that_never_answer_are_named_in_time(
    services: Services, client: Client
) -> None:
    await services.conversions.event_ids.start()
    async with silence() as address, without(services, "redis", "mongodb", address=address):
        response = await asyncio.wait_for(client.get("/readyz"), PATIENCE_SECONDS)
    assert response.status == 503
    assert response.error.startswith(f"{MEMORY}; redis: no answer; ")


@pytest.mark.parametrize("cause", ["full", "not writable"])
async def test_without_redis_and_spool_nothing_can_be_served(
    services: Services, client: Client, monkeypatch: pytest.MonkeyPatch, cause: str
) -> None:
    folder = services.journal.journal.spool._folder
    if cause == "full":
        monkeypatch.setattr(folder, "_max_bytes", 0)
    else:
        blocked = folder.path.parent / "file"
        blocked.write_text("where a folder should be")
        monkeypatch.setattr(folder, "path", blocked / "spool")
        with pytest.raises(Unavailable):
            async with without(services, "redis"):
                await services.journal.journal.append(make_click())
    async with without(services, "redis"):
        response = await client.get("/readyz")
    assert response.status == 503
    assert response.error.startswith("visitors and postbacks cannot be served; redis: no answer; ")
    assert "spool: " in response.error


async def test_a_loop_that_does_not_run_is_named(services: Services, client: Client) -> None:
    failed = asyncio.Event()

    async def fail() -> None:
        failed.set()
        raise RuntimeError("the handler is closed")

    task = services.loops.start("replay", fail, asyncio.Event())
    await failed.wait()
    response = await client.get("/readyz")
    await cancel_and_wait(task)
    expected: Ready = {"status": "degraded", "degraded": {"loops": "replay (RuntimeError)"}}
    assert (response.status, response.json()) == (200, expected)


async def test_visitors_are_served_before_mongodb_has_its_indexes(
    services: Services, client: Client
) -> None:
    services.prepared.clear()
    response = await client.get("/readyz")
    expected: Ready = {"status": "degraded", "degraded": {"indexes": "not made yet"}}
    assert (response.status, response.json()) == (200, expected)


@pytest.mark.usefixtures("short_patience")
async def test_without_both_stores_visitors_of_links_in_memory_are_served(world: World) -> None:
    path = f"/c/{(await create_link(world.services, world.account.id)).slug}"
    assert (await world.client.get(path)).status == 302
    async with without(world.services, "redis", "mongodb"):
        assert (await world.client.get(path)).status == 302
        response = await world.client.get("/readyz")
    assert response.status == 503
    assert response.error.startswith(f"{MEMORY}; ")
    assert world.services.journal.journal.spool.bytes_waiting > 0


async def test_a_process_that_stops_says_so_and_that_it_still_serves(
    services: Services, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(services, "is_stopping", True)
    response = await client.get("/readyz")
    assert (response.status, response.error) == (503, f"{STOP}; stop: begun")

"""A Redis Cluster: every command finds its server, also after slots or primaries have moved."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from redis.exceptions import MovedError, RedisError

from lab.redis_cluster import client_of
from tests.stores.redis.own_cluster import OwnCluster, own_cluster
from tests.stores.redis.own_redis import own_redis, unavailable_redis
from tests.waiting import PATIENCE_SECONDS
from tracker.stores.redis import clients, keys
from tracker.stores.redis.cluster import ClusterRedis, server_of, servers
from tracker.stores.redis.command_connection import RedisCommandConnection
from tracker.stores.redis.hash_slots import Address, SlotMap, slot_of
from tracker.stores.redis.topology import Topology
from tracker.stores.startup import checks
from tracker.stores.startup.diagnosis import StoreUnavailable, UnusableStore
from tracker.stores.startup.redis_advice import redis_advice

pytestmark = pytest.mark.redis

NAMES = [f"name{number}" for number in range(20)]


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[OwnCluster]:
    with own_cluster(tmp_path_factory.mktemp("cluster")) as running:
        yield running


@asynccontextmanager
async def client_for(cluster: OwnCluster) -> AsyncIterator[ClusterRedis]:
    client = clients.redis_for_requests(cluster.url)
    assert isinstance(client, ClusterRedis)
    try:
        yield client
    finally:
        await client.aclose()


@pytest.fixture
def moved(cluster: OwnCluster) -> Iterator[str]:
    """Yield a key whose slot is on its way to another server while the test runs."""
    key = "moved"
    source = cluster.primary_of(key)
    target = next(one for one in cluster.servers if one is not source)
    with client_of(source.port) as old, client_of(target.port) as new:
        ids = [one.execute_command("CLUSTER", "MYID").decode() for one in (old, new)]
        new.execute_command("CLUSTER", "SETSLOT", slot_of(key), "IMPORTING", ids[0])
        old.execute_command("CLUSTER", "SETSLOT", slot_of(key), "MIGRATING", ids[1])
        yield key
        new.execute_command("ASKING")
        new.delete(key)
        for one in (new, old):
            one.execute_command("CLUSTER", "SETSLOT", slot_of(key), "STABLE")


def finish(cluster: OwnCluster, key: str, to: Any) -> None:
    """Let every server know that the slot of `key` is at another."""
    with client_of(to.port) as client:
        owner = client.execute_command("CLUSTER", "MYID").decode()
        # Else an older message of the former owner, whose epoch may be higher, takes it back.
        client.execute_command("CLUSTER", "BUMPEPOCH")
    for one in (to, *cluster.servers):
        with client_of(one.port) as client:
            client.execute_command("CLUSTER", "SETSLOT", slot_of(key), "NODE", owner)


async def test_commands_pipelines_and_scripts_find_the_server_of_their_key(
    cluster: OwnCluster,
) -> None:
    async with client_for(cluster) as client:
        script = client.register_script("return redis.call('GET', KEYS[1]) .. ARGV[1]")
        pipeline = client.pipeline(transaction=False)
        for name in NAMES:
            pipeline.set(name, name)
        assert await pipeline.execute() == [True] * len(NAMES)
        assert [await client.get(name) for name in NAMES] == [name.encode() for name in NAMES]
        assert await script(keys=[NAMES[0]], args=["!"]) == b"name0!"
        assert await script(keys=[NAMES[1]], args=["!"]) == b"name1!"
    for name in NAMES:
        with client_of(cluster.primary_of(name).port) as one:
            assert one.get(name) == name.encode()


async def test_a_pipeline_reports_each_error_at_its_place(cluster: OwnCluster) -> None:
    async with client_for(cluster) as client:
        await client.set(NAMES[0], "text")
        pipeline = client.pipeline(transaction=False)
        pipeline.incr(NAMES[0])
        pipeline.exists(NAMES[1])
        refused, answered = await pipeline.execute(raise_on_error=False)
        assert "not an integer" in str(refused)
        assert answered in (0, 1)
        pipeline.incr(NAMES[0])
        with pytest.raises(RedisError, match="not an integer"):
            await pipeline.execute()


async def test_a_key_whose_slot_is_on_its_way_is_found_where_it_is(
    cluster: OwnCluster, moved: str
) -> None:
    async with client_for(cluster) as client:
        await client.set(moved, 1)  # ASK: it is not there yet
        pipeline = client.pipeline(transaction=False)
        pipeline.get(moved)
        pipeline.get(NAMES[0])
        assert (await pipeline.execute())[0] == b"1"


async def test_a_slot_that_has_moved_is_followed_at_once(cluster: OwnCluster) -> None:
    key = "followed"
    source = cluster.primary_of(key)
    target = next(one for one in cluster.servers if one is not source)
    async with client_for(cluster) as client:
        direct = RedisCommandConnection(client, key)
        assert await direct.execute("DEL", key) == 0
        assert (await (await server_of(client, key)).info("server"))["tcp_port"] == source.port
        finish(cluster, key, target)
        try:
            assert await direct.execute("SET", key, "1") == b"OK"
            assert await client.get(key) == b"1"
            pipeline = client.pipeline(transaction=False)
            pipeline.get(key)
            assert await pipeline.execute() == [b"1"]
            assert await client.delete(key) == 1
        finally:
            finish(cluster, key, source)
        assert await direct.execute("DEL", key) == 0


@asynccontextmanager
async def late_answers(
    cluster: OwnCluster, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[tuple[ClusterRedis, asyncio.Event, asyncio.Task[None]]]:
    """Yield a client that has asked for the slots, an event that lets it read the answers, and
    the task that reads them."""
    answered, released = asyncio.Semaphore(0), asyncio.Event()
    ask = Topology._ask

    async def ask_and_wait(topology: Topology, address: Address) -> SlotMap:
        answer = await ask(topology, address)
        answered.release()
        await released.wait()
        return answer

    async with client_for(cluster) as client:
        await client.get(NAMES[0])
        monkeypatch.setattr(Topology, "_ask", ask_and_wait)
        client.topology.refresh()
        learning = client.topology._learning
        assert learning is not None
        for _ in cluster.servers:
            await answered.acquire()
        yield client, released, learning


async def test_a_move_is_not_forgotten_for_older_answers(
    cluster: OwnCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    key = "overtaken"
    source = cluster.primary_of(key)
    target = next(one for one in cluster.servers if one is not source)
    async with late_answers(cluster, monkeypatch) as (client, released, learning):
        finish(cluster, key, target)
        try:
            assert await client.set(key, "1")
            released.set()
            await learning
            assert (await (await server_of(client, key)).info("server"))["tcp_port"] == target.port
            assert await client.delete(key) == 1
        finally:
            finish(cluster, key, source)


async def test_a_server_that_got_its_first_slot_is_not_closed_for_older_answers(
    cluster: OwnCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is in none of them, and the command that MOVED sent to it is under way."""
    newest = ("127.0.0.1", 1)
    async with late_answers(cluster, monkeypatch) as (client, released, learning):
        client.topology.handle_redirect(MovedError(f"{slot_of(NAMES[0])} {newest[0]}:{newest[1]}"))
        asked = client.topology.server(newest)
        released.set()
        await learning
        assert await server_of(client, NAMES[0]) is asked


async def test_all_servers_are_known_from_one(cluster: OwnCluster) -> None:
    async with client_for(OwnCluster(cluster.servers[:1])) as client:
        found = [(await one.info("server"))["tcp_port"] for one in await servers(client)]
        assert sorted(found) == sorted(one.port for one in cluster.servers)
        await checks.check_redis(client)
        assert await redis_advice(client) == []


async def test_an_address_without_a_cluster_is_diagnosed(tmp_path: Path) -> None:
    with own_redis(tmp_path / "alone") as alone:
        for url, fault, line in (
            (alone.url, UnusableStore, "begin it with redis://"),
            (unavailable_redis(), StoreUnavailable, "Redis cannot be used"),
        ):
            address = url.replace("redis://", "redis+cluster://").removesuffix("/0")
            async with clients.redis_for_requests(address) as client:
                with pytest.raises(fault, match=line):
                    await checks.check_redis(client)


async def test_what_is_published_is_heard_at_the_server_of_the_channel(
    cluster: OwnCluster,
) -> None:
    async with client_for(cluster) as client:
        server = await server_of(client, keys.CHANGES)
        async with server.pubsub() as subscription:
            await subscription.subscribe(keys.CHANGES)
            async with asyncio.timeout(PATIENCE_SECONDS):
                while await subscription.get_message(timeout=1) is None:
                    pass
                assert await client.publish(keys.CHANGES, "x") == 1
                while (message := await subscription.get_message(timeout=1)) is None:
                    pass
        assert message["data"] == b"x"

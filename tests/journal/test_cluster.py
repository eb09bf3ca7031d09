"""The journal in a Redis Cluster: nothing waits for a server that is away, and nothing is lost."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from redis.exceptions import RedisError

from tests.factories import make_click, make_conversion
from tests.stores.redis.own_cluster import OwnCluster, own_cluster
from tests.waiting import PATIENCE_SECONDS
from tracker.ingest.record import ENTRY_DECODER
from tracker.journal.appender import LAST, OPEN, Claim
from tracker.journal.cluster_journal import ClusterJournal
from tracker.journal.dead_letters import DeadLetters
from tracker.journal.journal import Journal
from tracker.journal.partitions import partition_of_transaction_id
from tracker.journal.spool import Spool
from tracker.stores.breaker import Breaker
from tracker.stores.redis import clients, keys
from tracker.stores.redis.cluster import ClusterRedis

pytestmark = pytest.mark.redis

PARTITIONS = 8


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[OwnCluster]:
    with own_cluster(tmp_path / "cluster", replicas=True) as running:
        yield running


@asynccontextmanager
async def journal_in(
    cluster: OwnCluster, folder: Path, replicas: int = 0
) -> AsyncIterator[tuple[Journal, ClusterRedis]]:
    client = clients.redis_for_requests(cluster.url)
    assert isinstance(client, ClusterRedis)
    spool = Spool(folder / "spool", 1024**3)
    journal = ClusterJournal(client, Breaker(), spool, PARTITIONS, replicas)
    try:
        yield journal, client
    finally:
        await journal.close()
        await client.aclose()


async def ids_in(client: Any) -> set[bytes | int]:
    found: set[bytes | int] = set()
    for stream in keys.streams(PARTITIONS):
        for _, fields in await client.xrange(stream):
            found |= {one.id for one in ENTRY_DECODER.decode(fields)}
    return found


def transaction_at(cluster: OwnCluster, server: Any) -> str:
    """Return a transaction id whose partition is on a server."""
    return next(
        name
        for name in (f"T-{number}" for number in range(1000))
        if cluster.primary_of(keys.journal(partition_of_transaction_id(name, PARTITIONS))) is server
    )


async def test_the_claim_of_a_click_is_on_the_server_of_its_stream(
    cluster: OwnCluster, tmp_path: Path
) -> None:
    async with journal_in(cluster, tmp_path, replicas=1) as (journal, client):
        clicks = [make_click(link_id=UUID(int=number).bytes) for number in range(40)]
        holders: list[int | None] = []
        for number, click in enumerate(clicks * 2):
            is_limited = number % 2 == 1
            names = (keys.page_click(f"{number % 40}", journal.claim_tag(click, is_limited)),)
            claim = Claim(names, LAST + 1 + number, 60)
            if is_limited:
                appended = journal.append_limited(click, True, 9, 1, 1, "0", claim=claim)
                holders.append(await appended)
            else:
                holders.append(await journal.append_click_once(click, claim))
        assert holders[1:40:2] == [OPEN] * 20
        assert holders[40:] == [LAST + 1 + number for number in range(40)]
        entries = [await client.xlen(stream) for stream in keys.streams(PARTITIONS)]
        assert sum(entries) == len(clicks)


async def test_while_a_server_is_away_its_records_go_to_others_and_all_are_kept(
    cluster: OwnCluster, tmp_path: Path
) -> None:
    async with journal_in(cluster, tmp_path, replicas=1) as (journal, client):
        clicks = [make_click(link_id=UUID(int=number).bytes) for number in range(100)]
        await asyncio.gather(*map(journal.append, clicks[:50]))
        assert not journal.spool.bytes_waiting
        away = cluster.servers[0]
        name = transaction_at(cluster, away)
        event = make_conversion(1, transaction_id=name)
        partition = partition_of_transaction_id(name, PARTITIONS)
        claim = Claim((keys.transaction_claim(UUID(int=1), name, partition),), event.id)
        assert await journal.append_once(event, claim) == event.id
        assert await journal.append_once(make_conversion(2, transaction_id=name), claim) == event.id
        away.kill()
        await asyncio.gather(*map(journal.append, clicks[50:]))
        undecided = make_conversion(3, transaction_id=name)
        claim = claim._replace(holder=undecided.id)
        assert await journal.append_once(undecided, claim) in (None, event.id)
        following = asyncio.create_task(client.topology.follow())
        async with asyncio.timeout(PATIENCE_SECONDS):
            while True:
                try:
                    kept = await ids_in(client)
                    break
                except RedisError:
                    await asyncio.sleep(0.05)
        following.cancel()
        assert {one.id for one in clicks} | {event.id} <= kept


async def test_dead_letters_are_with_their_stream_and_replayed_to_it(
    cluster: OwnCluster, tmp_path: Path
) -> None:
    async with journal_in(cluster, tmp_path) as (_, client):
        letters = DeadLetters(client, ENTRY_DECODER)
        streams = [keys.JOURNAL, keys.journal(2), keys.OVERFLOW]
        for stream in streams:
            await letters.add(stream, b"1-1", {b"1": b"x"}, "so")
        read = await letters.read_after(None, 10)
        assert [one.id.partition("/")[0] for one in read] == ["journal", "2", "journal:overflow"]
        assert [one.id for one in await letters.read_after(read[0].id, 10)] == [
            one.id for one in read[1:]
        ]
        assert not await letters.replay("2/0-1")
        assert not await letters.drop("of nobody/0-1")
        assert await letters.replay(read[1].id)
        assert [await client.xlen(stream) for stream in streams] == [0, 1, 0]
        assert await letters.drop(read[2].id)
        await letters.add(keys.JOURNAL, b"1-2", {b"1": b"x"}, "so")
        assert sum([moved async for moved in letters.replay_all()]) == 2
        assert await letters.count() == 0
        await letters.add(keys.journal(1), b"1-2", {b"1": b"x"}, "so")
        assert await letters.drop_all() == 1

"""A limit of clicks is exact on one Redis, behind sentinels and in a cluster, through failovers."""

import asyncio
import contextlib
from pathlib import Path
from uuid import UUID

import pytest
from redis.exceptions import RedisError

from tests.journal.limited import LIMIT, LimitedLink
from tests.journal.spooling import journal_at
from tests.stores.redis.own_cluster import own_cluster
from tests.stores.redis.own_redis import OwnRedis
from tests.stores.redis.own_sentinel import replicated
from tests.waiting import PATIENCE_SECONDS
from tracker.journal.cluster_journal import ClusterJournal
from tracker.journal.journal import Journal
from tracker.journal.partitions import partition_of
from tracker.journal.spool import Spool
from tracker.loops import cancel_and_wait
from tracker.stores.breaker import Breaker
from tracker.stores.redis import clients, keys
from tracker.stores.redis.cluster import ClusterRedis
from tracker.stores.redis.hash_slots import slot_of

pytestmark = pytest.mark.redis

PARTITIONS = 8


async def test_through_kills_of_redis_as_many_are_stored_as_the_limit_says(
    server: OwnRedis, tmp_path: Path
) -> None:
    link = LimitedLink()
    async with journal_at(server.url, tmp_path) as (journal, redis):
        clicks = link.limited_by(journal)
        draining = asyncio.create_task(link.keep_draining(redis))
        for _ in range(3):
            assert await link.visits(clicks, 5) == ["destination"] * 5
            visiting = asyncio.create_task(link.visits(clicks, 5))
            await asyncio.sleep(0)
            server.kill()
            assert set(await visiting) <= {"destination", "unavailable"}
            server.start()
            async with asyncio.timeout(PATIENCE_SECONDS):
                while "destination" not in await link.visits(clicks, 1):
                    await asyncio.sleep(0.01)
        await link.visits_until_used_up(clicks)
        await cancel_and_wait(draining)
        await link.drain(redis)
        assert not journal.spool.bytes_waiting
    assert (len(link.stored), link.answered <= link.stored) == (LIMIT, True)


async def test_a_change_of_the_number_of_partitions_keeps_the_counter(
    server: OwnRedis, tmp_path: Path
) -> None:
    link = LimitedLink()
    for partitions in (1, 4, 7):
        async with journal_at(server.url, tmp_path, partitions=partitions) as (journal, _):
            await link.visits(link.limited_by(journal), 30)
    assert len(link.answered) == LIMIT


async def test_a_failover_that_loses_what_drains_have_stored_opens_nothing_again(
    tmp_path: Path,
) -> None:
    """It takes clicks that its replica never gets: they are stored, but redirect nobody."""
    link = LimitedLink()
    with replicated(tmp_path) as servers:
        async with clients.redis_for_requests(servers.url) as redis:
            spool = Spool(tmp_path / "spool", 1024**3)
            journal = Journal(redis, Breaker(), spool, replicas=1)
            clicks = link.limited_by(journal)
            assert await link.visits(clicks, 20) == ["destination"] * 20
            servers.second.freeze()
            assert await link.visits(clicks, 15) == ["unavailable"] * 15
            await link.drain(redis, skip=20)
            assert len(link.stored) == 15
            servers.first.kill()
            servers.second.thaw()
            journal._appender._replicas = 0  # the new primary has none
            async with asyncio.timeout(PATIENCE_SECONDS):
                while True:
                    with contextlib.suppress(RedisError):
                        assert await link.visits(clicks, 1) == ["unavailable"]
                        if await redis.hexists(keys.used_clicks(link.id.bytes), "last"):
                            break
                await link.drain(redis)
                await link.visits_until_used_up(clicks)
            await link.drain(redis)
            await journal.close()
    assert len(link.answered) == LIMIT - 15
    assert (len(link.stored), link.answered <= link.stored) == (LIMIT, True)


async def test_in_a_cluster_only_links_of_the_server_that_is_away_wait_for_its_failover(
    tmp_path: Path,
) -> None:
    with own_cluster(tmp_path / "cluster", replicas=True) as cluster:
        away = cluster.primary_of(keys.journal(1))
        of_partition: dict[int, LimitedLink] = {}
        for number in range(1000):
            partition = partition_of(UUID(int=number).bytes, PARTITIONS)
            of_partition.setdefault(partition, LimitedLink(UUID(int=number)))
        link = of_partition[1]
        other = next(
            one
            for partition, one in of_partition.items()
            if cluster.primary_of(keys.journal(partition)) is not away
        )
        client = clients.redis_for_requests(cluster.url)
        assert isinstance(client, ClusterRedis)
        spool = Spool(tmp_path / "spool", 1024**3)
        journal = ClusterJournal(client, Breaker(), spool, PARTITIONS, replicas=1)
        clicks, others = link.limited_by(journal), other.limited_by(journal)
        assert await link.visits(clicks, 20) == ["destination"] * 20
        await link.drain(client, 1)
        # A client that has missed the move of a slot is told, and asks the new server once.
        slot, owners = slot_of(keys.journal(1)), client.topology._owners
        owners[slot] = next(one for one in owners if one != owners[slot])
        journal._appenders[1]._limiting._dedicated = None
        assert await link.visits(clicks, 10) == ["destination"] * 10
        away.kill()
        assert set(await link.visits(clicks, 5)) == {"unavailable"}
        assert await other.visits(others, 5) == ["destination"] * 5
        journal._appenders[1]._replicas = 0  # the new primary has none
        following = asyncio.create_task(client.topology.follow())
        draining = asyncio.create_task(link.keep_draining(client, 1))
        async with asyncio.timeout(PATIENCE_SECONDS):
            await link.visits_until_used_up(clicks)
        await cancel_and_wait(draining)
        await link.drain(client, 1)
        await cancel_and_wait(following)
        await journal.close()
        await client.aclose()
    assert (len(link.stored), link.answered <= link.stored) == (LIMIT, True)
    assert len(link.answered) == LIMIT

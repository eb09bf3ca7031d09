"""With sentinels the service follows the primary, and loses nothing that replicas have."""

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from redis.exceptions import RedisError

from config.redis_address import sentinel_address
from tests.factories import make_click, make_conversion
from tests.ports import free_port
from tests.stores.redis.own_redis import closing_redis
from tests.stores.redis.own_sentinel import Replicated, replicated
from tests.waiting import PATIENCE_SECONDS, becomes
from tracker.ingest.record import ENTRY_DECODER
from tracker.journal.appender import Claim
from tracker.journal.journal import Journal
from tracker.journal.spool import Spool
from tracker.loops import cancel_and_wait
from tracker.stores.breaker import Breaker
from tracker.stores.redis import clients, keys
from tracker.stores.redis.clients import redis_for_requests
from tracker.stores.redis.pool import Generation
from tracker.stores.redis.sentinels import Sentinels
from tracker.stores.startup import checks
from tracker.stores.startup.diagnosis import StoreUnavailable
from tracker.stores.startup.redis_advice import redis_advice

pytestmark = pytest.mark.redis

ATTEMPTS = 1500
"""uvloop raises RuntimeError for one connection in a hundred that is closed at once."""


@pytest.fixture
def servers(tmp_path: Path) -> Iterator[Replicated]:
    with replicated(tmp_path) as running:
        yield running


async def written(client: Any) -> None:
    """Write as soon as there is a primary that takes it."""
    async with asyncio.timeout(PATIENCE_SECONDS):
        while True:
            try:
                await clients.check_writable(client)
            except RedisError:
                await asyncio.sleep(0.01)
            else:
                return


async def ids_in(client: Any) -> set[bytes | int]:
    rows = await client.xrange(keys.JOURNAL)
    return {one.id for _, fields in rows for one in ENTRY_DECODER.decode(fields)}


async def test_connections_go_to_the_primary_before_and_after_a_failover(
    servers: Replicated,
) -> None:
    async with redis_for_requests(servers.url) as client:
        await client.set("a", 1)
        assert (await client.info("server"))["tcp_port"] == servers.first.port
        servers.first.kill()
        await written(client)
        assert (await client.info("server"))["tcp_port"] == servers.second.port


async def test_after_a_demotion_no_connection_stays_with_the_old_primary(
    servers: Replicated,
) -> None:
    generation = Generation()
    async with (
        redis_for_requests(servers.url, generation) as client,
        clients.redis_for_blocking(servers.url, generation) as waiting,
    ):
        await waiting.set("a", 1)
        following = asyncio.create_task(clients.follow(client))
        servers.fail_over()
        await becomes(lambda: port_of(client), servers.second.port)
        await cancel_and_wait(following)
        await written(waiting)
        assert await port_of(waiting) == servers.second.port


async def port_of(client: Any) -> int:
    """Return the port of the server that answers, 0 if none does."""
    try:
        return int((await client.info("server"))["tcp_port"])
    except RedisError:
        return 0


async def test_a_primary_that_dies_with_what_a_replica_lacks_loses_no_answered_click(
    servers: Replicated, tmp_path: Path
) -> None:
    async with redis_for_requests(servers.url) as client:
        spool = Spool(tmp_path / "spool", 1024**3)
        journal = Journal(client, Breaker(), spool, replicas=1)
        answered = [make_click() for _ in range(50)]
        await asyncio.gather(*map(journal.append, answered))
        servers.second.freeze()
        late = [make_click() for _ in range(50)]
        await asyncio.gather(*map(journal.append, late))
        assert journal.spool.bytes_waiting
        event = make_conversion(1, transaction_id="T-1")
        claim = Claim((keys.transaction_claim(UUID(int=1), "T-1"),), event.id)
        assert await journal.append_once(event, claim) is None
        before = await client.xlen(keys.JOURNAL)
        for _ in range(2):
            assert await journal.replay_once() == 0
        assert await client.xlen(keys.JOURNAL) == before, "sent again while none would have it"
        servers.first.kill()
        servers.second.thaw()
        async with asyncio.timeout(PATIENCE_SECONDS):
            while await journal.replay_once() == 0 or journal.spool.bytes_waiting:
                await asyncio.sleep(0.01)
                journal._appender._replicas = 0  # the new primary has none
        assert {one.id for one in (*answered, *late)} <= await ids_in(client)
        await journal.close()


async def test_a_repeated_event_is_not_answered_while_too_few_replicas_have_the_first(
    servers: Replicated, tmp_path: Path
) -> None:
    async with redis_for_requests(servers.url) as client:
        [first, second] = [
            Journal(client, Breaker(), Spool(tmp_path / name, 1024**3), replicas=1)
            for name in ("first", "second")
        ]
        claims = (keys.transaction_claim(UUID(int=1), "T-1"),)
        event = make_conversion(1, transaction_id="T-1")
        servers.second.freeze()
        assert await first.append_once(event, Claim(claims, 1)) is None
        assert await second.append_once(event, Claim(claims, 2)) is None
        assert await client.ttl(*claims) > 600_000
        servers.second.thaw()
        await written(client)
        await first.close()
        await second.close()


async def test_replicas_that_are_not_waited_for_and_a_wrong_name_are_reported_at_start(
    servers: Replicated,
) -> None:
    async with redis_for_requests(servers.url) as client:
        [advice] = await redis_advice(client)
        assert "JOURNAL_REPLICAS is 0" in advice
        assert await redis_advice(client, replicas=1) == []
        [advice] = await redis_advice(client, replicas=2)
        assert "Redis has 1 replicas" in advice
    async with redis_for_requests(servers.url.replace("/primary", "/other")) as client:
        with pytest.raises(StoreUnavailable, match="other"):
            await checks.check_redis(client)


def sentinels_of(servers: Replicated, other_port: int) -> Sentinels:
    """Return the sentinels of an address that names another one first."""
    url = servers.url.replace("//", f"//127.0.0.1:{other_port},")
    address = sentinel_address(url)
    assert address is not None
    return Sentinels(address)


async def test_a_sentinel_that_did_not_answer_is_asked_again_when_others_do_not(
    servers: Replicated,
) -> None:
    asked = asyncio.Event()

    async def answer(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        asked.set()
        writer.close()

    port = free_port()
    sentinels = sentinels_of(servers, port)
    found = await asyncio.gather(*(sentinels.primary() for _ in range(10)))
    assert set(found) == {("127.0.0.1", servers.first.port)}
    servers.sentinel.kill()
    async with await asyncio.start_server(answer, "127.0.0.1", port):
        with pytest.raises(RedisError):
            await sentinels.primary()
        await asyncio.wait_for(asked.wait(), PATIENCE_SECONDS)
    await sentinels.close()


async def test_the_next_sentinel_is_asked_if_one_closes_connections_at_once(
    servers: Replicated,
) -> None:
    with closing_redis() as port:
        for _ in range(ATTEMPTS):
            sentinels = sentinels_of(servers, port)
            assert await sentinels.primary() == ("127.0.0.1", servers.first.port)
            await sentinels.close()

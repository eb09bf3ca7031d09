"""The journal in several streams: each record has its own, and nothing depends on it."""

from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from redis.asyncio import Redis
from redis.crc import key_slot

from config.settings import Settings
from tests.factories import make_click, make_conversion
from tests.journal.spooling import journal_at
from tests.stores.redis.own_redis import OwnRedis
from tracker.clicks.click import Click
from tracker.conversions.conversion import Conversion
from tracker.ids import new_id
from tracker.ingest.record import ENTRY_DECODER, Record
from tracker.journal.appender import Claim
from tracker.journal.backlog import Backlog
from tracker.journal.partitions import others_after, partition_of, partition_of_transaction_id
from tracker.stores.redis import keys

pytestmark = pytest.mark.redis

PARTITIONS = 4


@pytest.mark.parametrize(
    ("stream", "partitions", "others"),
    [(0, 4, [1, 2, 3]), (2, 4, [3, 0, 1]), (4, 4, [0, 1, 2, 3]), (0, 1, []), (1, 1, [0])],
)
def test_every_other_partition_may_take_what_a_stream_cannot(
    stream: int, partitions: int, others: list[int]
) -> None:
    assert others_after(stream, partitions) == others


async def streamed(redis: Redis) -> list[list[Record]]:
    """Return the records of each partition."""
    found = []
    for number in range(PARTITIONS):
        rows: Any = await redis.xrange(keys.journal(number))
        found.append([one for _, fields in rows for one in ENTRY_DECODER.decode(fields)])
    return found


@pytest.mark.parametrize(
    ("partition_key", "partitions", "expected"),
    [(b"", 4, 0), (b"a", 4, 3), (b"a", 64, 3), (b"b", 64, 57), (bytes(16), 2, 1), (b"a", 1, 0)],
)
def test_a_partition_is_the_same_in_every_process_and_release(
    partition_key: bytes, partitions: int, expected: int
) -> None:
    assert partition_of(partition_key, partitions) == expected


@pytest.mark.parametrize("partition", range(PARTITIONS))
def test_claims_have_the_hash_slot_of_the_stream_that_their_events_are_appended_to(
    partition: int,
) -> None:
    claim = keys.transaction_claim(new_id(), "order 1", partition)
    assert key_slot(claim.encode()) == key_slot(keys.journal(partition).encode())


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"transaction_id": "T-1", "click_id": bytes(16)}, b"T-1"),
        ({"click_id": bytes(16)}, bytes(16)),
        ({}, (7).to_bytes(8)),
    ],
)
def test_an_event_is_spread_by_its_transaction_id_then_by_its_click(
    fields: dict[str, Any], expected: bytes
) -> None:
    assert make_conversion(7, **fields).partition_key == expected


async def test_clicks_of_a_link_are_in_one_partition(settings: Settings, tmp_path: Path) -> None:
    links = [new_id().bytes for _ in range(40)]
    async with journal_at(settings.redis_url, tmp_path, partitions=PARTITIONS) as (built, redis):
        for _ in range(3):
            for link_id in links:
                await built.append(make_click(link_id=link_id))
        found = await streamed(redis)
        assert await Backlog(redis, PARTITIONS).measure() != (0, 0)
    for number, records in enumerate(found):
        assert {
            partition_of(one.link_id, PARTITIONS) for one in records if isinstance(one, Click)
        } <= {number}
    assert sum(map(len, found)) == 120
    assert min(map(len, found)) > 0


async def test_a_transaction_id_is_appended_once_in_its_partition(
    settings: Settings, tmp_path: Path
) -> None:
    async with journal_at(settings.redis_url, tmp_path, partitions=PARTITIONS) as (built, redis):
        for number in range(1, 21):
            text = f"order {number}"
            partition = partition_of_transaction_id(text, PARTITIONS)
            claim = (keys.transaction_claim(UUID(int=1), text, partition),)
            event = make_conversion(number, transaction_id=text)
            repeated = make_conversion(100 + number, transaction_id=text)
            assert await built.append_once(event, Claim(claim, event.id)) == number
            assert await built.append_once(repeated, Claim(claim, repeated.id)) == number
            assert await built.holder(claim) == number
        found = await streamed(redis)
    for number, records in enumerate(found):
        texts = [one.transaction_id or "" for one in records if isinstance(one, Conversion)]
        assert {partition_of_transaction_id(one, PARTITIONS) for one in texts} <= {number}
    assert sorted(one.id for records in found for one in records) == list(range(1, 21))


async def test_what_was_spooled_is_spread_over_the_partitions(
    server: OwnRedis, tmp_path: Path
) -> None:
    async with journal_at(server.url, tmp_path, partitions=PARTITIONS) as (built, redis):
        server.kill()
        sent = [make_click() for _ in range(200)]
        for one in sent:
            await built.append(one)
        assert built.spool.bytes_waiting
        server.start()
        while built.spool.bytes_waiting:
            await built.replay_once()
        found = await streamed(redis)
    assert {one.id for records in found for one in records} == {one.id for one in sent}

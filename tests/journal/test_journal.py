"""Appended records are durable when their future is done: in Redis, or on disk while it is down."""

import asyncio
import shutil
from collections.abc import Iterator, MutableMapping, Sequence
from pathlib import Path
from typing import Any
from uuid import UUID

import msgspec
import pytest
import structlog
from redis.asyncio import Redis

from config.settings import Settings
from tests.factories import make_click
from tests.journal.spooling import journal_at
from tests.stores.counted_breaker import CountedBreaker
from tests.stores.redis.own_redis import OwnRedis, hanging_redis
from tests.waiting import PATIENCE_SECONDS, becomes, eventually
from tracker.clicks.click import Click
from tracker.errors import Unavailable
from tracker.ids import new_id
from tracker.journal import journal as module
from tracker.journal.appender import CLAIM_SECONDS, Claim
from tracker.journal.entry import EntryDecoder
from tracker.loops import cancel_and_wait
from tracker.metrics import REGISTRY
from tracker.stores.redis.clients import redis_for_requests
from tracker.stores.redis.keys import JOURNAL, transaction_claim

pytestmark = pytest.mark.redis


def click(number: int) -> Click:
    short = {"link_id": bytes(16), "domain_name": "", "user_agent": "curl/8.0", "referrer": ""}
    return make_click(UUID(int=0), UUID(int=number), query=f"n={number}", **short)


def clicks(*numbers: int) -> list[Click]:
    return [click(number) for number in numbers]


def claim(holder: int, *names: str) -> Claim:
    scope = new_id() if not names else None
    return Claim(names or (transaction_claim(scope or new_id(), "t"),), holder)


async def entries(redis: Redis) -> list[list[Click]]:
    """Return the clicks of each entry of the stream."""
    rows: Any = await redis.xrange(JOURNAL)
    return [EntryDecoder(list[Click]).decode(fields) for _, fields in rows]


async def streamed(redis: Redis) -> list[Click]:
    return [one for entry in await entries(redis) for one in entry]


def spool_files(folder: Path) -> list[Path]:
    return sorted((folder / "spool").glob("*.sqlite"))


async def test_simultaneous_appends_share_entries_and_keep_their_order(
    settings: Settings, tmp_path: Path
) -> None:
    async with journal_at(settings.redis_url, tmp_path) as (built, redis):
        await asyncio.gather(*(built.append(click(number)) for number in range(1200)))
        assert [len(entry) for entry in await entries(redis)] == [500, 500, 200]
        assert await streamed(redis) == clicks(*range(1200))


async def test_a_record_that_cannot_be_encoded_is_an_error_of_its_own(
    settings: Settings, tmp_path: Path
) -> None:
    async with journal_at(settings.redis_url, tmp_path) as (built, redis):
        before = built.append(click(1))
        with pytest.raises(UnicodeEncodeError):
            built.append(msgspec.structs.replace(click(2), query="\ud800"))
        await asyncio.gather(before, built.append(click(3)))
        assert await streamed(redis) == clicks(1, 3)


async def test_without_redis_records_are_spooled_and_later_move_to_the_stream_in_order(
    server: OwnRedis, tmp_path: Path
) -> None:
    async with journal_at(server.url, tmp_path) as (built, redis):
        await built.append(click(0))
        server.kill()
        for number in range(1, 4):
            assert await built.append(click(number)) is None
        (path,) = spool_files(tmp_path)
        assert await built.replay_once() == 0
        assert spool_files(tmp_path) == [path]
        server.start()
        assert await built.replay_once() == 3
        assert await streamed(redis) == clicks(0, 1, 2, 3)
        assert spool_files(tmp_path) == []
        assert await built.replay_once() == 0


async def test_a_spool_that_is_removed_while_redis_is_down_is_written_again_without_an_append(
    server: OwnRedis, tmp_path: Path
) -> None:
    async with journal_at(server.url, tmp_path) as (built, redis):
        server.kill()
        await built.append(click(1))
        shutil.rmtree(tmp_path / "spool")
        replay = asyncio.ensure_future(built.replay())
        await eventually(lambda: spool_files(tmp_path))
        shutil.rmtree(tmp_path / "spool")
        await built.append(click(2))
        server.start()
        await becomes(lambda: streamed(redis), clicks(1, 2))
        await cancel_and_wait(replay)


async def test_a_stop_waits_for_appends_and_moves_spooled_records(
    server: OwnRedis, tmp_path: Path
) -> None:
    async with journal_at(server.url, tmp_path) as (built, _):
        server.kill()
        await built.append(click(1))
        server.start()
        late = built.append(click(2))
    assert late.done()
    async with redis_for_requests(server.url) as redis:
        assert sorted(one.id for one in await streamed(redis)) == [one.id for one in clicks(1, 2)]
    assert spool_files(tmp_path) == []


@pytest.mark.usefixtures("short_patience")
async def test_a_redis_that_freezes_is_waited_for_once_and_is_then_left_alone(
    server: OwnRedis, tmp_path: Path
) -> None:
    breaker = CountedBreaker()
    async with journal_at(server.url, tmp_path, breaker=breaker) as (built, redis):
        await built.append(click(0))
        server.freeze()
        await asyncio.gather(*(built.append(click(number)) for number in range(1, 99)))
        await built.append(click(99))
        assert breaker.failures == 1
        server.thaw()
        assert await built.replay_once() == 2
        ids = {one.id for one in await streamed(redis)}
        assert ids == {one.id for one in clicks(*range(100))}


async def test_a_full_redis_is_answered_from_the_disk_until_it_has_room(
    server: OwnRedis, tmp_path: Path
) -> None:
    async with journal_at(server.url, tmp_path) as (built, redis):
        await redis.config_set("maxmemory", 1)
        await built.append(click(1))
        assert await built.append_once(click(2), claim(2)) is None
        assert await built.replay_once() == 0
        await redis.config_set("maxmemory", 0)
        assert await redis.xlen(JOURNAL) == 0
        assert await redis.keys("transaction:*") == []
        assert await built.replay_once() == 2
        assert await streamed(redis) == clicks(1, 2)


async def test_a_redis_with_less_room_than_the_spool_gets_every_click_once_in_order(
    server: OwnRedis, tmp_path: Path
) -> None:
    large = [msgspec.structs.replace(one, query="x" * 40_000) for one in clicks(*range(300))]
    async with journal_at(server.url, tmp_path) as (built, redis):
        await redis.config_set("maxmemory", 1)
        for one in large:
            await built.append(one)
        used: Any = (await redis.info("memory"))["used_memory"]
        for megabytes in (3, 6, 9):
            await redis.config_set("maxmemory", used + megabytes * 2**20)
            before = await redis.xlen(JOURNAL)
            await built.replay_once()
            assert before < await redis.xlen(JOURNAL) < 300
        for _ in range(5):
            assert await built.replay_once() == 0
        await redis.config_set("maxmemory", 0)
        await built.replay_once()
        assert await streamed(redis) == large
        assert spool_files(tmp_path) == []


async def test_a_stop_leaves_records_that_it_has_no_time_to_move_for_the_next_start(
    server: OwnRedis, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_CLOSE_SECONDS", 0.0)
    async with journal_at(server.url, tmp_path) as (built, _):
        server.kill()
        for number in range(3):
            await built.append(click(number))
        server.start()
    assert len(spool_files(tmp_path)) == 1
    async with journal_at(server.url, tmp_path) as (built, redis):
        assert await redis.xlen(JOURNAL) == 0
        assert await built.replay_once() == 3
        assert await streamed(redis) == clicks(0, 1, 2)


@pytest.mark.usefixtures("short_patience")
async def test_a_stop_with_a_redis_that_hangs_ends(tmp_path: Path) -> None:
    with hanging_redis() as url:
        async with asyncio.timeout(PATIENCE_SECONDS), journal_at(url, tmp_path) as (built, _):
            await built.append(click(1))
    assert len(spool_files(tmp_path)) == 1


@pytest.fixture
def logs(monkeypatch: pytest.MonkeyPatch) -> Iterator[Sequence[MutableMapping[str, Any]]]:
    with structlog.testing.capture_logs() as captured:
        monkeypatch.setattr(module, "log", structlog.get_logger())
        yield captured


async def test_a_spool_that_cannot_be_read_is_logged_and_does_not_end_the_loop(
    settings: Settings, tmp_path: Path, logs: Sequence[MutableMapping[str, Any]]
) -> None:
    async with journal_at(settings.redis_url, tmp_path / ("x" * 300)) as (built, redis):
        assert await built.replay_once() == 0
        assert [entry["log_level"] for entry in logs] == ["error"]
        await built.append(click(1))
        assert await streamed(redis) == clicks(1)


def refused_records() -> float:
    return REGISTRY.get_sample_value("tracker_spool_refused_total") or 0.0


async def test_a_full_spool_rejects_and_counts_records_without_logging_each(
    server: OwnRedis, tmp_path: Path, logs: Sequence[MutableMapping[str, Any]]
) -> None:
    before = refused_records()
    async with journal_at(server.url, tmp_path, max_bytes=24_000) as (built, redis):
        server.kill()
        await built.append(click(0))
        waiting = built.spool.bytes_waiting
        assert 0 < waiting < 24_000
        for number in range(1, 31):
            with pytest.raises(Unavailable, match="storage is unavailable; try again"):
                await built.append(click(number))
        assert refused_records() == before + 30
        assert [entry["records"] for entry in logs if entry["log_level"] == "error"] == [1]
        built._log_at = 0.0
        with pytest.raises(Unavailable):
            await asyncio.gather(*(built.append(click(number)) for number in range(31, 41)))
        assert [entry["records"] for entry in logs if entry["log_level"] == "error"] == [1, 39]
        assert built.spool.bytes_waiting == waiting
        server.start()
        assert await built.replay_once() == 1
        assert built.spool.bytes_waiting == 0
        assert await streamed(redis) == clicks(0)


async def test_claims_of_two_names_have_one_winner_whatever_name_they_share(
    settings: Settings, tmp_path: Path
) -> None:
    account, visit, other_visit = claim(0).names + claim(0).names + claim(0).names
    async with journal_at(settings.redis_url, tmp_path) as (built, redis):
        holders: Sequence[int | None] = await asyncio.gather(
            built.append_once(click(1), claim(1, account, visit)),
            built.append_once(click(2), claim(2, visit)),
            built.append_once(click(3), claim(3, account)),
            built.append_once(click(4), claim(4, other_visit, account)),
            built.append_once(click(5), claim(5, other_visit)),
        )
        assert [*holders] == [1, 1, 1, 1, 5]
        assert await streamed(redis) == clicks(1, 5)


async def test_a_claim_that_is_repeated_keeps_its_holder_and_appends_nothing(
    settings: Settings, tmp_path: Path
) -> None:
    names = claim(0).names
    async with journal_at(settings.redis_url, tmp_path) as (built, redis):
        for number in (7, 8, 9):
            assert await built.append_once(click(number), claim(number, *names)) == 7
        assert await streamed(redis) == clicks(7)
        assert CLAIM_SECONDS - 60 < await redis.ttl(names[0]) <= CLAIM_SECONDS


async def test_a_refused_append_leaves_no_claim_and_goes_to_the_spool(
    settings: Settings, tmp_path: Path
) -> None:
    names = claim(0).names
    async with journal_at(settings.redis_url, tmp_path) as (built, redis):
        await redis.set(JOURNAL, "not a stream")
        assert await built.append_click_once(click(1), claim(1, *names)) is None
        assert await redis.keys("transaction:*") == []
        assert built.spool.bytes_waiting
        await redis.delete(JOURNAL)
        assert await built.replay_once() == 1
        assert await streamed(redis) == clicks(1)


async def test_a_claim_of_no_seconds_is_not_kept_and_asks_for_those_that_are(
    settings: Settings, tmp_path: Path
) -> None:
    names = claim(0).names
    async with journal_at(settings.redis_url, tmp_path) as (built, redis):
        assert await built.append_once(click(1), Claim(names, 1, seconds=0)) == 1
        assert await redis.keys("transaction:*") == []
        assert await built.append_once(click(2), claim(2, *names)) == 2
        assert await built.append_once(click(3), Claim(names, 3, seconds=0)) == 2
        assert await streamed(redis) == clicks(1, 2)


async def test_claims_and_plain_records_share_a_round_trip_and_get_their_own_answers(
    settings: Settings, tmp_path: Path
) -> None:
    names = claim(0).names
    async with journal_at(settings.redis_url, tmp_path) as (built, redis):
        answers: Sequence[int | None] = await asyncio.gather(
            built.append(click(1)),
            built.append_once(click(2), claim(2, *names)),
            built.append(click(3)),
            built.append_once(click(4), claim(4, *names)),
            built.append_once(click(5), claim(5)),
        )
        assert [*answers] == [None, 2, None, 2, 5]
        assert sorted(await entries(redis), key=str) == [clicks(1, 3), clicks(2, 5)]

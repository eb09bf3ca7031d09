"""The journal is drained once, whatever dies on the way."""

import asyncio
import contextlib
import os
import signal
import time
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest
from pymongo.errors import AutoReconnect, BulkWriteError, OperationFailure
from redis.exceptions import ConnectionError as RedisConnectionError
from redis.exceptions import OutOfMemoryError

from config.settings import Settings
from tests.conversions import scene
from tests.factories import make_click, make_event
from tests.ingest import ledger
from tracker.builtin.child import free_port
from tracker.builtin.stores import run_stores
from tracker.clicks.click import Click
from tracker.db import connect, indexes
from tracker.db.connect import BLOCK_SECONDS
from tracker.ingest import consumer as consumer_module
from tracker.ingest.consumer import Consumer
from tracker.ingest.record import Record
from tracker.service.services import Services

STALE = 0.2


class Applied:
    """Applies for real unless `fails` raises, and tells."""

    def __init__(
        self, services: Services, fails: Callable[[Sequence[Record]], object] = lambda _: None
    ) -> None:
        self._drain = scene.drain_of(services)
        self._fails = fails
        self.attempts: list[float] = []
        self.attempted = asyncio.Condition()
        self.records = 0

    async def apply(self, records: Sequence[Record]) -> None:
        self.attempts.append(time.monotonic())
        try:
            self._fails(records)
            await self._drain.apply(records)
            self.records += len(records)
        finally:
            async with self.attempted:
                self.attempted.notify_all()

    async def until(self, condition: Callable[[], bool]) -> None:
        async with self.attempted:
            await asyncio.wait_for(self.attempted.wait_for(condition), 20)


class Away:
    """Raises `error` as often as told: a store that is away, then back."""

    def __init__(self, error: Exception, times: int) -> None:
        self.error = error
        self.times = times

    def __call__(self, records: Sequence[Record]) -> None:
        if records and self.times:
            self.times -= 1
            raise self.error


def consumer_of(services: Services, applied: Applied, stale: float = 10.0) -> Consumer:
    return Consumer(services.redis, services.redis_waiting, applied.apply, stale)


@contextlib.asynccontextmanager
async def running(consumer: Consumer) -> AsyncIterator[None]:
    """It runs, and has stopped afterwards."""
    stop = asyncio.Event()
    task = asyncio.create_task(consumer.run(stop))
    try:
        yield
        stop.set()
        await asyncio.wait_for(task, 10)
    finally:
        task.cancel()


async def clicks_in(services: Services) -> int:
    return await services.database["clicks"].count_documents({})


async def pending_in(services: Services) -> int:
    summary: Any = await services.redis.xpending("journal", "drain")
    return int(summary["pending"])


async def dead_letters(services: Services) -> list[dict[bytes, bytes]]:
    letters: Any = await services.redis.xrange("journal:dead")
    return [fields for _, fields in letters]


async def test_an_appended_click_is_stored_and_acknowledged(services: Services) -> None:
    await services.journal.append(make_click())
    assert await scene.drained(services) == 1
    assert await clicks_in(services) == 1
    assert await services.redis.xlen("journal") == 0
    assert await pending_in(services) == 0


async def test_a_backlog_of_many_entries_lands_once(services: Services) -> None:
    for _ in range(35):
        await asyncio.gather(*(services.journal.append(make_click()) for _ in range(20)))
    await scene.drained(services)
    assert await clicks_in(services) == 700
    assert await services.redis.xlen("journal") == 0


async def test_two_consumers_share_the_journal_and_nothing_is_applied_twice(
    services: Services,
) -> None:
    for _ in range(30):
        await services.journal.append(make_click())
    one, other = Applied(services), Applied(services)
    await asyncio.gather(*(consumer_of(services, each).burst() for each in (one, other)))
    assert one.records + other.records == 30
    assert await clicks_in(services) == 30


async def test_entries_of_a_dead_consumer_are_taken_over(services: Services) -> None:
    for _ in range(25):
        await services.journal.append(make_click())
    dead = consumer_of(services, Applied(services, Away(AutoReconnect("killed"), 25)))
    await dead.prepare()
    while await pending_in(services) < 25:
        with pytest.raises(AutoReconnect):
            await dead._step(block=None)
        dead._reader._unfinished = False
    applied = Applied(services)
    async with running(consumer_of(services, applied, STALE)):
        await applied.until(lambda: applied.records == 25)
    assert await clicks_in(services) == 25
    assert await pending_in(services) == await services.redis.xlen("journal") == 0


async def test_entries_of_a_living_consumer_are_left_to_it(services: Services) -> None:
    await services.journal.append(make_click())
    slow = consumer_of(services, Applied(services, Away(AutoReconnect("busy"), 1)))
    with pytest.raises(AutoReconnect):
        await slow.burst()
    assert await consumer_of(services, Applied(services)).burst() == 0
    assert await slow.burst() == 1


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({b"1": b"\xc1 not MessagePack"}, b"DecodeError: "),
        ({b"1": b""}, b"DecodeError: "),
        ({b"1": msgspec.msgpack.encode([["x", 1]])}, b"ValidationError: "),
        ({b"1": msgspec.msgpack.encode([["c", b"short"]])}, b"ValidationError: "),
        ({b"2": b"of a later release"}, b"ValueError: unknown format 2"),
    ],
)
async def test_an_entry_that_cannot_be_read_goes_to_the_dead_letters(
    services: Services, fields: dict[Any, Any], reason: bytes
) -> None:
    await services.journal.append(make_click())
    entry_id = await services.redis.xadd("journal", fields)
    await services.journal.append(make_click())
    assert await scene.drained(services) == 3
    assert await clicks_in(services) == 2
    (letter,) = await dead_letters(services)
    assert letter.pop(b"reason").startswith(reason)
    assert letter == {**fields, b"id": entry_id}
    assert await pending_in(services) == await services.redis.xlen("journal") == 0


async def test_a_record_that_cannot_be_stored_does_not_take_its_neighbours_along(
    services: Services,
) -> None:
    good = [make_click() for _ in range(3)]
    bad = msgspec.structs.replace(good[0], id=b"no UUID")
    payload = msgspec.msgpack.encode([good[0], bad, good[1], make_event(7), good[2]])
    await services.redis.xadd("journal", {b"1": payload})
    await services.journal.append(make_click())
    await scene.drained(services)
    assert await clicks_in(services) == 4
    assert [row["_id"] for row in await scene.stored_events(services)] == [7]
    (letter,) = await dead_letters(services)
    assert msgspec.msgpack.decode(letter[b"1"], type=list[Click]) == [bad]
    assert letter[b"reason"].startswith(b"ValueError: ")
    assert await pending_in(services) == await services.redis.xlen("journal") == 0


async def test_a_document_that_mongodb_refuses_goes_to_the_dead_letters(
    services: Services,
) -> None:
    too_large = make_click(query="x" * (17 * 1024 * 1024))
    await services.journal.append(too_large)
    await services.journal.append(make_click())
    await scene.drained(services)
    assert await clicks_in(services) == 1
    assert len(await dead_letters(services)) == 1


@pytest.mark.parametrize(
    "error",
    [
        AutoReconnect("gone"),
        RedisConnectionError("gone"),
        BulkWriteError({"writeErrors": [], "writeConcernErrors": [{"code": 64}]}),
        BulkWriteError({"writeErrors": [{"code": 11000}], "writeConcernErrors": [{"code": 64}]}),
    ],
)
async def test_while_a_store_is_away_entries_stay(services: Services, error: Exception) -> None:
    await services.journal.append(make_click())
    consumer = consumer_of(services, Applied(services, Away(error, 2)))
    for _ in range(2):
        with pytest.raises(type(error)):
            await consumer.burst()
        assert await services.redis.xlen("journal") == 1
    assert await consumer.burst() == 1
    assert await clicks_in(services) == 1
    assert await services.redis.exists("journal:dead") == 0


async def test_a_consumer_waits_longer_each_time_while_a_store_is_away(services: Services) -> None:
    applied = Applied(services, Away(AutoReconnect("gone"), 4))
    async with running(consumer_of(services, applied)):
        await services.journal.append(make_click())
        await applied.until(lambda: applied.records == 1)
    pauses = [
        late - soon for soon, late in zip(applied.attempts, applied.attempts[1:], strict=False)
    ]
    assert [round(pause, 1) for pause in pauses[:4]] == pytest.approx([0.1, 0.2, 0.5, 1.0], abs=0.3)
    assert pauses == sorted(pauses)
    assert len(applied.attempts) == 5


@pytest.mark.parametrize("taken", ["acknowledged", "by another consumer", "deleted"])
async def test_a_consumer_whose_unfinished_entries_are_gone_goes_on(
    services: Services, taken: str
) -> None:
    """The answer to its acknowledgement was lost, or another took them over while it waited."""
    await services.journal.append(make_click())
    consumer = consumer_of(services, Applied(services, Away(AutoReconnect("gone"), 1)))
    with pytest.raises(AutoReconnect):
        await consumer.burst()
    entries: Any = await services.redis.xrange("journal")
    entry_id = entries[0][0]
    if taken == "by another consumer":
        await services.redis.xclaim("journal", "drain", "another", 0, [entry_id])
    else:
        if taken == "acknowledged":
            await services.redis.xack("journal", "drain", entry_id)
        await services.redis.xdel("journal", entry_id)
    await services.journal.append(make_click())
    assert await consumer.burst() >= 1
    assert await clicks_in(services) == 1
    assert await services.redis.exists("journal:dead") == 0


async def test_a_lost_answer_to_an_acknowledgement_neither_repeats_nor_blocks(
    services: Services,
) -> None:
    applied = Applied(services)
    consumer = consumer_of(services, applied)
    acknowledge, lost = consumer._acknowledge, [RedisConnectionError("reset")]

    async def acknowledge_without_answer(entries: Any) -> None:
        await acknowledge(entries)
        if lost:
            raise lost.pop()

    consumer._acknowledge = acknowledge_without_answer  # type: ignore[method-assign, assignment]
    async with running(consumer):
        await services.journal.append(make_click())
        await applied.until(lambda: applied.records == 1)
        await services.journal.append(make_click())
        await applied.until(lambda: applied.records == 2)
    assert await clicks_in(services) == 2
    assert len(applied.attempts) == 2


@pytest.mark.parametrize("loss", ["everything", "stream", "group"])
async def test_a_stream_or_group_that_vanishes_is_made_again(services: Services, loss: str) -> None:
    applied = Applied(services)
    async with running(consumer_of(services, applied)):
        await services.journal.append(make_click())
        await applied.until(lambda: applied.records == 1)
        if loss == "everything":
            await services.redis.flushall()
        elif loss == "stream":
            await services.redis.delete("journal")
        else:
            await services.redis.xgroup_destroy("journal", "drain")
        await services.journal.append(make_click())
        await applied.until(lambda: applied.records == 2)
    assert await clicks_in(services) == 2


async def test_a_stop_ends_an_idle_consumer_within_its_block_time(services: Services) -> None:
    consumer = consumer_of(services, Applied(services))
    await consumer.prepare()
    async with running(consumer):
        while not (await services.redis.info("clients"))["blocked_clients"]:
            await asyncio.sleep(0)
        began = time.monotonic()
    assert time.monotonic() - began < BLOCK_SECONDS + 5


async def test_a_stop_ends_a_consumer_that_waits_for_a_store_at_once(
    services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(consumer_module, "_BACKOFF_SECONDS", (0.0, 20.0))
    applied = Applied(services, Away(AutoReconnect("gone"), 99))
    async with running(consumer_of(services, applied)):
        await services.journal.append(make_click())
        await applied.until(lambda: len(applied.attempts) == 2)
        began = time.monotonic()
    assert time.monotonic() - began < 5


async def test_a_stop_finishes_the_batch_under_way(services: Services) -> None:
    stop = asyncio.Event()
    applied = Applied(services, lambda records: stop.set() if records else None)
    for _ in range(3):
        await services.journal.append(make_click())
    await consumer_of(services, applied).run(stop)
    assert await clicks_in(services) == 3
    assert await services.redis.xlen("journal") == 0


async def test_a_consumer_that_leaves_gives_up_its_name(services: Services) -> None:
    await services.journal.append(make_click())
    consumer = consumer_of(services, Applied(services))
    await consumer.burst()
    await consumer.deregister()
    assert await services.redis.xinfo_consumers("journal", "drain") == []


async def test_a_consumer_that_leaves_entries_behind_keeps_its_name(services: Services) -> None:
    await services.journal.append(make_click())
    consumer = consumer_of(services, Applied(services, Away(AutoReconnect("gone"), 1)))
    with pytest.raises(AutoReconnect):
        await consumer.burst()
    await consumer.deregister()
    assert await pending_in(services) == 1


async def test_leaving_with_redis_away_is_quiet(services: Services) -> None:
    away = connect.redis_for_requests(f"redis://127.0.0.1:{free_port()}/0")
    await Consumer(away, away, Applied(services).apply).deregister()
    await away.aclose()


@pytest.fixture
def own_mongodb(stores: Settings, tmp_path: Path) -> Iterator[Settings]:
    """A mongod that a test may stop; Redis is the shared one."""
    with run_stores(Settings(data_dir=str(tmp_path), redis_url=stores.redis_url)) as complete:
        yield complete


@contextlib.contextmanager
def frozen(pid: int) -> Iterator[None]:
    os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(pid, signal.SIGCONT)


async def _pid(services: Services) -> int:
    return int((await services.mongodb.admin.command("serverStatus"))["pid"])


async def test_what_arrives_while_mongodb_is_frozen_lands_afterwards(
    services: Services, own_mongodb: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connect, "MONGODB_TIMEOUT", 0.5)
    async with scene.process(own_mongodb) as own:
        await indexes.ensure(own.database)
        pid, applied = await _pid(own), Applied(own)
        async with running(consumer_of(own, applied)):
            await own.journal.append(make_click())
            await applied.until(lambda: applied.records == 1)
            with frozen(pid):
                for _ in range(15):
                    await own.journal.append(make_click())
                await applied.until(lambda: len(applied.attempts) == 4)
                assert await own.redis.xlen("journal") == 15
                assert applied.attempts[3] - applied.attempts[1] > 1
            await applied.until(lambda: applied.records == 16)
        assert await clicks_in(own) == 16
        assert await own.redis.xlen("journal") == 0


def test_what_arrives_while_mongodb_is_killed_lands_after_its_restart(
    settings: Settings, tmp_path: Path, io_loop: Any
) -> None:
    """`settings` for its empty Redis. The first mongod is killed with a batch under way."""
    own = Settings(data_dir=str(tmp_path), redis_url=settings.redis_url)

    async def until_killed(complete: Settings) -> None:
        async with scene.process(complete) as services:
            await indexes.ensure(services.database)
            await services.journal.append(make_click())
            await scene.drained(services)
            for _ in range(25):
                await services.journal.append(make_click())
            pid = await _pid(services)
            applied = Applied(services, lambda records: os.kill(pid, signal.SIGKILL))
            with pytest.raises(connect.PyMongoError):
                await consumer_of(services, applied).burst()
            assert await services.redis.xlen("journal") == 25

    async def after(complete: Settings) -> None:
        async with scene.process(complete) as services:
            applied = Applied(services)
            async with running(consumer_of(services, applied, STALE)):
                await applied.until(lambda: applied.records == 25)
            assert await clicks_in(services) == 26
            assert await services.redis.xlen("journal") == 0

    for part in (until_killed, after):
        with run_stores(own) as complete:
            io_loop.run_sync(lambda part=part, complete=complete: part(complete))


async def test_a_batch_that_takes_long_is_not_taken_over_by_another(services: Services) -> None:
    await services.journal.append(make_click())
    applied, done = Applied(services), asyncio.Event()

    async def slowly(records: Sequence[Record]) -> None:
        await done.wait()
        await applied.apply(records)

    slow = Consumer(services.redis, services.redis_waiting, slowly, STALE)
    other = Applied(services)
    await slow.prepare()
    async with running(slow):
        while not await pending_in(services):
            await asyncio.sleep(0.01)
        for _ in range(5):
            await asyncio.sleep(STALE / 2)
            assert await consumer_of(services, other, STALE).burst() == 0
        done.set()
        await applied.until(lambda: applied.records == 1)
    assert other.records == 0


async def test_a_full_redis_is_drained_and_has_room_again(services: Services) -> None:
    await scene.drained(services)
    for _ in range(50):
        await services.journal.append(make_click())
    used = int((await services.redis.info("memory"))["used_memory"])
    await services.redis.config_set("maxmemory", used // 2)
    try:
        with pytest.raises(OutOfMemoryError):
            await services.redis.set("x", "y")
        assert await scene.drained(services) == 50
    finally:
        await services.redis.config_set("maxmemory", 0)
    assert await clicks_in(services) == 50


async def test_an_entry_that_is_too_much_for_one_transaction_is_stored_in_parts(
    services: Services,
) -> None:
    def fails(records: Sequence[Record]) -> None:
        if len(records) > 2:
            raise OperationFailure("transaction is too large", 388)

    await asyncio.gather(*(services.journal.append(make_click()) for _ in range(7)))
    applied = Applied(services, fails)
    await consumer_of(services, applied).burst()
    assert applied.records == await clicks_in(services) == 7
    assert await services.redis.xlen("journal") == 0


async def test_clicks_that_are_too_much_for_one_command_are_stored_in_parts(
    services: Services,
) -> None:
    """MongoDB takes 16 MB in one."""
    large = "x" * (3 << 20)
    clicks = [make_click(query=large) for _ in range(7)]
    for some in (clicks[:6], clicks[6:]):
        await services.redis.xadd("journal", {b"1": msgspec.msgpack.encode(some)})
    applied = Applied(services)
    await consumer_of(services, applied).burst()
    assert applied.records == await clicks_in(services) == 7
    assert await services.redis.xlen("journal") == await services.redis.xlen("journal:dead") == 0
    await ledger.check(services)

"""While a store is unavailable, entries stay in the journal; they are stored when it is back."""

import os
import signal
from pathlib import Path
from typing import Any

import pytest
from pymongo.errors import AutoReconnect, OperationFailure, PyMongoError
from redis.exceptions import ConnectionError as RedisConnectionError

from config.settings import Settings
from tests.conversions import scene
from tests.factories import make_click
from tests.ingest.consuming import STALE, Applied, Outage, clicks_in, consumer_of, running
from tracker.ingest import consumer as consumer_module
from tracker.metrics import LOOP_FAILURES
from tracker.service.services import Services
from tracker.stores.builtin.stores import run_stores
from tracker.stores.mongodb import indexes

pytestmark = pytest.mark.redis


@pytest.mark.parametrize(
    "error",
    [
        AutoReconnect("unavailable"),
        RedisConnectionError("unavailable"),
        OperationFailure("unavailable", 64),
    ],
)
async def test_entries_stay_while_a_store_is_unavailable(
    services: Services, error: Exception
) -> None:
    await services.journal.journal.append(make_click())
    consumer = consumer_of(services, Applied(services, Outage(error, 2)))
    for _ in range(2):
        with pytest.raises(type(error)):
            await scene.burst(consumer)
        assert await services.stores.redis.xlen("journal") == 1
    assert await scene.burst(consumer) == 1
    assert await clicks_in(services) == 1
    assert await services.stores.redis.exists("journal:dead") == 0


@pytest.mark.parametrize(
    ("error", "counted"), [(AutoReconnect("unavailable"), 0), (RuntimeError("a bug"), 1)]
)
async def test_a_failure_counts_as_one_of_the_loop_unless_a_store_is_unavailable(
    services: Services, error: Exception, counted: int
) -> None:
    failures = LOOP_FAILURES.labels("drain")._value
    before = failures.get()
    applied = Applied(services, Outage(error, 1))
    async with running(consumer_of(services, applied)):
        await services.journal.journal.append(make_click())
        await applied.until(lambda: applied.records == 1)
    assert failures.get() == before + counted


@pytest.mark.parametrize("taken", ["acknowledged", "by another consumer", "deleted"])
async def test_a_consumer_whose_unfinished_entries_are_gone_goes_on(
    services: Services, taken: str
) -> None:
    """The answer to its acknowledgement was lost, or another took them over while it waited."""
    await services.journal.journal.append(make_click())
    consumer = consumer_of(services, Applied(services, Outage(AutoReconnect("unavailable"), 1)))
    with pytest.raises(AutoReconnect):
        await scene.burst(consumer)
    entries: Any = await services.stores.redis.xrange("journal")
    entry_id = entries[0][0]
    if taken == "by another consumer":
        await services.stores.redis.xclaim("journal", "drain", "another", 0, [entry_id])
    else:
        if taken == "acknowledged":
            await services.stores.redis.xack("journal", "drain", entry_id)
        await services.stores.redis.xdel("journal", entry_id)
    await services.journal.journal.append(make_click())
    assert await scene.burst(consumer) >= 1
    assert await clicks_in(services) == 1
    assert await services.stores.redis.exists("journal:dead") == 0


@pytest.mark.parametrize("loss", ["everything", "stream", "group"])
async def test_a_stream_or_group_that_vanishes_is_made_again(services: Services, loss: str) -> None:
    applied = Applied(services)
    async with running(consumer_of(services, applied)):
        await services.journal.journal.append(make_click())
        await applied.until(lambda: applied.records == 1)
        if loss == "everything":
            await services.stores.redis.flushall()
        elif loss == "stream":
            await services.stores.redis.delete("journal")
        else:
            await services.stores.redis.xgroup_destroy("journal", "drain")
        await services.journal.journal.append(make_click())
        await applied.until(lambda: applied.records == 2)
    assert await clicks_in(services) == 2


async def test_a_stop_ends_a_consumer_that_waits_for_a_store_at_once(
    services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(consumer_module, "_BACKOFF_SECONDS", (0.0, 3600.0))
    applied = Applied(services, Outage(AutoReconnect("unavailable"), 99))
    async with running(consumer_of(services, applied)):
        await services.journal.journal.append(make_click())
        await applied.until(lambda: len(applied.attempts) == 2)


async def _pid(services: Services) -> int:
    return int((await services.stores.mongodb.client.admin.command("serverStatus"))["pid"])


@pytest.mark.usefixtures("short_patience")
def test_clicks_that_arrive_while_mongodb_is_killed_are_stored_after_its_restart(
    settings: Settings, tmp_path: Path, io_loop: Any
) -> None:
    """`settings` for its empty Redis. The first mongod is killed with a batch under way."""
    own = Settings(data_dir=str(tmp_path), redis_url=settings.redis_url)

    async def until_killed(complete: Settings) -> None:
        async with scene.process(complete) as services:
            await indexes.ensure(services.stores.mongodb.database)
            await services.journal.journal.append(make_click())
            await scene.drained(services)
            for _ in range(25):
                await services.journal.journal.append(make_click())
            pid = await _pid(services)
            applied = Applied(services, lambda records: os.kill(pid, signal.SIGKILL))
            with pytest.raises(PyMongoError):
                await scene.burst(consumer_of(services, applied))
            assert await services.stores.redis.xlen("journal") == 25

    async def after(complete: Settings) -> None:
        async with scene.process(complete) as services:
            applied = Applied(services)
            async with running(consumer_of(services, applied, STALE)):
                await applied.until(lambda: applied.records == 25)
            assert await clicks_in(services) == 26
            assert await services.stores.redis.xlen("journal") == 0

    for part in (until_killed, after):
        with run_stores(own) as complete:
            io_loop.run_sync(lambda part=part, complete=complete: part(complete))

"""Reads see one moment, come in batches, and leave nothing broken when they fail."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import aclosing, asynccontextmanager
from pathlib import Path
from typing import Any

import pymongo
import pytest
from pymongo.errors import AutoReconnect, ConnectionFailure, OperationFailure, PyMongoError
from pymongo.read_concern import ReadConcern

from tests.stores.mongodb.own_mongodb import guarded_mongodb
from tests.stores.mongodb.profiler import profiled
from tests.stores.relay import Relay, relay
from tests.system.certificates import Authority
from tests.waiting import PATIENCE_SECONDS
from tracker.ids import new_id
from tracker.loops import cancel_and_wait
from tracker.service.services import Services
from tracker.stores.mongodb import reads as mongo_reads
from tracker.stores.mongodb.database import MongoDB
from tracker.stores.mongodb.documents import StoredId
from tracker.stores.mongodb.reads import MongoReads, lost_connections

pytestmark = pytest.mark.redis

ORDERED = {"sort": {"_id": 1}}


async def fill(services: Services, *numbers: int) -> None:
    await services.stores.mongodb["things"].insert_many([{"_id": number} for number in numbers])


def numbers_of(rows: list[dict[str, int]]) -> list[int]:
    return [row["_id"] for row in rows]


async def open_cursors(services: Services) -> list[dict[str, Any]]:
    """Return the cursors of `things` that wait for their reader."""
    things = {"ns": f"{services.settings.mongodb_database}.things", "type": "idleCursor"}
    stages: list[dict[str, Any]] = [{"$currentOp": {"idleCursors": True}}, {"$match": things}]
    admin = services.stores.mongodb.client.get_database("admin", read_concern=ReadConcern("local"))
    return await admin.aggregate(stages).to_list(None)


@asynccontextmanager
async def reader_by(uri: str, database: str) -> AsyncIterator[MongoReads]:
    mongodb = MongoDB(uri, database)
    try:
        yield mongodb.reads
    finally:
        await mongodb.close()


@asynccontextmanager
async def relayed(services: Services) -> AsyncIterator[tuple[Relay, MongoReads]]:
    settings = services.settings
    async with relay(settings.mongodb_uri) as way:
        uri = f"mongodb://127.0.0.1:{way.port}/?directConnection=true"
        async with reader_by(uri, settings.mongodb_database) as reads:
            yield way, reads


async def test_all_reads_of_a_snapshot_are_of_the_moment_of_the_first(services: Services) -> None:
    await fill(services, 1, 2)
    count = [{"$count": "all"}]
    async with services.stores.mongodb.reads.at_one_snapshot() as snapshot:
        assert numbers_of(await snapshot.find("things", {}, **ORDERED)) == [1, 2]
        await fill(services, 3)
        assert numbers_of(await snapshot.find("things", {}, **ORDERED)) == [1, 2]
        assert [row["_id"] async for row in snapshot.find_each("things", {}, **ORDERED)] == [1, 2]
        assert await snapshot.aggregate("things", count) == [{"all": 2}]
        assert [row async for row in snapshot.aggregate_each("things", count)] == [{"all": 2}]
        assert await snapshot.find_one("things", {"_id": 3}) is None
        assert await snapshot.latest().find_one("things", {"_id": 3}) == {"_id": 3}
    assert await services.stores.mongodb.reads.count("things", {}) == 3


async def test_rows_come_in_batches_and_are_all_there(
    services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mongo_reads, "ROWS_AT_ONCE", 2)
    await fill(services, *range(5))
    async with profiled(services.stores.mongodb.database) as notes:
        assert numbers_of(await services.stores.mongodb.reads.find("things", {}, **ORDERED)) == [
            *range(5)
        ]
        found = await services.stores.mongodb.reads.aggregate("things", [{"$sort": {"_id": 1}}])
        assert numbers_of(found) == [*range(5)]
    returned = [note["nreturned"] for note in notes if note["ns"].endswith(".things")]
    assert len(returned) >= 6
    assert max(returned) == 2


async def test_a_few_rows_that_are_more_than_a_batch_are_all_there(services: Services) -> None:
    large = [{"_id": number, "text": "x" * 7_000_000} for number in range(3)]
    await services.stores.mongodb["things"].insert_many(large)
    reads = services.stores.mongodb.reads
    found = await reads.find("things", {}, ["text"], limit=3, **ORDERED)
    assert numbers_of(found) == [0, 1, 2]
    stages = [{"$sort": {"_id": 1}}]
    assert numbers_of(await reads.aggregate("things", stages, at_most=3)) == [0, 1, 2]
    assert await open_cursors(services) == []


async def test_a_reader_that_stops_early_leaves_no_cursor_open(services: Services) -> None:
    await fill(services, *range(5))
    async with aclosing(
        services.stores.mongodb.reads.find_each("things", {}, batch_size=2)
    ) as rows:
        async for _ in rows:
            assert len(await open_cursors(services)) == 1
            break
    assert await open_cursors(services) == []


Read = Callable[[MongoReads], Awaitable[list[dict[str, int]]]]
READS: tuple[Read, ...] = (
    lambda reads: reads.find("things", {}),
    lambda reads: reads.find("things", {}, limit=2),
    lambda reads: reads.aggregate("things", [{"$match": {}}]),
    lambda reads: reads.aggregate("things", [{"$match": {}}], at_most=2),
)
each_read = pytest.mark.parametrize("read", READS, ids=["all", "few", "results", "few results"])


@each_read
async def test_a_read_is_made_again_on_another_connection_if_one_is_lost(
    services: Services, read: Read
) -> None:
    await fill(services, 1)
    async with relayed(services) as (way, far):
        await read(far)
        way.cut_at(b"things", arrives=False, times=1)
        assert numbers_of(await read(far)) == [1]
        assert way.was_cut.is_set()
        way.close()
        assert numbers_of(await read(far)) == [1]


async def test_a_read_that_mongodb_refuses_once_is_made_again(
    services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    await fill(services, 1)
    reads = services.stores.mongodb.reads

    async def refuse(*_: object, **__: object) -> None:
        raise OperationFailure("a primary is elected", 262)

    monkeypatch.setattr(type(reads._database), "command", refuse)
    assert numbers_of(await reads.find("things", {}, limit=1)) == [1]


@each_read
@pytest.mark.usefixtures("short_patience")
async def test_a_read_fails_as_unavailable_if_mongodb_is(services: Services, read: Read) -> None:
    async with relayed(services) as (way, far):
        await read(far)
        way.cut_at(b"things", arrives=True)
        with pytest.raises(ConnectionFailure):
            await read(far)


async def test_a_read_ends_when_its_time_is_over_and_the_next_one_works(
    services: Services,
) -> None:
    await fill(services, 1)
    async with relayed(services) as (way, far):
        await far.find("things", {})
        way.hold_answers()
        for read in READS:
            with pytest.raises(PyMongoError) as raised, pymongo.timeout(0.1):
                await read(far)
            assert raised.value.timeout
        way.answer_again()
        assert numbers_of(await far.find("things", {})) == [1]


async def test_a_read_that_is_given_up_harms_no_other(services: Services) -> None:
    await fill(services, 1, 2)
    async with relayed(services) as (way, far):
        await far.find("things", {})
        way.hold_answers()
        given_up = asyncio.create_task(far.find("things", {"_id": 1}))
        await asyncio.wait_for(way.holds.wait(), PATIENCE_SECONDS)
        await cancel_and_wait(given_up)
        way.answer_again()
        assert numbers_of(await far.find("things", {"_id": 2})) == [2]


async def test_a_read_cancelled_at_any_step_leaves_no_connection_checked_out(
    services: Services,
) -> None:
    await fill(services, 1)
    settings = services.settings
    async with reader_by(f"{settings.mongodb_uri}&maxPoolSize=1", settings.mongodb_database) as one:
        for turns in range(120):
            begun = asyncio.ensure_future(one.find("things", {"_id": 1}, limit=turns % 2))
            for _ in range(turns // 2):
                await asyncio.sleep(0)
            begun.cancel()
            await asyncio.wait([begun])
            assert numbers_of(await one.find("things", {})) == [1]


async def test_ids_are_read_as_their_bytes_if_a_reader_says_so(services: Services) -> None:
    one = new_id()
    await services.stores.mongodb["things"].insert_one({"_id": one, "number": 1})
    found = await services.stores.mongodb.reads.with_binary_ids().find(
        "things", {"_id": StoredId(one.bytes)}
    )
    assert [bytes(row["_id"]) for row in found] == [one.bytes]
    assert await services.stores.mongodb.reads.find("things", {}) == [{"_id": one, "number": 1}]


async def test_passwords_and_tls_come_from_the_address(tmp_path: Path) -> None:
    with guarded_mongodb(tmp_path, Authority(tmp_path)) as uri:
        async with reader_by(uri, "any") as reads:
            assert await reads.find("things", {}) == []
        async with reader_by(uri.replace("tracker:secret@", ""), "any") as reads:
            with pytest.raises(OperationFailure, match="requires authentication"):
                await reads.find("things", {})


def test_an_error_of_the_loop_becomes_one_of_the_driver() -> None:
    with pytest.raises(AutoReconnect, match="closed"), lost_connections():
        raise RuntimeError("the handler is closed")

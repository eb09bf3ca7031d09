"""A reader finds documents over one connection, which is replaced after a failure."""

import asyncio
import gc
import tracemalloc
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import bson
import pytest
from pymongo.errors import AutoReconnect, NetworkTimeout, OperationFailure, PyMongoError

from tests.db.own_mongodb import guarded_mongodb
from tests.db.relay import Relay, relay
from tests.system.certificates import Authority
from tracker.builtin.child import free_port
from tracker.db import connect
from tracker.db.dedicated_connection import DedicatedConnection
from tracker.db.mongo_reader import _HEAD, MongoReader, MongoReplies
from tracker.service.services import Services

ALL: dict[str, Any] = {}


async def fill(services: Services, count: int) -> None:
    rows = [{"_id": number, "square": number**2, "text": "x"} for number in range(count)]
    await services.database["numbers"].insert_many(rows)


@asynccontextmanager
async def reader_by(uri: str, database: str) -> AsyncIterator[MongoReader]:
    client = connect.mongodb_for_look_ups(uri)
    reader = MongoReader(client[database]["numbers"])
    try:
        yield reader
    finally:
        await reader.close()
        await client.close()


@asynccontextmanager
async def reader_of(services: Services) -> AsyncIterator[MongoReader]:
    settings = services.settings
    async with reader_by(settings.mongodb_uri, settings.mongodb_database) as reader:
        yield reader


@asynccontextmanager
async def relayed(services: Services) -> AsyncIterator[tuple[Relay, MongoReader]]:
    settings = services.settings
    port = urlsplit(settings.mongodb_uri).port
    assert port is not None
    async with relay(port) as way:
        uri = f"mongodb://127.0.0.1:{way.port}/?directConnection=true"
        async with reader_by(uri, settings.mongodb_database) as reader:
            yield way, reader


async def test_a_query_returns_ids_and_the_named_fields_up_to_its_limit(
    services: Services,
) -> None:
    await fill(services, 300)
    async with reader_of(services) as reader:
        wanted = {"_id": {"$gt": 10, "$lte": 13}}
        assert await reader.find(wanted, ["square"], 9) == [
            {"_id": number, "square": number**2} for number in (11, 12, 13)
        ]
        assert await reader.find({"_id": -1}, ["square"], 9) == []
        assert len(await reader.find(ALL, ["square"], 299)) == 299
        assert len(await reader.find(ALL, ["square", "text"], 1000)) == 300


async def test_one_connection_serves_one_query_after_the_other(services: Services) -> None:
    await fill(services, 1)
    async with reader_of(services) as reader:
        first = await reader.find(ALL, [], 9)
        connection = reader._connection
        for _ in range(5):
            assert await reader.find(ALL, [], 9) == first
        assert reader._connection is connection


async def test_queries_leave_nothing_in_memory(services: Services) -> None:
    await fill(services, 1)
    async with reader_of(services) as reader:
        await reader.find(ALL, [], 9)
        tracemalloc.start()
        try:
            for _ in range(500):
                await reader.find({"_id": -1}, [], 9)
            gc.collect()
            ours = tracemalloc.take_snapshot().filter_traces(
                [tracemalloc.Filter(True, "*/tracker/db/*")]
            )
        finally:
            tracemalloc.stop()
    assert sum(one.count for one in ours.statistics("lineno")) < 100


async def test_numbers_of_messages_begin_again_before_they_are_too_long(
    services: Services,
) -> None:
    await fill(services, 1)
    async with reader_of(services) as reader:
        reader._number = (1 << 31) - 2
        for _ in range(3):
            assert len(await reader.find(ALL, [], 9)) == 1
        assert reader._number == 2


async def test_a_query_cancelled_at_any_step_leaves_no_connection_checked_out(
    services: Services,
) -> None:
    """This includes the steps that drop a connection whose query was refused."""
    await fill(services, 1)
    async with reader_of(services) as reader:
        for turns in range(40):
            await reader.find(ALL, [], 9)
            refused = asyncio.ensure_future(reader.find({"$nope": 1}, [], 9))
            for _ in range(turns):
                await asyncio.sleep(0)
            refused.cancel()
            with pytest.raises((asyncio.CancelledError, OperationFailure)):
                await refused
        for turns in range(5):
            await reader.find(ALL, [], 9)
            dropping = asyncio.ensure_future(reader._drop_connection())
            for _ in range(turns):
                await asyncio.sleep(0)
            dropping.cancel()
            await asyncio.wait([dropping])
        assert len(await reader.find(ALL, [], 9)) == 1
        assert reader._pool.requests == 1


async def test_a_closed_reader_sends_no_query(services: Services) -> None:
    await fill(services, 1)
    async with reader_of(services) as reader:
        slow = {"$where": "sleep(100) || true"}
        await reader.find(ALL, [], 9)
        under_way = asyncio.ensure_future(reader.find(slow, [], 9))
        await asyncio.sleep(0)
        await reader.close()
        for asked in (under_way, reader.find(ALL, [], 9)):
            with pytest.raises(AutoReconnect):
                await asked


async def test_a_refused_query_raises_and_the_next_one_works(services: Services) -> None:
    await fill(services, 1)
    async with reader_of(services) as reader:
        with pytest.raises(OperationFailure, match="unknown operator"):
            await reader.find({"_id": {"$nope": 1}}, [], 9)
        assert len(await reader.find(ALL, [], 9)) == 1


async def test_a_lost_connection_is_replaced_unnoticed(
    services: Services,
) -> None:
    await fill(services, 1)
    async with relayed(services) as (way, reader):
        assert len(await reader.find(ALL, [], 9)) == 1
        way.close()
        assert reader._dedicated is not None
        async with asyncio.timeout(5):
            while not reader._dedicated._transport.is_closing():
                await asyncio.sleep(0)
        assert len(await reader.find(ALL, [], 9)) == 1


@pytest.mark.parametrize("arrives", [True, False])
async def test_a_query_whose_connection_is_cut_is_sent_again(
    services: Services, arrives: bool
) -> None:
    await fill(services, 1)
    async with relayed(services) as (way, reader):
        assert len(await reader.find(ALL, [], 9)) == 1
        way.cut_at(b"squared", arrives, times=1)
        assert await reader.find({"squared": 1}, [], 9) == []
        assert way.was_cut.is_set()


async def test_an_answer_that_comes_too_late_is_not_taken_for_the_next(
    services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    await fill(services, 3)
    async with relayed(services) as (way, reader):
        assert len(await reader.find({"_id": 0}, [], 9)) == 1
        assert reader._dedicated is not None
        monkeypatch.setattr(reader._dedicated, "_seconds", 0.2)
        way.hold_answers()
        with pytest.raises(NetworkTimeout):
            await reader.find({"_id": 1}, [], 9)
        way.answer_again()
        assert await reader.find({"_id": 2}, [], 9) == [{"_id": 2}]
        way.hold_answers()
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(reader.find({"_id": 1}, [], 9), 0.2)
        way.answer_again()
        assert await reader.find({"_id": 2}, [], 9) == [{"_id": 2}]


async def test_an_unavailable_mongodb_is_an_error() -> None:
    uri = f"mongodb://127.0.0.1:{free_port()}/?directConnection=true"
    async with reader_by(uri, "any") as reader:
        with pytest.raises(PyMongoError):
            await reader.find(ALL, [], 9)


async def test_passwords_and_tls_come_from_the_client(tmp_path: Path) -> None:
    with guarded_mongodb(tmp_path, Authority(tmp_path)) as uri:
        async with reader_by(uri, "any") as reader:
            for _ in range(3):
                assert await reader.find(ALL, [], 9) == []
        async with reader_by(uri.replace("tracker:secret@", ""), "any") as reader:
            with pytest.raises(OperationFailure, match="requires authentication"):
                await reader.find(ALL, [], 9)


def message(document: dict[str, Any], answers: int = 7, kind: int = 2013) -> bytes:
    body = bson.encode(document)
    return _HEAD.pack(_HEAD.size + len(body), 1, answers, kind, 0, 0) + body


ANSWER = message({"ok": 1, "cursor": {"firstBatch": [{"_id": 1}]}})


@asynccontextmanager
async def link_to(
    answer: Callable[[asyncio.StreamWriter], Any],
) -> AsyncIterator[DedicatedConnection]:
    """Yield a connection to a server that calls `answer` for each message."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while await reader.read(1000):
            await answer(writer)
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1")
    port = server.sockets[0].getsockname()[1]
    loop = asyncio.get_running_loop()
    transport, _ = await loop.create_connection(asyncio.Protocol, "127.0.0.1", port)
    try:
        yield DedicatedConnection(transport, 5, MongoReplies())
    finally:
        transport.abort()
        server.close()
        await server.wait_closed()


@pytest.mark.parametrize("size", [1, 3, 4, 20, len(ANSWER) - 1, len(ANSWER)])
async def test_an_answer_may_come_in_pieces(size: int) -> None:
    async def pieces(writer: asyncio.StreamWriter) -> None:
        for start in range(0, len(ANSWER), size):
            writer.write(ANSWER[start : start + size])
            await writer.drain()
            await asyncio.sleep(0)

    async with link_to(pieces) as link:
        for _ in range(3):
            assert await link.request(b"any") == ANSWER


@pytest.mark.parametrize(
    "sent",
    [ANSWER + b"x", ANSWER * 2, (3).to_bytes(4, "little"), (1 << 30).to_bytes(4, "little"), b""],
    ids=["more than one", "two", "too short", "too long", "none"],
)
async def test_anything_but_one_answer_ends_the_connection(sent: bytes) -> None:
    async def once(writer: asyncio.StreamWriter) -> None:
        writer.write(sent)
        await writer.drain()
        if not sent:
            writer.close()

    async with link_to(once) as link:
        for _ in range(2):
            with pytest.raises(AutoReconnect):
                await link.request(b"any")


@pytest.mark.parametrize(
    "answer",
    [
        message({"ok": 1}, answers=8),
        message({"ok": 1}, kind=2012),
        message({"ok": 0, "errmsg": "no", "code": 10107}),
        ANSWER[:-1] + b"\1",
    ],
    ids=["to another", "of another kind", "refused", "no document"],
)
def test_an_unreadable_answer_is_an_error(services: Services, answer: bytes) -> None:
    client = connect.mongodb_for_look_ups(services.settings.mongodb_uri)
    reader = MongoReader(client["any"]["numbers"])
    assert reader._read(ANSWER, 7) == [{"_id": 1}]
    with pytest.raises(OperationFailure):
        reader._read(answer, 7)

"""A transaction stores all or nothing, and is tried again after a conflict.

A failure of the network is a real one, made by a relay in front of the real MongoDB.
"""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from pymongo.errors import ConnectionFailure, DuplicateKeyError, OperationFailure

from tests.stores.relay import Relay, relay
from tests.waiting import eventually
from tracker.service.services import Services
from tracker.stores.mongodb import drivers, transaction
from tracker.stores.mongodb.drivers import Database
from tracker.stores.mongodb.transaction import MongoSession, in_transaction


@asynccontextmanager
async def session_of(services: Services) -> AsyncIterator[MongoSession]:
    async with await services.stores.mongodb.client.start_session() as session:
        yield session


async def names(services: Services) -> set[Any]:
    return {row["_id"] async for row in services.stores.mongodb["clicks"].find()}


class Insert:
    """Work that inserts documents with these ids into `clicks`, and counts how often it ran."""

    def __init__(self, database: Database, *ids: str) -> None:
        self._clicks = database["clicks"]
        self._ids = ids
        self.runs = 0

    async def __call__(self, session: MongoSession) -> int:
        self.runs += 1
        for one in self._ids:
            await self._clicks.insert_one({"_id": one}, session=session)
        return len(self._ids)


async def test_the_result_of_the_work_is_returned_and_its_writes_are_stored(
    services: Services,
) -> None:
    insert = Insert(services.stores.mongodb.database, "a", "b")
    async with session_of(services) as session:
        assert await in_transaction(session, insert) == 2
    assert await names(services) == {"a", "b"}


@pytest.mark.parametrize("error", [RuntimeError("ours"), asyncio.CancelledError()])
async def test_work_that_fails_stores_nothing_and_raises_its_error(
    services: Services, error: BaseException
) -> None:
    insert = Insert(services.stores.mongodb.database, "a")

    async def work(session: MongoSession) -> None:
        await insert(session)
        raise error

    async with session_of(services) as session:
        with pytest.raises(type(error)):
            await in_transaction(session, work)
        assert insert.runs == 1
        assert await names(services) == set()
        assert await in_transaction(session, insert) == 1
        duplicate = Insert(services.stores.mongodb.database, "b", "a", "c")
        with pytest.raises(DuplicateKeyError):
            await in_transaction(session, duplicate)
        assert duplicate.runs == 1
    assert await names(services) == {"a"}


@asynccontextmanager
async def conflict(services: Services) -> AsyncIterator[tuple[MongoSession, MongoSession]]:
    """Yield a session, and another whose open transaction has written document `a`."""
    async with session_of(services) as session, session_of(services) as other:
        other.start_transaction()
        await Insert(services.stores.mongodb.database, "a")(other)
        yield session, other


@pytest.mark.parametrize("end", ["abort_transaction", "commit_transaction"])
async def test_a_conflict_is_tried_again_until_the_other_transaction_ends(
    services: Services, end: str
) -> None:
    insert = Insert(services.stores.mongodb.database, "a")
    async with conflict(services) as (session, other):
        waiting = asyncio.create_task(in_transaction(session, insert))
        await eventually(lambda: insert.runs >= 3)
        await getattr(other, end)()
        if end == "abort_transaction":
            assert await waiting == 1
        else:
            with pytest.raises(DuplicateKeyError):
                await waiting


async def test_a_conflict_that_does_not_end_raises_after_the_retry_time(
    services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(transaction, "RETRY_SECONDS", 1.0)
    insert = Insert(services.stores.mongodb.database, "a")
    async with conflict(services) as (session, _):
        began = time.monotonic()
        with pytest.raises(OperationFailure) as caught:
            await in_transaction(session, insert)
        assert time.monotonic() - began >= 1.0
        assert caught.value.code == 112
        assert insert.runs > 1


async def test_a_transaction_sees_one_moment(services: Services) -> None:
    async def work(session: MongoSession) -> list[int]:
        clicks = services.stores.mongodb["clicks"]
        before = await clicks.count_documents({}, session=session)
        await clicks.insert_one({"_id": before})
        return [before, await clicks.count_documents({}, session=session)]

    async with session_of(services) as session:
        assert await in_transaction(session, work) == [0, 0]


async def test_a_transaction_that_the_server_ended_is_tried_again(services: Services) -> None:
    insert = Insert(services.stores.mongodb.database, "a")

    async def work(session: MongoSession) -> int:
        done = await insert(session)
        if insert.runs == 1:
            of_drain: Any = session.session_id
            await services.stores.mongodb.client.admin.command({"killSessions": [of_drain]})
        return done

    async with session_of(services) as session:
        assert await in_transaction(session, work) == 1
    assert insert.runs == 2
    assert await names(services) == {"a"}


@asynccontextmanager
async def relayed(
    services: Services, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[tuple[Relay, Database, MongoSession]]:
    """Yield the relay, database and session of a client whose connection can be cut."""
    # The driver needs half a second to see that a server is back.
    monkeypatch.setattr(drivers, "MONGODB_TIMEOUT_SECONDS", 1.0)
    async with relay(services.settings.mongodb_uri) as way:
        client = drivers.mongodb(f"mongodb://127.0.0.1:{way.port}/?directConnection=true")
        try:
            async with await client.start_session() as session:
                yield way, client[services.settings.mongodb_database], session
        finally:
            await asyncio.to_thread(client.close)  # it says goodbye through the relay
            await services.stores.mongodb.client.admin.command({"killAllSessions": []})


@pytest.mark.parametrize(("arrives", "stored"), [(True, {"a"}), (False, set())])
async def test_a_commit_without_an_answer_raises_and_has_stored_all_or_nothing(
    services: Services, monkeypatch: pytest.MonkeyPatch, arrives: bool, stored: set[str]
) -> None:
    """The work is not tried again while the server is unavailable. Later its writes are found."""
    async with relayed(services, monkeypatch) as (way, database, session):
        way.cut_at(b"commitTransaction", arrives)
        insert = Insert(database, "a", "b")
        with pytest.raises(ConnectionFailure):
            await in_transaction(session, insert)
        assert insert.runs == 1
        assert await names(services) == (stored and {"a", "b"})
        way.mend()
        await database.command("ping")
        if stored:
            with pytest.raises(DuplicateKeyError):
                await in_transaction(session, insert)
        else:
            await in_transaction(session, insert)
        assert await names(services) == {"a", "b"}


@pytest.mark.parametrize("command", [b"abortTransaction", b"insert"])
async def test_an_abandoned_transaction_does_not_hinder_the_next_of_its_session(
    services: Services, monkeypatch: pytest.MonkeyPatch, command: bytes
) -> None:
    """The server may still hold the first transaction, with the document that the next writes."""
    async with relayed(services, monkeypatch) as (way, database, session):

        async def work(session: MongoSession) -> None:
            await Insert(database, "a")(session)
            way.cut_at(command, arrives=False, times=1)
            if command == b"abortTransaction":
                raise RuntimeError
            await Insert(database, "b")(session)

        with pytest.raises((ConnectionFailure, RuntimeError)):
            await in_transaction(session, work)
        assert await names(services) == set()
        await database.command("ping")
        assert await in_transaction(session, Insert(database, "a", "b")) == 2
        assert await names(services) == {"a", "b"}


async def test_a_short_loss_of_the_connection_at_the_commit_is_survived(
    services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The commit may have arrived before the loss or not."""
    async with relayed(services, monkeypatch) as (way, database, session):
        for arrives, one in ((True, "a"), (False, "b")):
            way.cut_at(b"commitTransaction", arrives, times=1)
            insert = Insert(database, one)
            assert await in_transaction(session, insert) == 1
            assert insert.runs == 1
    assert await names(services) == {"a", "b"}

"""Structs become documents and come back the same; updates in one command."""

import copy
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import msgspec
import pytest
from bson.binary import UUID_SUBTYPE
from bson.codec_options import CodecOptions
from pymongo.errors import OperationFailure

from tracker.ids import new_id
from tracker.service.services import Services
from tracker.stores.mongodb.documents import (
    DUPLICATE_KEY,
    StoredId,
    as_document,
    as_read,
    as_struct,
    run_inserts,
    run_updates,
)


class Thing(msgspec.Struct, frozen=True, kw_only=True):
    id: UUID
    name: str
    made: datetime
    owners: list[UUID]
    parent: UUID | None


def thing() -> Thing:
    at = datetime(2026, 1, 31, 9, 30, 0, 123_000, UTC)
    return Thing(id=new_id(), name="ä \0 ✓", made=at, owners=[new_id()], parent=None)


async def test_a_struct_is_read_from_mongodb_as_it_was_stored(services: Services) -> None:
    one = thing()
    things = services.stores.mongodb["things"]
    await things.insert_one({**as_document(one), "added_later": 1})
    row = await things.find_one({"_id": one.id})
    assert row is not None
    assert "id" not in row
    assert as_struct(Thing, row) == one
    del row["name"]
    with pytest.raises(msgspec.ValidationError, match="name"):
        as_struct(Thing, row)


@pytest.mark.parametrize("kind", [StoredId, copy.copy, copy.deepcopy])
async def test_a_stored_id_is_written_like_the_uuid_that_is_read(
    services: Services, kind: Callable[[StoredId], StoredId]
) -> None:
    made = new_id()
    one = kind(StoredId(made.bytes))
    things = services.stores.mongodb["things"]
    await things.insert_one({"_id": one, "parent": one, "name": "x"})
    row = await things.find_one({"_id": made})
    assert row == as_read({"_id": one, "parent": one, "name": "x"})
    assert row == {"_id": made, "parent": made, "name": "x"}
    raw = await things.with_options(CodecOptions()).find_one({"parent": one})
    assert raw is not None
    assert (raw["_id"].subtype, bytes(raw["_id"])) == (UUID_SUBTYPE, made.bytes)


def test_a_stored_id_is_found_by_its_bytes() -> None:
    made, other = new_id().bytes, new_id().bytes
    assert {StoredId(made): 1}[StoredId(bytes(bytearray(made)))] == 1
    assert {made} == {StoredId(made)} != {StoredId(other)}
    assert repr(StoredId(made)) == repr(made)


@pytest.mark.parametrize("size", [0, 15, 17])
def test_a_stored_id_has_16_bytes(size: int) -> None:
    with pytest.raises(ValueError, match="16 bytes"):
        StoredId(bytes(size))


async def test_inserts_are_made_together_or_raise_the_refusal(services: Services) -> None:
    things = services.stores.mongodb["things"]
    await things.insert_one({"_id": 2})
    async with await services.stores.mongodb.client.start_session() as session:
        with pytest.raises(OperationFailure) as raised:
            async with session.start_transaction():
                rows = [{"_id": number, "owner": new_id()} for number in range(4)]
                await run_inserts(services.stores.mongodb.database, "things", rows, session)
        assert raised.value.code == DUPLICATE_KEY
        assert await things.count_documents({}) == 1
        async with session.start_transaction():
            await run_inserts(services.stores.mongodb.database, "things", rows[3:], session)
    assert await things.find_one({"_id": 3}) == rows[3]


async def test_updates_count_their_matches_or_raise_the_refusal(
    services: Services,
) -> None:
    database = services.stores.mongodb.database
    async with await services.stores.mongodb.client.start_session() as session:
        updates: list[dict[str, Any]] = [
            {"q": {"_id": number}, "u": {"$inc": {"n": 1}}, "upsert": number == 1}
            for number in (1, 1, 2)
        ]
        assert await run_updates(database, "things", updates, session) == 2
        assert await run_updates(database, "things", [], session) == 0
        wrong = [{"q": {"_id": 1}, "u": {"$inc": {"n.under": 1}}}]
        with pytest.raises(OperationFailure) as raised:
            await run_updates(database, "things", wrong, session)
    assert raised.value.code == 28
    assert (await services.stores.mongodb["things"].find_one({}) or {})["n"] == 2

"""Structs become documents and come back the same; what is there already is told, not an error."""

from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import msgspec
import pytest
from pymongo.errors import BulkWriteError, WriteError

from tracker.db.documents import document, insert_new, record
from tracker.ids import new_id
from tracker.services import Services


class Thing(msgspec.Struct, frozen=True, kw_only=True):
    id: UUID
    name: str
    made: datetime
    owners: list[UUID]
    parent: UUID | None


def thing() -> Thing:
    at = datetime(2026, 1, 31, 9, 30, 0, 123_000, UTC)
    return Thing(id=new_id(), name="ä \0 ✓", made=at, owners=[new_id()], parent=None)


def test_the_id_of_a_struct_is_that_of_its_document() -> None:
    one = thing()
    row = document(one)
    assert row["_id"] == one.id
    assert "id" not in row


async def test_a_struct_comes_back_from_mongodb_as_it_went(services: Services) -> None:
    one = thing()
    things = services.database["things"]
    await things.insert_one(document(one))
    row = await things.find_one({"_id": one.id})
    assert row is not None
    assert record(Thing, row) == one


def test_fields_of_another_release_are_left_out() -> None:
    one = thing()
    assert record(Thing, {**document(one), "added_later": 1}) == one


def test_a_document_that_lacks_a_field_is_refused() -> None:
    row = document(thing())
    del row["name"]
    with pytest.raises(msgspec.ValidationError, match="name"):
        record(Thing, row)


async def test_inserting_nothing_asks_nobody(services: Services) -> None:
    assert await insert_new(services.database["things"], []) == []


async def test_those_that_are_there_are_told_and_the_others_stored(services: Services) -> None:
    things = services.database["things"]
    await things.create_index("name", unique=True)
    rows: list[dict[str, Any]] = [{"_id": number, "name": str(number)} for number in range(5)]
    assert await insert_new(things, rows[:2]) == []
    twin = {"_id": 9, "name": "3"}
    refused = await insert_new(things, [*rows, twin])
    assert [one["op"]["_id"] for one in refused] == [0, 1, 9]
    assert [list(one["keyPattern"]) for one in refused] == [["_id"], ["_id"], ["name"]]
    assert await things.count_documents({}) == 5


async def test_a_document_refused_for_another_reason_is_raised_and_the_rest_is_stored(
    services: Services,
) -> None:
    things = await services.database.create_collection(
        "validated_things", validator={"name": {"$type": "string"}}
    )
    rows: list[dict[str, Any]] = [{"_id": 1, "name": 1}, {"_id": 2, "name": "x"}]
    with pytest.raises((BulkWriteError, WriteError)):
        await insert_new(things, rows)
    assert await things.distinct("_id") == [2]

"""All documents of a list come once each, in their order, whatever is changed meanwhile."""

from collections.abc import AsyncGenerator
from typing import Any
from uuid import UUID

import pytest

from tests.stores.mongodb.profiler import profiled
from tracker.ids import new_id
from tracker.service.services import Services
from tracker.stores.mongodb import paging
from tracker.stores.mongodb.order import NEWEST_FIRST, OLDEST_FIRST, Order, by_name
from tracker.stores.mongodb.paging import PIECE_BY_A_TEXT, PIECE_DOCUMENTS, RANGE_DOCUMENTS, all_of

COUNT = 2 * PIECE_BY_A_TEXT + 1
BY_NAME = by_name("internal_name")


def pieces_of(
    services: Services, matching: dict[str, Any], order: Order
) -> AsyncGenerator[list[dict[str, Any]], None]:
    hint = "by_account" if order.field is None else "in_order_of_names"
    return all_of(services.stores.mongodb.reads, "links", matching, order, hint)


async def insert(services: Services, *names: str) -> list[dict[str, Any]]:
    rows = [
        {"_id": new_id(), "account_id": 1, "domain_id": None, "slug": name, "internal_name": name}
        for name in names
    ]
    await services.stores.mongodb["links"].insert_many(rows)
    return rows


@pytest.mark.parametrize("order", [NEWEST_FIRST, OLDEST_FIRST, BY_NAME], ids=["new", "old", "name"])
async def test_documents_come_once_each_while_others_are_inserted(
    services: Services, order: Order
) -> None:
    rows = await insert(services, *(f"n{number}" for number in range(COUNT)))
    expected = [row["_id"] for row in (rows[::-1] if order is NEWEST_FIRST else rows)]
    found: list[UUID] = []
    most = PIECE_DOCUMENTS if order.field is None else PIECE_BY_A_TEXT
    async for piece in pieces_of(services, {"account_id": 1}, order):
        assert len(piece) <= most
        if not found:
            await insert(services, "a", "n100a", "z")
        found += [UUID(bytes=row["_id"]) for row in piece]
    assert [one for one in found if one in expected] == expected
    assert len(set(found)) == len(found)


@pytest.mark.parametrize(("name", "which"), [("zzz", 0), ("aaa", COUNT - 1)])
async def test_a_document_that_is_renamed_comes_once(
    services: Services, name: str, which: int
) -> None:
    rows = await insert(services, *(f"n{number}" for number in range(COUNT)))
    found = []
    async for piece in pieces_of(services, {"account_id": 1}, BY_NAME):
        renamed = {"$set": {"internal_name": name}}
        await services.stores.mongodb["links"].update_one({"_id": rows[which]["_id"]}, renamed)
        found += [UUID(bytes=row["_id"]) for row in piece]
    assert found == [row["_id"] for row in rows]


async def test_only_what_matches_is_yielded_and_nothing_of_nothing(services: Services) -> None:
    await insert(services, "a", "b")
    matching = {"account_id": 1, "slug": "b"}
    for order in (NEWEST_FIRST, BY_NAME):
        pieces = [piece async for piece in pieces_of(services, matching, order)]
        assert [row["slug"] for piece in pieces for row in piece] == ["b"]
        none = pieces_of(services, {"account_id": 2}, order)
        assert [piece async for piece in none] == []


async def test_a_piece_in_the_order_of_a_text_costs_as_much_in_any_list(services: Services) -> None:
    await insert(services, *(f"n{number}" for number in range(COUNT)))
    async with profiled(services.stores.mongodb.database) as rows:
        pieces = [piece async for piece in pieces_of(services, {"account_id": 1}, BY_NAME)]
    assert sum(map(len, pieces)) == COUNT
    of_pieces = [row for row in rows if 0 < row["command"].get("limit", 0) < RANGE_DOCUMENTS]
    assert len(of_pieces) == len(pieces)
    assert max(row["keysExamined"] for row in of_pieces) <= 2 * PIECE_BY_A_TEXT
    assert sum(row["docsExamined"] for row in of_pieces) <= COUNT + len(pieces)


async def test_documents_between_those_that_pass_a_filter_are_read_once(
    services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(paging, "PIECE_BY_A_TEXT", 10)
    rows = await insert(services, *(f"n{number}" for number in range(300)))
    passing = [row["_id"] for row in rows[::10]]
    links = services.stores.mongodb["links"]
    await links.update_many({"_id": {"$in": passing}}, {"$set": {"active": True}})
    async with profiled(services.stores.mongodb.database) as read:
        matching = {"account_id": 1, "active": True}
        pieces = [piece async for piece in pieces_of(services, matching, BY_NAME)]
    assert [UUID(bytes=row["_id"]) for piece in pieces for row in piece] == passing
    examined = sum(row.get("docsExamined", 0) for row in read)
    assert examined <= len(rows) + 2 * len(passing), "for their ids, and those by ids"


@pytest.mark.parametrize(
    ("first", "second"), [("same", "same"), ("a", "same"), ("same", "z"), ("Same", "same")]
)
async def test_documents_of_one_name_come_once_each(
    services: Services, first: str, second: str
) -> None:
    rows = await insert(services, *(f"s{number}" for number in range(COUNT)))
    links = services.stores.mongodb["links"]
    for part, name in ((rows[: COUNT // 3], first), (rows[COUNT // 3 :], second)):
        ids = [row["_id"] for row in part]
        await links.update_many({"_id": {"$in": ids}}, {"$set": {"internal_name": name}})
    async with profiled(services.stores.mongodb.database) as read:
        pieces = [piece async for piece in pieces_of(services, {"account_id": 1}, BY_NAME)]
    found = [UUID(bytes=row["_id"]) for piece in pieces for row in piece]
    assert found == [row["_id"] for row in rows]
    examined = sum(row.get("docsExamined", 0) for row in read)
    assert examined <= 3 * COUNT, "for their ids, by ids, and one piece by its range"

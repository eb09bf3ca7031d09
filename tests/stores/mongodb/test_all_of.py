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
        {"_id": (one := new_id()), "account_id": 1, "slug": one.hex, "internal_name": name}
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
    matching = {"account_id": 1, "internal_name": "b"}
    for order in (NEWEST_FIRST, BY_NAME):
        pieces = [piece async for piece in pieces_of(services, matching, order)]
        assert [row["internal_name"] for piece in pieces for row in piece] == ["b"]
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


async def test_documents_of_one_name_come_once_each_through_any_number_of_ranges(
    services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(paging, "RANGE_DOCUMENTS", 3)
    rows = await insert(services, "a", *["same"] * 7, *["Same"] * 2, "z")
    pieces = [piece async for piece in pieces_of(services, {"account_id": 1}, BY_NAME)]
    assert [UUID(bytes=row["_id"]) for piece in pieces for row in piece] == [
        row["_id"] for row in rows
    ]

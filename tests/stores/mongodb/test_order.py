"""The ranges of an index between two positions have each row between them once, in order."""

import itertools
from typing import Any
from uuid import UUID

import pytest

from tracker.ids import new_id
from tracker.service.services import Services
from tracker.stores.mongodb.order import NEWEST_FIRST, OLDEST_FIRST, Order, by_name

BY_NAME = by_name("internal_name")
NAMES = ("b", "B", "a 10", "b", "a 9", "c", "C")
INDEXES = {None: "by_account", "internal_name": "in_order_of_names"}


@pytest.mark.parametrize("order", [NEWEST_FIRST, OLDEST_FIRST, BY_NAME, BY_NAME.reversed()])
async def test_ranges_have_each_row_between_two_positions(services: Services, order: Order) -> None:
    rows: list[dict[str, Any]] = [
        {
            "_id": new_id(),
            "account_id": 1,
            "domain_id": None,
            "slug": f"s{n}",
            "internal_name": name,
        }
        for n, name in enumerate(NAMES)
    ]
    await services.stores.mongodb["links"].insert_many(rows)

    async def ids(limits: dict[str, Any]) -> list[UUID]:
        found = await services.stores.mongodb.reads.find(
            "links",
            {"account_id": 1, "archived": None, **limits},
            sort=order.keys,
            collation=order.collation,
            hint=INDEXES[order.field],
        )
        return [row["_id"] for row in found]

    whole = await ids({})
    by_id = {row["_id"]: row for row in rows}
    positions = [None, *(order.position(one, by_id[one]) for one in whole)]
    for first, last in itertools.combinations(range(len(positions)), 2):
        end = positions[last]
        assert end is not None
        ranges = order.ranges_between(positions[first], end)
        found = [one for limits in ranges for one in await ids(limits)]
        assert found == whole[first:last]

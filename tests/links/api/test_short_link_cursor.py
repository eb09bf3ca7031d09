"""The list of short links by cursor, and totals that are not exact."""

from typing import Any

import pytest

from tests.links.api.short_links import make_many
from tests.web.link_list import listed
from tests.web.world import World
from tracker.ids import new_id
from tracker.links.api.cursors import MAX_CURSOR_CHARACTERS, PageStart, cursor_of, page_start_of
from tracker.links.lists import link_lists
from tracker.stores.mongodb.order import Position


async def page(world: World, **query: Any) -> Any:
    response = await listed(world, query)
    assert response.status == 200, response.body
    return response.json()


@pytest.mark.parametrize("sort", ["newest", "oldest", "name", "slug", "last_click"])
async def test_cursors_lead_through_the_list(world: World, sort: str) -> None:
    await make_many(world.services, world.account, 5)
    whole = await page(world, sort=sort)
    assert whole["next_cursor"] is None
    rows, query, numbers = [], {"sort": sort, "pageSize": 2}, []
    for _ in range(3):
        found = await page(world, **query)
        rows += found["rows"]
        numbers.append(found["pagination"]["page"])
        assert found["pagination"]["totalRows"] == 5
        query["cursor"] = found["next_cursor"]
    assert rows == whole["rows"]
    assert numbers == [1, 2, 3]
    assert query["cursor"] is None


async def test_a_cursor_is_of_its_account_and_sort(world: World) -> None:
    await make_many(world.services, world.account, 2)
    cursor = (await page(world, pageSize=1))["next_cursor"]
    rule = "cursor: must be the next_cursor of a page of the same account and sort"
    for query, error in (
        ({"cursor": cursor, "sort": "oldest"}, rule),
        ({"cursor": cursor[:-1]}, rule),
        ({"cursor": ""}, rule),
        ({"cursor": f"{cursor}="}, rule),
        ({"cursor": "é"}, rule),
        ({"cursor": cursor_of(new_id(), "newest", PageStart(2, Position(None, new_id())))}, rule),
        ({"cursor": cursor, "page": 2}, "page: not with cursor"),
        ({"cursor": cursor, "format": "csv"}, "cursor: not with text/csv, which has all rows"),
    ):
        response = await listed(world, query)
        assert (response.status, response.error) == (400, error)


def test_the_longest_name_fits_in_a_cursor() -> None:
    account, start = new_id(), PageStart(10**9, Position("\U0001f600" * 255, new_id()))
    cursor = cursor_of(account, "name", start)
    assert len(cursor) <= MAX_CURSOR_CHARACTERS
    assert page_start_of(account, "name", cursor) == start


async def test_a_total_that_is_not_exact_says_so(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(link_lists, "COUNTED_LINKS", 3)
    await make_many(world.services, world.account, 5)
    found = (await page(world, pageSize=1, search="example"))["pagination"]
    assert found == {
        "page": 1,
        "pageSize": 1,
        "totalRows": 3,
        "totalPages": 3,
        "totalIsExact": False,
    }

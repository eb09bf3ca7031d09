"""Positions of pages are known as long as nothing has changed, and as many as fit."""

import pytest

from tests.factories import create_link, make_new_link
from tracker.ids import new_id
from tracker.links.counts.recount import LinkRecount
from tracker.links.lists import far_pages, positions
from tracker.links.lists.filter import ORDERS, LinkFilter, LinkOrder
from tracker.links.lists.positions import PagePositions
from tracker.service.services import Services
from tracker.stores.mongodb.order import Position

ACCOUNT = new_id()
FIRST, SECOND = [Position("a", new_id()) for _ in range(2)]


def test_the_last_position_before_a_row_is_found() -> None:
    known = PagePositions()
    known.remember("list", 25, FIRST)
    known.remember("list", 75, SECOND)
    for skip, found in ((24, None), (25, (25, FIRST)), (74, (25, FIRST)), (80, (75, SECOND))):
        assert known.last_before("list", skip) == found
    assert known.last_before("other", 80) is None


def test_the_oldest_positions_and_lists_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(positions, "_POSITIONS", 2)
    monkeypatch.setattr(positions, "_LISTS", 2)
    known = PagePositions()
    for rows in (10, 20, 30):
        known.remember("a", rows, FIRST)
    assert known.last_before("a", 19) is None
    assert known.last_before("a", 20) == (20, FIRST)
    for name in ("b", "c"):
        known.remember(name, 10, FIRST)
    assert known.last_before("a", 99) is None
    assert known.last_before("b", 99) == (10, FIRST)


@pytest.mark.parametrize("order", ORDERS)
async def test_a_page_after_a_known_one_is_right_whatever_changes(
    services: Services, monkeypatch: pytest.MonkeyPatch, order: LinkOrder
) -> None:
    monkeypatch.setattr(far_pages, "NEAR_ROWS", 0)
    monkeypatch.setattr(far_pages, "PIECE_LINKS", 3)
    new = [make_new_link(ACCOUNT, internal_name=f"n{n % 7}") for n in range(40)]
    [first, *_] = await services.links.links.create_all(new)
    await LinkRecount(services.stores.mongodb).correct(ACCOUNT)

    async def check() -> None:
        lists = services.links.lists
        whole = await lists.page(ACCOUNT, LinkFilter(), 1, 100, order)
        for number in (2, 3, 4, 7, 5, 13, 4):
            found = await lists.page(ACCOUNT, LinkFilter(), number, 3, order)
            assert found.links == whole.links[(number - 1) * 3 : number * 3]

    await check()
    await create_link(services, ACCOUNT, None, internal_name="n3")
    await check()
    await services.links.links.change(first.id, {"internal_name": "n99"})
    await check()
    await services.links.links.change(first.id, {"archived": True})
    await check()

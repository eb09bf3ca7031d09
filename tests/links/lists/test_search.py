"""Few links with two frequent tags are searched for once, until a link changes."""

from typing import Any
from uuid import UUID

import pytest

from tests.factories import make_new_link
from tests.stores.mongodb.profiler import profiled
from tracker.ids import new_id
from tracker.links.counts.recount import LinkRecount
from tracker.links.link import Link
from tracker.links.lists import list_counts, pieces, totals
from tracker.links.lists.filter import ORDERS, LinkFilter, LinkOrder
from tracker.links.lists.totals import Total
from tracker.service.services import Services

ACCOUNT, EARLY, LATE, EVEN, ODD = (new_id() for _ in range(5))
LINKS = 400
BOTH = LinkFilter(tags=[EARLY, LATE], all_tags=True)


@pytest.fixture(autouse=True)
def _slow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(list_counts, "_QUICK_SECONDS", 1e-6)
    monkeypatch.setattr(pieces, "PIECE_LINKS", 20)


async def fill(services: Services) -> list[Link]:
    """Make links with the tag EARLY, the oldest with LATE too, and as many with LATE after them."""
    links = []
    for first in range(0, LINKS, 100):
        numbers = range(first, first + 100)
        links += await services.links.links.create_all(list(map(_link, numbers)))
    await LinkRecount(services.stores.mongodb).correct(ACCOUNT)
    return links


def _link(number: int) -> Any:
    tags = [*([EARLY] if number < LINKS / 2 else [LATE]), ODD if number % 2 else EVEN]
    name = f"z{number}" if number else "zz"
    return make_new_link(ACCOUNT, internal_name=name, tags=[*tags, *([] if number else [LATE])])


def keys_of(rows: list[dict[str, Any]]) -> int:
    return sum(row.get("keysExamined", 0) for row in rows if row["ns"].endswith(".links"))


async def ids_of(services: Services, wanted: LinkFilter, order: LinkOrder) -> list[UUID]:
    page = await services.links.lists.page(ACCOUNT, wanted, 1, 25, order)
    assert page.total == Total(len(page.links))
    assert page.next is None
    return [link.id for link in page.links]


@pytest.mark.parametrize("order", ORDERS)
async def test_links_between_two_with_the_other_tag_are_not_read(
    services: Services, order: LinkOrder
) -> None:
    links = await fill(services)
    async with profiled(services.stores.mongodb.database) as rows:
        found = await ids_of(services, BOTH, order)
    assert found == [links[0].id]
    assert keys_of(rows) < LINKS / 4


@pytest.mark.parametrize("order", ORDERS)
async def test_the_next_page_in_any_order_reads_what_was_found(
    services: Services, order: LinkOrder
) -> None:
    await fill(services)
    wanted = LinkFilter(tags=[EVEN, ODD], all_tags=True)
    assert await ids_of(services, wanted, "newest") == []
    assert len(await ids_of(services, BOTH, "newest")) == 1
    async with profiled(services.stores.mongodb.database) as rows:
        assert await ids_of(services, wanted, order) == []
        assert len(await ids_of(services, BOTH, order)) == 1
    assert keys_of(rows) < 5


async def test_a_change_is_seen_at_once(services: Services) -> None:
    links = await fill(services)
    assert await ids_of(services, BOTH, "newest") == [links[0].id]
    await services.links.links.change(links[7].id, {"tags": [EARLY, LATE]})
    for _ in range(2):
        assert await ids_of(services, BOTH, "newest") == [links[7].id, links[0].id]
    await services.links.links.change(links[0].id, {"archived": True})
    assert await ids_of(services, BOTH, "name") == [links[7].id]


@pytest.mark.parametrize("order", ORDERS)
async def test_a_search_beyond_the_time_of_counting_goes_on_for_the_page(
    services: Services, monkeypatch: pytest.MonkeyPatch, order: LinkOrder
) -> None:
    links = await fill(services)
    wanted = LinkFilter(tags=[EVEN, LATE], all_tags=True)
    monkeypatch.setattr(totals, "COUNT_SECONDS", 1e-6)
    async with profiled(services.stores.mongodb.database) as rows:
        assert await ids_of(services, BOTH, order) == [links[0].id]
    assert keys_of(rows) < LINKS / 4
    page = await services.links.lists.page(ACCOUNT, wanted, 4, 25, order)
    assert len(page.links) == 25
    assert page.total == Total(101)

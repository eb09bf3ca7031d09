"""A page far from both ends is reached by an index alone, and then from what is known."""

import pytest

from tests.factories import make_new_link
from tests.stores.mongodb.profiler import profiled
from tracker.ids import new_id
from tracker.links.counts.recount import LinkRecount
from tracker.links.lists import far_pages, totals
from tracker.links.lists.filter import ORDERS, LinkFilter, LinkOrder
from tracker.links.lists.plan import Rows
from tracker.service.services import Services
from tracker.stores.mongodb.order import Position

ACCOUNT = new_id()
LINKS = 200


async def fill(services: Services, monkeypatch: pytest.MonkeyPatch) -> None:
    """Make links of an account whose pieces are small."""
    monkeypatch.setattr(far_pages, "NEAR_ROWS", 5)
    monkeypatch.setattr(far_pages, "PIECE_LINKS", 20)
    new = [
        make_new_link(ACCOUNT, internal_name=f"n{n * 7 % 50}", active=n % 20 > 0)
        for n in range(LINKS)
    ]
    for first in range(0, LINKS, 100):
        await services.links.links.create_all(new[first : first + 100])
    await LinkRecount(services.stores.mongodb).correct(ACCOUNT)


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize(("active", "read"), [(None, 25), (True, 60)])
async def test_links_on_the_way_are_not_read(
    services: Services,
    monkeypatch: pytest.MonkeyPatch,
    order: LinkOrder,
    active: bool | None,
    read: int,
) -> None:
    await fill(services, monkeypatch)
    wanted = LinkFilter(active=active)
    whole = await services.links.lists.page(ACCOUNT, wanted, 1, LINKS, order)
    async with profiled(services.stores.mongodb.database) as rows:
        page = await services.links.lists.page(ACCOUNT, wanted, 18, 5, order)
    assert page.links == whole.links[85:90]
    found = [row for row in rows if row["ns"].endswith(".links")]
    assert sum(row["docsExamined"] for row in found) < read
    assert max(row["keysExamined"] for row in found) < 50


async def test_the_second_far_page_begins_at_a_known_position(
    services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    await fill(services, monkeypatch)

    async def queries(number: int) -> int:
        async with profiled(services.stores.mongodb.database) as rows:
            await services.links.lists.page(ACCOUNT, LinkFilter(), number, 5, "name")
        return len([row for row in rows if row["ns"].endswith(".links")])

    assert await queries(18) > 5
    assert await queries(19) == 1
    assert await queries(10) <= 3


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("counted_links", [50, 10_000])
async def test_a_far_page_of_a_filtered_list_is_read_again_from_its_own_beginning(
    services: Services, monkeypatch: pytest.MonkeyPatch, order: LinkOrder, counted_links: int
) -> None:
    await fill(services, monkeypatch)
    monkeypatch.setattr(totals, "COUNTED_LINKS", counted_links)
    wanted = LinkFilter(search="n", active=True)
    whole = await services.links.lists.page(ACCOUNT, wanted, 1, LINKS, order)
    pages = []
    for number in (15, 15, 16):
        async with profiled(services.stores.mongodb.database) as rows:
            page = await services.links.lists.page(ACCOUNT, wanted, number, 5, order)
        pages.append(page.links)
    assert pages == [whole.links[70:75], whole.links[70:75], whole.links[75:80]]
    [read] = [row for row in rows if row["op"] == "query" and row["ns"].endswith(".links")]
    assert read["docsExamined"] <= 15


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("archives", [False, True])
@pytest.mark.parametrize("read_before", [1, 18])
async def test_after_a_change_each_link_of_a_filtered_list_is_on_one_page(
    services: Services,
    monkeypatch: pytest.MonkeyPatch,
    order: LinkOrder,
    archives: bool,
    read_before: int,
) -> None:
    """The total is remembered for ten seconds, and is not where pages are counted from then."""
    await fill(services, monkeypatch)
    monkeypatch.setattr(totals, "_MANY_LINKS", 20)
    lists, links, wanted = services.links.lists, services.links.links, LinkFilter(search="n")
    before = await lists.page(ACCOUNT, wanted, 1, 5, order)
    await lists.page(ACCOUNT, wanted, read_before, 5, order)
    if archives:
        for link in before.links[:3]:
            await links.change(link.id, {"archived": True})
    else:
        await links.create_all([make_new_link(ACCOUNT, internal_name="n") for _ in range(7)])
    expected = {link.id async for some in lists.all_of(ACCOUNT, wanted) for link in some}
    number = -(-len(expected) // 5)
    pages = [await lists.page(ACCOUNT, wanted, one + 1, 5, order) for one in range(number)]
    found = [link.id for page in pages for link in page.links]
    assert (len(found), set(found)) == (len(expected), expected)


def test_the_way_with_the_fewest_rows_from_a_known_position_is_taken() -> None:
    pages, position = far_pages.FarPages(), Position(None, new_id())
    there, back = Rows(50_000, 26), Rows(40_000, 26, is_reversed=True)
    assert pages.nearest("list", (there, back)) == (back, far_pages.BEGINNING)
    pages.remember("list", far_pages.Reached(20_000, position))
    assert pages.nearest("list", (there, back)) == (there, (20_000, position))
    assert pages.nearest("other", (there, back)) == (back, far_pages.BEGINNING)

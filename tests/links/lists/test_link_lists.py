"""Pages by number and by position are parts of one list, from whichever end they are read."""

from typing import Any
from uuid import UUID

import pytest
from pymongo.errors import ExecutionTimeout

from tests.factories import LANDING, create_link, make_new_link
from tracker.ids import new_id
from tracker.links.counts.recount import LinkRecount
from tracker.links.lists import far_pages, list_counts, pieces, rows, search, totals
from tracker.links.lists.filter import ORDERS, LinkFilter, LinkOrder
from tracker.links.lists.totals import Total
from tracker.service.services import Services
from tracker.stores.mongodb import paging

ACCOUNT, RED, BLUE = (new_id() for _ in range(3))
QUERIES = ("", "?utm_source=News+A&utm_medium=post", "?utm_source=news+B")
NAMES = ("b", "B", "a 10", "a 9", "b", "ä", "b", "c", "B", "b", "a 9")

FILTERS = [
    LinkFilter(),
    LinkFilter(active=True),
    LinkFilter(active=False),
    LinkFilter(archived=True),
    LinkFilter(tags=[RED]),
    LinkFilter(tags=[RED], active=True),
    LinkFilter(tags=[RED, BLUE]),
    LinkFilter(tags=[RED, BLUE], all_tags=True),
    LinkFilter(search="b"),
    LinkFilter(search="b s"),
    LinkFilter(search="b", tags=[RED], active=True),
    LinkFilter(utm={"utm_source": ["News A"]}),
    LinkFilter(utm={"utm_source": ["none"]}),
    LinkFilter(utm={"utm_source": ["none", "News A"], "utm_term": ["none"]}, tags=[BLUE]),
    LinkFilter(utm={"utm_source": ["news B"]}, search="s", active=True),
]


async def make_links(services: Services, complete: bool = True) -> None:
    new = [
        make_new_link(
            ACCOUNT,
            slug=f"s{number}",
            internal_name=name,
            destination_url=f"{LANDING}{QUERIES[number // 3 % 3]}",
            active=number % 4 > 0,
            tags=[RED][: number % 3] + [BLUE][: number % 2],
        )
        for number, name in enumerate(NAMES * 2)
    ]
    links = await services.links.links.create_all(new)
    for one in links[::7]:
        await services.links.links.change(one.id, {"archived": True})
    await create_link(services, new_id(), "not-ours")
    if complete:
        await LinkRecount(services.stores.mongodb).correct(ACCOUNT)


async def ids_of(services: Services, wanted: LinkFilter, order: LinkOrder) -> list[UUID]:
    """Return the ids of the list, as one page has them."""
    found = await services.links.lists.page(ACCOUNT, wanted, 1, 100, order)
    assert found.total == Total(len(found.links))
    assert found.next is None
    ids = [link.id for link in found.links]
    assert len(set(ids)) == len(ids) > 2
    return ids


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("near_rows", [0, 1_000])
@pytest.mark.parametrize("complete", [True, False])
async def test_each_page_is_its_part_of_the_list(
    services: Services,
    monkeypatch: pytest.MonkeyPatch,
    order: LinkOrder,
    near_rows: int,
    complete: bool,
) -> None:
    monkeypatch.setattr(far_pages, "NEAR_ROWS", near_rows)
    monkeypatch.setattr(far_pages, "PIECE_LINKS", 4)
    await make_links(services, complete)
    for wanted in FILTERS:
        ids = await ids_of(services, wanted, order)
        for number in range(1, len(ids) // 3 + 3):
            found = await services.links.lists.page(ACCOUNT, wanted, number, 3, order)
            part = ids[(number - 1) * 3 : number * 3]
            assert [link.id for link in found.links] == part, (wanted, number)
            assert found.total == Total(len(ids))
            assert (found.next is not None) == (number * 3 < len(ids))


@pytest.mark.parametrize("order", ORDERS)
async def test_each_page_after_a_position_goes_on_where_the_one_before_has_ended(
    services: Services, order: LinkOrder
) -> None:
    await make_links(services)
    for wanted in FILTERS:
        ids = await ids_of(services, wanted, order)
        seen: list[UUID] = []
        following: Any = None
        while not seen or following is not None:
            found = await services.links.lists.page(ACCOUNT, wanted, 1, 2, order, following)
            seen += [link.id for link in found.links]
            following = found.next
        assert seen == ids, wanted


def make_slow(monkeypatch: pytest.MonkeyPatch, searched_links: int) -> None:
    """No query is in time, and pieces are small."""
    for reader, limit in (
        (rows, "_TRIED_SECONDS"),
        (rows, "_SORTED_SECONDS"),
        (list_counts, "_QUICK_SECONDS"),
    ):
        monkeypatch.setattr(reader, limit, 1e-6)
    monkeypatch.setattr(pieces, "PIECE_LINKS", 3)
    for module in (search, totals):
        monkeypatch.setattr(module, "COUNTED_LINKS", searched_links)


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("searched_links", [1, 10_000])
@pytest.mark.parametrize("complete", [True, False])
async def test_each_page_is_its_part_of_the_list_if_no_query_is_in_time(
    services: Services,
    monkeypatch: pytest.MonkeyPatch,
    order: LinkOrder,
    searched_links: int,
    complete: bool,
) -> None:
    await make_links(services, complete)
    whole = [await ids_of(services, wanted, order) for wanted in FILTERS]
    make_slow(monkeypatch, searched_links)
    for wanted, ids in zip(FILTERS, whole, strict=True):
        following: Any = None
        for number in range(1, len(ids) // 3 + 2):
            found = await services.links.lists.page(ACCOUNT, wanted, number, 3, order)
            part = ids[(number - 1) * 3 : number * 3]
            assert [link.id for link in found.links] == part, (wanted, number)
            if number == 1 or following is not None:
                found = await services.links.lists.page(ACCOUNT, wanted, 1, 3, order, following)
                assert [link.id for link in found.links] == part, (wanted, number)
                following = found.next


@pytest.mark.parametrize(
    "wanted", [LinkFilter(tags=[RED, BLUE], all_tags=True), LinkFilter(active=True, tags=[RED])]
)
async def test_a_page_that_takes_too_long_is_refused_and_found_later(
    services: Services, monkeypatch: pytest.MonkeyPatch, wanted: LinkFilter
) -> None:
    await make_links(services)
    ids = await ids_of(services, wanted, "name")
    make_slow(monkeypatch, 10_000)
    monkeypatch.setattr(totals, "COUNT_SECONDS", 1e-6)
    with monkeypatch.context() as brief:
        brief.setattr(rows, "SEARCH_SECONDS", 1e-6)
        with pytest.raises(ExecutionTimeout):
            await services.links.lists.page(ACCOUNT, wanted, 2, 2, "name")
    found = await services.links.lists.page(ACCOUNT, wanted, 2, 2, "name")
    assert [link.id for link in found.links] == ids[2:4]


async def test_the_total_of_a_list_that_was_read_to_its_end_is_exact(
    services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    await make_links(services)
    monkeypatch.setattr(totals, "COUNT_SECONDS", 1e-6)
    pages = [
        await services.links.lists.page(ACCOUNT, LinkFilter(search="s1"), 1, n) for n in (2, 20)
    ]
    assert [page.total for page in pages] == [Total(3, is_exact=False), Total(len(pages[1].links))]


@pytest.mark.parametrize("order", ORDERS)
async def test_an_export_has_the_list_in_its_order(
    services: Services, monkeypatch: pytest.MonkeyPatch, order: LinkOrder
) -> None:
    monkeypatch.setattr(paging, "PIECE_DOCUMENTS", 2)
    monkeypatch.setattr(paging, "PIECE_BY_A_TEXT", 2)
    monkeypatch.setattr(paging, "RANGE_DOCUMENTS", 3)
    await make_links(services)
    for wanted in FILTERS:
        pieces = [one async for one in services.links.lists.all_of(ACCOUNT, wanted, order)]
        ids = [link.id for piece in pieces for link in piece]
        assert ids == await ids_of(services, wanted, order), wanted


async def test_more_links_than_are_counted_are_a_total_that_is_not_exact(
    services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(totals, "COUNTED_LINKS", 3)
    await make_links(services)
    wanted = LinkFilter(tags=[RED, BLUE])
    for number, total in ((1, 3), (2, 5), (3, 7)):
        found = await services.links.lists.page(ACCOUNT, wanted, number, 2)
        assert found.total == Total(total, is_exact=False)
    assert (await services.links.lists.page(ACCOUNT, LinkFilter(), 1, 2)).total == Total(18)

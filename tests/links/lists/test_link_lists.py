"""Pages by number and by position are parts of one list, and its total is bounded."""

from typing import Any
from uuid import UUID

import pytest
from pymongo.errors import OperationFailure

from tests.factories import AT_MS, LANDING, create_link, make_new_link
from tests.stores.mongodb.profiler import profiled
from tracker.clock import moment
from tracker.ids import new_id
from tracker.links.counts.recount import LinkRecount
from tracker.links.lists import link_lists
from tracker.links.lists.filter import ORDERS, LinkFilter, LinkOrder
from tracker.links.lists.link_lists import Total
from tracker.service.services import Services
from tracker.stores.mongodb import paging
from tracker.stores.mongodb.reads import MongoReads

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
    LinkFilter(tags=[RED], active=False),
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
WORDS = LinkFilter(search="s", active=True)


async def make_links(services: Services) -> None:
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
    for number, one in enumerate(links):
        if number % 3:
            clicked = {"$set": {"last_click_at": moment(AT_MS + number * 7 % 5)}}
            await services.stores.mongodb["links"].update_one({"_id": one.id}, clicked)
    await create_link(services, new_id(), "not-ours")
    await LinkRecount(services.stores.mongodb).correct(ACCOUNT)


async def ids_of(services: Services, wanted: LinkFilter, order: LinkOrder) -> list[UUID]:
    """Return the ids of the list, as one page has them."""
    found = await services.links.lists.page(ACCOUNT, wanted, 1, 100, order)
    assert found.total == Total(len(found.links))
    assert found.next is None
    ids = [link.id for link in found.links]
    assert len(set(ids)) == len(ids) > 1
    return ids


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("counted", ["kept", "counted", "too many"])
async def test_each_page_is_its_part_of_the_list(
    services: Services, monkeypatch: pytest.MonkeyPatch, order: LinkOrder, counted: str
) -> None:
    await make_links(services)
    whole = [await ids_of(services, wanted, order) for wanted in FILTERS]
    if counted != "kept":  # as in an account of an earlier release
        await services.stores.mongodb["link_counts"].delete_many({})
    if counted == "too many":
        monkeypatch.setattr(link_lists, "COUNTED_LINKS", 1)
    for wanted, ids in zip(FILTERS, whole, strict=True):
        following: Any = None
        for number in range(1, len(ids) // 3 + 3):
            part, is_last = ids[(number - 1) * 3 : number * 3], number * 3 >= len(ids)
            found = await services.links.lists.page(ACCOUNT, wanted, number, 3, order)
            assert [link.id for link in found.links] == part, (wanted, number)
            assert (found.next is None) == is_last
            if counted != "too many" or (part and is_last):
                assert found.total == Total(len(ids))
            if following is not None:
                after = await services.links.lists.page(ACCOUNT, wanted, 1, 3, order, following)
                assert (after.links, after.next) == (found.links, found.next)
            following = found.next


@pytest.mark.parametrize("order", ORDERS)
async def test_an_export_has_the_list_in_its_order(
    services: Services, monkeypatch: pytest.MonkeyPatch, order: LinkOrder
) -> None:
    monkeypatch.setattr(paging, "PIECE_DOCUMENTS", 2)
    monkeypatch.setattr(paging, "PIECE_BY_A_TEXT", 2)
    monkeypatch.setattr(paging, "RANGE_DOCUMENTS", 3)
    await make_links(services)
    whole = [await ids_of(services, wanted, order) for wanted in FILTERS]
    for most in (10_000, 1):
        monkeypatch.setattr(link_lists, "COUNTED_LINKS", most)
        for wanted, ids in zip(FILTERS, whole, strict=True):
            pieces = [one async for one in services.links.lists.all_of(ACCOUNT, wanted, order)]
            assert [link.id for piece in pieces for link in piece] == ids, wanted


async def test_a_total_is_exact_if_it_is_kept_or_counted_or_the_page_is_the_last(
    services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(link_lists, "COUNTED_LINKS", 3)
    await make_links(services)
    page = services.links.lists.page
    totals = [(await page(ACCOUNT, WORDS, number, 5)).total for number in (1, 2, 3, 4)]
    assert totals == [Total(6, False), Total(11, False), Total(13), Total(15, False)]
    after = (await page(ACCOUNT, WORDS, 2, 5)).next
    assert (await page(ACCOUNT, WORDS, 3, 5, after=after)).total == Total(13, False)
    assert (await page(ACCOUNT, LinkFilter(), 1, 2)).total == Total(18)
    assert (await page(ACCOUNT, LinkFilter(search="s1"), 1, 3)).total.is_exact is False
    monkeypatch.setattr(link_lists, "COUNTED_LINKS", 13)
    assert (await page(ACCOUNT, WORDS, 1, 5)).total == Total(13)


async def test_counting_ends_after_its_time_and_the_page_is_read(
    services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    await make_links(services)
    ids = await ids_of(services, WORDS, "name")
    monkeypatch.setattr(link_lists, "COUNT_SECONDS", 1e-6)
    found = await services.links.lists.page(ACCOUNT, WORDS, 2, 5, "name")
    assert [link.id for link in found.links] == ids[5:10]
    assert found.total == Total(11, is_exact=False)


async def test_a_count_that_fails_otherwise_is_an_error(
    services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def fail(*_: Any, **__: Any) -> int:
        raise OperationFailure("no index")

    monkeypatch.setattr(MongoReads, "count", fail)
    with pytest.raises(OperationFailure):
        await services.links.lists.page(ACCOUNT, WORDS, 1, 5)


@pytest.mark.parametrize("order", ORDERS)
async def test_the_rarest_word_leads_to_the_links(
    services: Services, monkeypatch: pytest.MonkeyPatch, order: LinkOrder
) -> None:
    monkeypatch.setattr(link_lists, "COUNTED_LINKS", 2)
    await make_links(services)
    async with profiled(services.stores.mongodb.database) as rows:
        found = await services.links.lists.page(ACCOUNT, LinkFilter(search="s s10"), 1, 5, order)
    assert [link.slug for link in found.links] == ["s10"]
    assert found.total == Total(1)
    assert max(row["keysExamined"] for row in rows if row["ns"].endswith(".links")) < 5

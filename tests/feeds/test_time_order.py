"""Clicks by time: their order, pages while late ones arrive, and what a page examines."""

from collections.abc import Sequence
from typing import Any
from uuid import UUID

import pytest

from tests.conversions.scene import applied
from tests.factories import AT_MS, create_link, make_click, make_click_document
from tests.feeds.scene import ACCOUNT, ALL, bookmark_of, pages_of
from tests.stores.mongodb.profiler import profiled
from tracker.clock import moment
from tracker.feeds import time_order
from tracker.feeds.clicks import MAX_MERGED_LINKS, StoredClick
from tracker.feeds.filter import FeedFilter
from tracker.feeds.page import FeedPage, TimePosition
from tracker.ids import new_id
from tracker.service.services import Services


async def store(services: Services, times: Sequence[int], **fields: Any) -> list[UUID]:
    """Store clicks of these milliseconds after AT_MS, and return their ids."""
    documents = [
        make_click_document(**{"account_id": ACCOUNT, "at": moment(AT_MS + time)} | fields)
        for time in times
    ]
    await services.stores.mongodb["clicks"].insert_many(documents)
    return [document["_id"] for document in documents]


async def all_pages(
    services: Services, wanted: FeedFilter = ALL, size: int = 3
) -> tuple[list[UUID], list[FeedPage[StoredClick]]]:
    """Return the ids on every page, and the pages."""
    pages = await pages_of(services.feeds.click_feed, wanted, size=size)
    return [click.id for page in pages for click in page.rows], pages


@pytest.mark.parametrize("size", [1, 2, 3, 7, 40])
async def test_clicks_are_listed_once_newest_first_and_by_id_within_a_millisecond(
    services: Services, size: int
) -> None:
    late = await store(services, [5, 5, 5])
    early = await store(services, [0, 1, 1, 2, 9])
    tied = await store(services, [5] * 12)
    await store(services, [5], account_id=new_id())
    found, pages = await all_pages(services, size=size)
    tied = sorted([*late, *tied], reverse=True)
    one, other = sorted(early[1:3], reverse=True)
    assert found == [early[4], *tied, early[3], one, other, early[0]]
    assert [len(page.rows) for page in pages[:-1]] == [size] * (len(pages) - 1)


async def test_late_clicks_are_on_the_pages_that_follow_and_repeat_and_hide_none(
    services: Services,
) -> None:
    old = await store(services, range(10))
    feed = services.feeds.click_feed
    first = await feed.page(ACCOUNT, ALL, None, 4)
    newer, late = await store(services, [6, 11]), await store(services, [5, 0])
    rest = await pages_of(feed, ALL, first.next, 3)
    seen = [click.id for page in [first, *rest] for click in page.rows]
    expected = [*old[:5:-1], *sorted([old[5], late[0]], reverse=True), *old[4:0:-1]]
    assert seen[:-2] == expected
    assert set(seen[-2:]) == {old[0], late[1]}
    assert not set(newer) & set(seen)


async def test_the_bookmark_of_the_first_page_begins_after_the_newest_of_its_rows(
    services: Services,
) -> None:
    clicks = [make_click(ACCOUNT, at=AT_MS + number) for number in range(6)]
    await applied(services, clicks)
    first, second = await pages_of(services.feeds.click_feed, size=4)
    assert second.bookmark is None
    await applied(services, [late := make_click(ACCOUNT, at=AT_MS - 1)])
    stored = await services.feeds.click_feed.page(ACCOUNT, ALL, first.bookmark, 10)
    assert [click.id for click in stored.rows] == [UUID(bytes=late.id)]
    assert await bookmark_of(services.feeds.click_feed, ACCOUNT) != first.bookmark


async def test_a_page_examines_a_bounded_number_of_clicks_and_the_next_goes_on(
    services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(time_order, "MAX_EXAMINED", 10)
    await store(services, range(40))
    rare = await store(services, [3, 17, 18, 35], browser="Rare")
    wanted = FeedFilter(values={"browser": ["Rare"]})
    found, pages = await all_pages(services, wanted, size=1)
    assert found == rare[::-1]
    assert [page.searched_to is None for page in pages].count(False) >= 4
    assert pages[-1].next is None
    assert max(len(page.rows) for page in pages) == 1


async def test_more_clicks_in_a_millisecond_than_a_page_examines_do_not_stop_the_pages(
    services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(time_order, "MAX_EXAMINED", 7)
    await store(services, [5] * 30)
    rare = await store(services, [4, 5, 5, 6], browser="Rare")
    wanted = FeedFilter(values={"browser": ["Rare"]})
    found, _ = await all_pages(services, wanted, size=1)
    assert found == [rare[3], *sorted(rare[1:3], reverse=True), rare[0]]


async def test_links_of_other_accounts_are_not_even_looked_at(
    services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(time_order, "MAX_EXAMINED", 2)
    theirs = await create_link(services, new_id())
    await store(services, range(5), link_id=theirs.id, account_id=new_id())
    async with profiled(services.stores.mongodb.database) as rows:
        found, [page] = await all_pages(services, FeedFilter(values={"link": [theirs.id]}))
    assert (found, page.searched_to) == ([], None)
    assert not any(row.get("docsExamined") for row in rows if row["ns"].endswith(".clicks"))


async def test_the_clicks_of_few_links_are_merged_and_those_of_many_found_in_the_account(
    services: Services,
) -> None:
    links = [await create_link(services, ACCOUNT, f"s{number}") for number in range(3)]
    many: list[dict[str, Any]] = [
        {"_id": new_id(), "account_id": ACCOUNT, "domain_id": None, "slug": f"m{n}"}
        for n in range(MAX_MERGED_LINKS)
    ]
    await services.stores.mongodb["links"].insert_many(many)
    own = [(await store(services, [number], link_id=links[number].id))[0] for number in range(3)]
    await store(services, range(9))
    ids = [link.id for link in links[:2]]
    few = FeedFilter(values={"link": ids})
    lots = FeedFilter(values={"link": [*ids, *(row["_id"] for row in many)]})
    assert (await all_pages(services, few))[0] == [own[1], own[0]]
    assert (await all_pages(services, lots))[0] == [own[1], own[0]]


async def examined(
    services: Services, index: str, wanted: FeedFilter = ALL, after: TimePosition | None = None
) -> int:
    """Return the entries of indexes that a page of ten reads, if nothing is sorted in memory."""
    async with profiled(services.stores.mongodb.database) as rows:
        await services.feeds.click_feed.page(ACCOUNT, wanted, after, 10)
    rows = [row for row in rows if row["ns"].endswith(".clicks")]
    assert rows
    assert all(index in row["planSummary"] for row in rows)
    assert not any(row.get("hasSortStage") for row in rows)
    return sum(row["keysExamined"] for row in rows)


async def test_the_cost_of_a_page_does_not_grow_with_the_clicks_of_the_account(
    services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(time_order, "MAX_EXAMINED", 50)
    link, empty = [await create_link(services, ACCOUNT, slug) for slug in ("a", "b")]
    await store(services, range(1000), link_id=link.id)
    middle = TimePosition(moment(AT_MS + 500), UUID(int=2**128 - 1))
    by_account, by_link = "account_id: 1, at: 1", "link_id: 1, at: 1"
    assert await examined(services, by_account) <= 12
    assert await examined(services, by_account, after=middle) <= 12
    last_half = FeedFilter(first=middle.at, last=moment(AT_MS + 900))
    assert await examined(services, by_account, last_half) <= 12
    rare = FeedFilter(values={"browser": ["Rare"]})
    assert await examined(services, by_account, rare) <= 2 * 52
    assert await examined(services, by_account, rare, middle) <= 2 * 52
    of_links = FeedFilter(values={"link": [link.id, empty.id]})
    assert await examined(services, by_link, of_links) <= 14
    both = FeedFilter(values={"link": [link.id], "browser": ["Rare"]})
    assert await examined(services, by_link, both, middle) <= 2 * 54

"""The log of conversions: its order, its pages while events arrive, and what a page examines."""

from collections.abc import Sequence
from typing import Any

import pytest
from tornado.platform.asyncio import AsyncIOLoop

from tests.factories import AT_MS, make_event_document
from tests.stores.mongodb.profiler import profiled
from tracker.clock import moment
from tracker.conversions.document import Attribution
from tracker.feeds import time_order
from tracker.feeds.conversions import SHOWN
from tracker.feeds.filter import FeedFilter
from tracker.feeds.page import TimePosition
from tracker.ids import new_id
from tracker.service.services import Services

ACCOUNT, LINK, CONFIG = new_id(), new_id(), new_id()
ALL = FeedFilter()


async def store(services: Services, numbers: Sequence[int], **fields: Any) -> None:
    """Store events whose times grow with their numbers, two in each millisecond."""
    await services.stores.mongodb["events"].insert_many(
        [
            make_event_document(
                number, **({"account_id": ACCOUNT, "at": moment(AT_MS + number // 2)} | fields)
            )
            for number in numbers
        ]
    )


@pytest.fixture(autouse=True)
def link(services: Services, io_loop: AsyncIOLoop) -> None:
    """Store the link, because a feed finds only those of its account."""
    stored = {"_id": LINK, "account_id": ACCOUNT, "slug": "abc", "tags": []}
    io_loop.run_sync(lambda: services.stores.mongodb["links"].insert_one(stored))


async def ids(services: Services, wanted: FeedFilter = ALL) -> list[int]:
    page = await services.feeds.conversion_feed.page(ACCOUNT, wanted, None, 100)
    return [one.id for one in page.rows]


async def test_an_event_that_is_settled_while_pages_are_read_stays_in_its_place(
    services: Services,
) -> None:
    await store(services, range(1, 9), status=Attribution.PENDING)
    first = await services.feeds.conversion_feed.page(ACCOUNT, ALL, None, 4)
    attributed = {"$set": {"status": Attribution.ATTRIBUTED}}
    await services.stores.mongodb["events"].update_many({"_id": {"$in": [2, 6]}}, attributed)
    second = await services.feeds.conversion_feed.page(ACCOUNT, ALL, first.next, 4)
    assert [one.id for one in (*first.rows, *second.rows)] == list(range(8, 0, -1))


async def test_other_accounts_events_claims_and_events_of_no_account_are_not_listed(
    services: Services,
) -> None:
    await store(services, [1])
    await store(services, [2], account_id=new_id())
    await store(services, [3], account_id=None, status=Attribution.PENDING)
    await store(services, [4], status=Attribution.CLAIMED)
    assert await ids(services) == [1]
    found = [await services.feeds.conversion_feed.find(number) for number in range(1, 6)]
    assert [one is not None for one in found] == [True, True, False, False, False]


async def test_what_arrives_within_the_examined_range_is_neither_repeated_nor_hides_another(
    services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(time_order, "MAX_EXAMINED", 4)
    await store(services, range(1, 40, 2), link_id=LINK)
    log = services.feeds.conversion_feed
    wanted = FeedFilter(values={"link": [LINK]})
    first = await log.page(ACCOUNT, wanted, None, 25)
    assert [one.id for one in first.rows] == [39, 37, 35, 33]
    await store(services, [34, 36, 100])
    second = await log.page(ACCOUNT, wanted, first.next, 25)
    assert [one.id for one in second.rows] == [31, 29, 27, 25]


async def examined(
    services: Services, wanted: FeedFilter, after: TimePosition | None = None
) -> int:
    """Return the entries of indexes that a page of ten reads, if nothing is sorted in memory."""
    async with profiled(services.stores.mongodb.database) as rows:
        await services.feeds.conversion_feed.page(ACCOUNT, wanted, after, 10)
    rows = [row for row in rows if row["ns"].endswith(".events")]
    assert all("status: 1, at: -1, _id: -1" in row["planSummary"] for row in rows)
    assert not any(row.get("hasSortStage") for row in rows)
    return sum(row["keysExamined"] for row in rows)


async def test_the_cost_of_a_page_does_not_grow_with_the_events_of_the_account(
    services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(time_order, "MAX_EXAMINED", 50)
    await store(services, range(1, 1001))
    await store(services, range(1001, 2001), status=Attribution.ATTRIBUTED, link_id=LINK)
    await store(services, [2001, 2002], status=Attribution.REFUSED)
    middle = TimePosition(moment(AT_MS + 250), 501)
    of_a_query = 2 * len(SHOWN)
    page = 11 + of_a_query + 2 + of_a_query  # two of them share the millisecond at the end
    assert await examined(services, ALL) <= page
    assert await examined(services, ALL, middle) <= page
    assert await examined(services, FeedFilter(attributions=[Attribution.REFUSED])) <= page
    assert await examined(services, FeedFilter(first=moment(AT_MS), last=middle.at)) <= page
    rare = FeedFilter(values={"event": [str(CONFIG)], "country": ["DE"]})
    assert await examined(services, rare) <= 2 * (51 + of_a_query)
    assert await examined(services, rare, middle) <= 2 * (51 + of_a_query)

"""A follower gets each click and each state once, however late, by whom, and in which order."""

import asyncio
from datetime import timedelta
from random import Random
from typing import Any
from uuid import UUID

import pytest

from tests.conversions.scene import applied, drain_of
from tests.factories import AT_MS, create_link, make_click, make_conversion
from tests.feeds.scene import (
    ACCOUNT,
    OTHER,
    Follower,
    drain_with_number,
    follow,
    ids_of,
    make_clicks,
    schedule,
    store_arrivals,
)
from tracker.clicks.click import Click
from tracker.clock import moment
from tracker.conversions.document import Attribution
from tracker.errors import BadRequest
from tracker.feeds import storing_order
from tracker.feeds.arrivals import TRANSACTION_NUMBERS
from tracker.feeds.filter import FeedFilter
from tracker.feeds.page import Bookmark
from tracker.feeds.storing_order import MAX_AGE_DAYS
from tracker.service.services import Services
from tracker.stores.mongodb.transaction import MongoSession


async def test_a_transaction_that_was_begun_before_a_poll_and_ends_after_it_is_not_missed(
    services: Services,
) -> None:
    follower = await follow(services.feeds.click_feed, ACCOUNT)
    early, later = (services.clicks.enrichment.document(make_click(ACCOUNT)) for _ in range(2))

    async def store(document: Any, drain_number: int, session: MongoSession) -> None:
        await services.stores.mongodb["clicks"].insert_one(document, session=session)
        await store_arrivals(services, drain_number, session, [document])

    async with (
        await services.stores.mongodb.client.start_session() as first,
        await services.stores.mongodb.client.start_session() as second,
        first.start_transaction(),
    ):
        await store(early, 0, first)
        async with second.start_transaction():
            await store(later, 1, second)
        assert await follower.catch_up() == [UUID(bytes=later["_id"])]
    assert await follower.catch_up() == [UUID(bytes=one["_id"]) for one in (later, early)]


@pytest.mark.parametrize("drains", [(0, 1, 2), (7, 7, 7), (3, 3, 60)])
@pytest.mark.parametrize("seed", range(2))
async def test_whatever_several_drains_store_while_followers_read_each_gets_it_once(
    services: Services, drains: tuple[int, ...], seed: int
) -> None:
    random = Random(seed)
    batches = schedule(random, len(drains))
    followers = [
        await follow(services.feeds.click_feed, account) for account in (ACCOUNT, OTHER, ACCOUNT)
    ]
    over = asyncio.Event()

    async def drain(drain_number: int, own: list[list[Click]]) -> None:
        drain = drain_with_number(services, drain_number)
        for batch in own:
            await drain.apply(batch)

    async def read(follower: Follower) -> None:
        while not over.is_set():
            await follower.page(size=random.randrange(1, 6))
            await asyncio.sleep(0)

    reading = [asyncio.ensure_future(read(one)) for one in followers]
    await asyncio.gather(*map(drain, drains, batches))
    over.set()
    await asyncio.gather(*reading)
    clicks = {click.id: click for own in batches for batch in own for click in batch}
    for follower, account in zip(followers, (ACCOUNT, OTHER, ACCOUNT), strict=True):
        expected = ids_of([one for one in clicks.values() if one.account_id == account.bytes])
        assert sorted(await follower.catch_up()) == sorted(expected)


async def test_pages_of_any_size_lead_through_a_batch_of_several_documents(
    services: Services,
) -> None:
    follower, hasty = [await follow(services.feeds.click_feed, ACCOUNT) for _ in range(2)]
    batches = [make_clicks(ACCOUNT, number) for number in (1500, 1, 1024)]
    for batch in batches:
        await applied(services, batch)
    expected = [one for batch in batches for one in ids_of(batch)]
    assert await follower.catch_up(size=333) == expected
    await hasty.page(size=1023)
    await hasty.page(size=1)
    await hasty.page(size=2)
    assert await hasty.catch_up(size=5000) == expected


async def test_a_filtered_page_looks_at_a_bounded_number_and_the_next_goes_on(
    services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(storing_order, "MAX_EXAMINED", 10)
    link = await create_link(services, ACCOUNT)
    follower = await follow(services.feeds.click_feed, ACCOUNT)
    mine = make_click(ACCOUNT, link_id=link.id.bytes)
    await applied(services, [*make_clicks(ACCOUNT, 25), mine])
    wanted = FeedFilter(values={"link": [link.id]})
    pages = [await follower.page(wanted) for _ in range(3)]
    assert [len(page.rows) for page in pages] == [0, 0, 1]
    assert all(page.next == page.bookmark for page in pages[:2])
    assert pages[0].searched_to is not None
    assert pages[2].searched_to is None
    assert follower.ids == ids_of([mine])


async def test_a_conversion_comes_with_each_state_that_it_is_read_in(services: Services) -> None:
    follower, slow = [await follow(services.feeds.conversion_feed, ACCOUNT) for _ in range(2)]
    click = make_click(ACCOUNT)
    events = [make_conversion(n, click.id, account_id=ACCOUNT.bytes) for n in (1, 2)]
    await applied(services, events)
    await follower.catch_up()
    await applied(services, [click, make_conversion(3, account_id=ACCOUNT.bytes)])
    await follower.catch_up()
    await slow.catch_up(size=1)
    seen = [(row.id, row.status) for row in follower.rows]
    assert sorted(seen) == [
        (1, Attribution.ATTRIBUTED),
        (1, Attribution.PENDING),
        (2, Attribution.ATTRIBUTED),
        (2, Attribution.PENDING),
        (3, Attribution.NO_CLICK),
    ]
    assert sorted((row.id, row.status) for row in slow.rows) == [
        (1, Attribution.ATTRIBUTED),
        (2, Attribution.ATTRIBUTED),
        (3, Attribution.NO_CLICK),
    ]


async def test_a_state_that_only_a_newer_release_knows_is_left_out(services: Services) -> None:
    follower = await follow(services.feeds.conversion_feed, ACCOUNT)
    await applied(services, [make_conversion(n, account_id=ACCOUNT.bytes) for n in (1, 2, 3)])
    arrivals = services.stores.mongodb["arrivals"]
    [stored] = await arrivals.find({"_id.feed": "conversions"}).to_list(2)
    entries = bytearray(stored["entries"])
    entries[len(entries) // 3 * 2 - 1] = 0xFF  # the state of the second
    entry = {"$set": {"entries": bytes(entries)}}
    await arrivals.update_one({"_id": stored["_id"]}, entry)
    await services.stores.mongodb["events"].update_one({"_id": 2}, {"$set": {"status": "later"}})
    assert await follower.catch_up(size=1) == [1, 3]


async def test_a_conversion_of_no_account_comes_once_its_account_is_known(
    services: Services,
) -> None:
    follower, stranger = [
        await follow(services.feeds.conversion_feed, account) for account in (ACCOUNT, OTHER)
    ]
    click = make_click(ACCOUNT)
    await applied(services, [make_conversion(1, click.id)])
    assert await follower.catch_up() == []
    await applied(services, [click])
    assert await follower.catch_up() == [1]
    assert await stranger.catch_up() == []


async def test_states_are_a_filter_and_notifications_are_none_of_them(services: Services) -> None:
    follower = await follow(services.feeds.conversion_feed, ACCOUNT)
    click = make_click(ACCOUNT)
    await applied(services, [make_conversion(1, click.id, account_id=ACCOUNT.bytes)])
    await services.stores.mongodb["events"].update_one(
        {"_id": 1}, {"$set": {"tell_at": moment(AT_MS)}}
    )
    assert await drain_of(services).notify_overdue() == 1
    assert await follower.catch_up(FeedFilter(attributions=[Attribution.ATTRIBUTED])) == []
    await applied(services, [click])
    assert await follower.catch_up(FeedFilter(attributions=[Attribution.ATTRIBUTED])) == [1]


async def test_what_retention_has_deleted_is_left_out(services: Services) -> None:
    follower = await follow(services.feeds.click_feed, ACCOUNT)
    clicks = make_clicks(ACCOUNT, 5)
    await applied(services, clicks)
    gone = {"_id": {"$in": ids_of(clicks[1:4])}}
    await services.stores.mongodb["clicks"].delete_many(gone)
    assert await follower.catch_up(size=2) == ids_of([clicks[0], clicks[4]])


async def test_a_bookmark_is_refused_once_what_follows_it_may_be_deleted(
    services: Services,
) -> None:
    follower = await follow(services.feeds.click_feed, ACCOUNT)
    at, positions = follower.bookmark
    follower.bookmark = Bookmark(at - timedelta(days=MAX_AGE_DAYS, seconds=-60), positions)
    await follower.page()
    follower.bookmark = Bookmark(at - timedelta(days=MAX_AGE_DAYS, seconds=60), positions)
    with pytest.raises(BadRequest, match="since: is older than 7 days"):
        await follower.page()


async def test_a_bookmark_of_what_a_backup_does_not_have_is_refused(services: Services) -> None:
    await applied(services, make_clicks(ACCOUNT, 1))
    follower = await follow(services.feeds.click_feed, ACCOUNT)
    await services.stores.mongodb[TRANSACTION_NUMBERS].delete_many({})
    with pytest.raises(BadRequest, match="since: is newer than a restored backup"):
        await follower.page()


async def test_arrivals_are_deleted_a_day_after_bookmarks_end(services: Services) -> None:
    index = (await services.stores.mongodb["arrivals"].index_information())["expiry"]
    assert index["expireAfterSeconds"] == (MAX_AGE_DAYS + 1) * 24 * 3600

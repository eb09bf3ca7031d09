"""Set-up for tests of feeds: drains, followers, and what a follower has seen."""

from collections.abc import Sequence
from random import Random
from typing import Any
from uuid import UUID

from tests.factories import AT_MS, make_click
from tracker.clicks.click import Click
from tracker.feeds.arrivals import Arrivals
from tracker.feeds.feed import Feed
from tracker.feeds.filter import FeedFilter
from tracker.feeds.page import Bookmark, FeedPage, PageStart
from tracker.ids import new_id
from tracker.ingest.drain import Drain
from tracker.ingest.drain_number import DrainNumber
from tracker.service.services import Services
from tracker.stores.mongodb.transaction import MongoSession

ALL = FeedFilter()
ACCOUNT, OTHER = new_id(), new_id()
HOUR_MS = 3_600_000


async def store_arrivals(
    services: Services, drain_number: int, session: MongoSession, clicks: Any = (), events: Any = ()
) -> None:
    """Store the arrivals of documents, as a drain does at the end of its transaction."""
    await Arrivals(clicks, events).store(services.stores.mongodb.database, drain_number, session)


async def bookmark_of(feed: Feed[Any], account_id: UUID) -> Bookmark:
    """Return where that begins which is stored from now on."""
    page = await feed.page(account_id, ALL, None, 1)
    assert page.bookmark is not None
    return page.bookmark


class Follower:
    """A reader of everything that is stored from the moment that it is made with `follow`."""

    def __init__(self, feed: Feed[Any], account_id: UUID, bookmark: Bookmark) -> None:
        self._feed = feed
        self._account_id = account_id
        self.bookmark = bookmark
        self.rows: list[Any] = []

    @property
    def ids(self) -> list[Any]:
        return [row.id for row in self.rows]

    async def page(self, wanted: FeedFilter = ALL, size: int = 3) -> FeedPage[Any]:
        """Read one page."""
        page = await self._feed.page(self._account_id, wanted, self.bookmark, size)
        assert len(page.rows) <= size
        assert page.bookmark is not None
        self.bookmark = page.bookmark
        self.rows += page.rows
        return page

    async def catch_up(self, wanted: FeedFilter = ALL, size: int = 3) -> list[Any]:
        """Read until nothing more is stored, and return the ids of all rows until now."""
        before = None
        while (await self.page(wanted, size)).next is not None:
            assert self.bookmark != before, "a page led to itself"
            before = self.bookmark
        return self.ids


async def pages_of(
    feed: Feed[Any], wanted: FeedFilter = ALL, start: PageStart | None = None, size: int = 3
) -> list[FeedPage[Any]]:
    """Return all pages of ACCOUNT from `start` on."""
    pages = [await feed.page(ACCOUNT, wanted, start, size)]
    while (following := pages[-1].next) is not None:
        pages.append(await feed.page(ACCOUNT, wanted, following, size))
    return pages


async def follow(feed: Feed[Any], account_id: UUID) -> Follower:
    return Follower(feed, account_id, await bookmark_of(feed, account_id))


def ids_of(clicks: Sequence[Click]) -> list[UUID]:
    return [UUID(bytes=click.id) for click in clicks]


def make_clicks(account_id: UUID, number: int, **fields: Any) -> list[Click]:
    return [make_click(account_id, **fields) for _ in range(number)]


def drain_with_number(services: Services, number: int) -> Drain:
    """Return a drain with this number and no lease, as while Redis is unavailable."""
    drain_number = DrainNumber(services.stores.redis, services.stores.mongodb)
    drain_number._number = number
    return services.ingest.drain(drain_number)


def schedule(random: Random, drains: int) -> list[list[list[Click]]]:
    """Return batches for each drain, whose clicks were made in any order, some delivered twice."""
    batches = []
    for _ in range(drains):
        of_drain = [
            [
                make_click(random.choice((ACCOUNT, OTHER)), at=AT_MS - random.randrange(HOUR_MS))
                for _ in range(random.randrange(1, 9))
            ]
            for _ in range(6)
        ]
        batches.append([*of_drain, random.choice(of_drain)])
    return batches

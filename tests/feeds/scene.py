"""Set-up for tests of feeds: followers, and what a follower has seen."""

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from tests.factories import make_click
from tracker.clicks.click import Click
from tracker.db.transaction import Session
from tracker.feeds.arrivals import Arrivals
from tracker.feeds.feed import Feed
from tracker.feeds.filter import FeedFilter
from tracker.feeds.page import Bookmark, FeedPage
from tracker.ingest.calendars import AccountCalendars
from tracker.service.services import Services

ALL = FeedFilter()


async def store_arrivals(
    services: Services, slot: int, session: Session, clicks: Any = (), events: Any = ()
) -> None:
    """Store the arrivals of documents in a slot, as a drain does at the end of its transaction."""
    calendars = AccountCalendars(services.database)
    known = await calendars.of([], slot)
    number = await calendars.check(known, slot, session)
    await Arrivals(clicks, events).store(services.database, slot, number, session)


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
        while (await self.page(wanted, size)).next is not None:
            pass
        return self.ids


async def follow(feed: Feed[Any], account_id: UUID) -> Follower:
    return Follower(feed, account_id, await bookmark_of(feed, account_id))


def ids_of(clicks: Sequence[Click]) -> list[UUID]:
    return [UUID(bytes=click.id) for click in clicks]


def make_clicks(account_id: UUID, number: int, **fields: Any) -> list[Click]:
    return [make_click(account_id, **fields) for _ in range(number)]

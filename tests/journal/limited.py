"""Visitors of one limited link, whose clicks a test drains by itself."""

import asyncio
import contextlib
from typing import Any, cast
from uuid import UUID

from redis.exceptions import RedisError

from tests.factories import make_click
from tracker.clicks.redirects.limited import LimitedClicks
from tracker.clicks.redirects.redirection import Answer, closed
from tracker.clock import now_ms
from tracker.errors import NotFound, Unavailable
from tracker.ids import new_id
from tracker.ingest.record import ENTRY_DECODER
from tracker.journal.appender import USED_UP
from tracker.journal.journal import Journal
from tracker.links.link import CachedLink
from tracker.links.options import LinkOptions, RedirectOptions
from tracker.links.used_clicks import UsedClicks
from tracker.stores.redis import keys

LIMIT = 60


class LimitedLink:
    """A link of LIMIT clicks. `answered` have got the destination, `stored` were drained."""

    def __init__(self, link_id: UUID | None = None) -> None:
        self.id = link_id or new_id()
        self.answered: set[bytes] = set()
        self.stored: set[bytes | int] = set()
        self.is_used_up = False
        options = RedirectOptions.of(LinkOptions(max_clicks=LIMIT))
        assert options is not None
        self._options = options
        self._link = CachedLink(
            version=1,
            id=self.id.bytes,
            account_id=bytes(16),
            domain_name="",
            destination_url="",
            options=options,
        )

    def limited_by(self, journal: Journal) -> LimitedClicks:
        return LimitedClicks(journal, cast(UsedClicks, self))

    async def find(self, accounts: Any) -> dict[UUID, int]:
        return dict.fromkeys(accounts, len(self.stored))

    async def mark(self, _: CachedLink) -> None:
        self.is_used_up = True

    async def visits(self, clicks: LimitedClicks, number: int) -> list[str]:
        """Return what so many visitors get at the same time."""
        return await asyncio.gather(*(self._visit(clicks) for _ in range(number)))

    async def visits_until_used_up(self, clicks: LimitedClicks) -> None:
        while "ended" not in await self.visits(clicks, 10):
            await asyncio.sleep(0.01)

    async def drain(self, client: Any, partition: int = 0, skip: int = 0) -> None:
        """Store every click of the journal, or leave the first `skip` entries to a slow drain."""
        stream = keys.journal(partition)
        for entry, fields in (await client.xrange(stream))[skip:]:
            self.stored |= {one.id for one in ENTRY_DECODER.decode(fields)}
            await client.xdel(stream, entry)

    async def keep_draining(self, client: Any, partition: int = 0) -> None:
        while True:
            with contextlib.suppress(RedisError):
                await self.drain(client, partition)
            await asyncio.sleep(0.02)

    def _answer(self, state: int) -> Answer:
        return closed(self._options, now_ms(), state == USED_UP) or "destination"

    async def _visit(self, clicks: LimitedClicks) -> str:
        waiter: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        click = make_click(link_id=self.id.bytes)
        await clicks.answer(self._link, self._options, click, True, self._answer, waiter)
        try:
            await waiter
        except NotFound:
            return "ended"
        except Unavailable:
            return "unavailable"
        self.answered.add(click.id)
        return "destination"

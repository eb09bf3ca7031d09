"""The clicks of links with `max_clicks`, answered once the counter in Redis has decided.

At first, and after a change or a failover, the counter is told how many clicks are stored; after a
failover once drains have stored what waits. Bots and tests use none, as drains count none of them.
"""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from functools import partial
from typing import Any, Final, TypeVar
from uuid import UUID

from pymongo.errors import PyMongoError

from tracker.clicks.bots import bot_reason
from tracker.clicks.click import Click
from tracker.errors import Unavailable
from tracker.journal.appender import BEHIND, LAST, NO_CLAIM, OPEN, UNKNOWN, USED_UP, Claim
from tracker.journal.journal import Journal
from tracker.links.link import CachedLink
from tracker.links.options import RedirectOptions
from tracker.links.used_clicks import UsedClicks
from tracker.stores.batch import Batch, Waiter, notify
from tracker.stores.breaker import answer_within

_LOAD_SECONDS: Final = 2.0

Result = TypeVar("Result")


class LimitedClicks:
    """The limited clicks of one process."""

    def __init__(self, journal: Journal, used_clicks: UsedClicks) -> None:
        self._journal = journal
        self._used_clicks = used_clicks
        self._stored = Batch(self._find_stored)
        self._answering = set[asyncio.Task[None]]()

    def begin(self, answer: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(answer)
        self._answering.add(task)
        task.add_done_callback(self._answering.discard)

    async def answer(
        self,
        link: CachedLink,
        options: RedirectOptions,
        click: Click,
        kept: bool,
        answer_if: Callable[[int], Result],
        waiter: Waiter[Result],
        claim: Claim = NO_CLAIM,
    ) -> None:
        """Hand `waiter` the answer, which depends on what became of it. HEAD is not `kept`.

        Raises nothing: `waiter` gets any error, as Unavailable while clicks wait to be stored.
        """
        is_person = bot_reason(click.user_agent, click.purpose) is None
        uses = int(kept and is_person and not click.test)
        of_link = click, kept, options.max_clicks or 0, uses, link.version
        append = partial(self._journal.append_limited, *of_link, claim=claim)
        state = OPEN
        try:
            state = await self._append(link, append)
            answer = answer_if(state)
        except Exception as error:
            if isinstance(error, Unavailable):
                error.headers.setdefault("Retry-After", "1")
            notify(waiter, waiter.set_exception, error)
        else:
            notify(waiter, waiter.set_result, answer)
        if state in (USED_UP, LAST):
            await self._used_clicks.mark(link)

    async def _append(self, link: CachedLink, append: Callable[..., Awaitable[int]]) -> int:
        """Return what became of a click. Raises Unavailable if that is not known yet."""
        state = await append()
        if state == UNKNOWN:
            state = await append(str(await self._stored.submit(link)))
        if state == BEHIND:
            raise Unavailable("clicks are not stored yet; try again")
        return state

    async def _find_stored(self, links: list[CachedLink]) -> Sequence[int]:
        """Return the stored clicks of each link. Raises Unavailable if MongoDB does not answer."""
        accounts = {UUID(bytes=one.id): UUID(bytes=one.account_id) for one in links}
        try:
            found = await answer_within(_LOAD_SECONDS, self._used_clicks.find(accounts))
        except (PyMongoError, TimeoutError) as error:
            raise Unavailable("storage is unavailable; try again") from error
        return [found.get(UUID(bytes=one.id), 0) for one in links]

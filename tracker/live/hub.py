"""The open streams of a process, and the loop that sends them events.

Once a second the loop reads the new arrivals of all watched accounts together (`live/new_rows`). So
an account costs the same with any number of streams. Nothing is sent while access cannot be checked
(`access/open_answers`).
"""

import asyncio
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final
from uuid import UUID

import structlog
from pymongo.errors import PyMongoError
from redis.exceptions import RedisError

from tracker.access.open_answers import OpenAnswers
from tracker.errors import Unavailable
from tracker.feeds.page import Bookmark
from tracker.journal.backlog import Backlog
from tracker.limits.account_limiter import AccountLimiter
from tracker.live.events import events_of, names_of
from tracker.live.new_rows import read_new
from tracker.live.recent import behind_seconds, live_state
from tracker.live.stream import AccountStreams, LiveEvent, LiveStream
from tracker.loops import sleep_in_step
from tracker.stores.mongodb.reads import MongoReads

log = structlog.get_logger(__name__)

MAX_OF_ACCOUNT: Final = 20
MAX_STREAMS: Final = 1000
RETRY_SECONDS: Final = 30
"""The Retry-After beyond the limit of streams."""

_TICK_SECONDS: Final = 0.25
_READ_SECONDS: Final = 1.0
_COUNT_SHARE: Final = 0.05
"""The largest share of time that counts of an account's last minutes may take."""

_COUNT_AGAIN_SECONDS: Final = 5.0
"""The pause after a failed count."""

_COUNTS_AT_ONCE: Final = 8
"""Accounts that are counted at once, so that one slow count delays no other account."""

_UNREACHABLE = (PyMongoError, RedisError, OSError, TimeoutError)


class LiveHub:
    """The streams of a process. `base_host` is the domain of links without one."""

    def __init__(
        self,
        reader: MongoReads,
        backlog: Backlog,
        open_answers: OpenAnswers,
        base_host: str,
    ) -> None:
        self._reader = reader
        self._backlog = backlog
        self._base_host = base_host
        self._open_answers = open_answers
        self._limiter = AccountLimiter(
            "live", "streams", MAX_OF_ACCOUNT, MAX_STREAMS, RETRY_SECONDS
        )
        self._accounts: dict[UUID, AccountStreams] = {}
        self._stopping = False
        self._opened = asyncio.Event()
        self._count_permits = asyncio.Semaphore(_COUNTS_AT_ONCE)
        self._read_to: Bookmark | None = None
        self._next_read_at = 0.0
        self._behind = 0

    @contextmanager
    def open(self, account_id: UUID) -> Iterator[LiveStream]:
        """Open a stream of an account, until the context ends.

        Raises RateLimited if the account has too many open streams. Raises Unavailable if all
        accounts together have too many, or if the service stops.
        """
        if self._stopping:
            retry = {"Retry-After": "1"}
            raise Unavailable("live: the service is about to stop; try again", retry)
        with self._limiter.acquire(account_id):
            account = self._accounts.get(account_id)
            if account is None:
                account = self._accounts[account_id] = AccountStreams(account_id)
            stream = LiveStream()
            if account.state is not None:
                stream.put(account.state)
            account.streams.append(stream)
            self._opened.set()
            try:
                yield stream
            finally:
                account.streams.remove(stream)
                if not account.streams:
                    del self._accounts[account.id]
                if not self._accounts:
                    self._opened.clear()

    def stop(self) -> None:
        """End all streams, and open no more."""
        self._stopping = True
        for stream in self.streams():
            stream.end("stopping")

    def streams(self) -> Iterator[LiveStream]:
        for account in tuple(self._accounts.values()):
            yield from tuple(account.streams)

    async def tick(self) -> None:
        """Send events while streams are open, until cancelled."""
        async with asyncio.TaskGroup() as counting:
            while True:
                await self._opened.wait()
                try:
                    await self._send_new()
                except _UNREACHABLE as error:
                    log.warning("live streams are delayed", error=type(error).__name__)
                    await asyncio.sleep(_READ_SECONDS)
                else:
                    self._count_states(counting)
                await sleep_in_step(_TICK_SECONDS)

    async def _send_new(self) -> None:
        """Send new arrivals, once a second, and at once for a newly watched account."""
        at = time.monotonic()
        if at < self._next_read_at and all(one.is_followed for one in self._accounts.values()):
            return
        self._next_read_at = at + _READ_SECONDS
        self._behind = await behind_seconds(self._backlog)
        accounts = tuple(self._accounts.values())
        followed = {one.id: one for one in accounts if one.is_followed}
        new, end = await read_new(self._reader, self._read_to, followed)
        names = await names_of(self._reader, new.values())
        await self._open_answers.wait_until_checked()
        self._read_to = end
        for account_id, rows in new.items():
            followed[account_id].request_state()
            for event in events_of(rows, names, self._base_host):
                followed[account_id].send(event)
        # From now on all arrivals are sent. So a client that then reads a feed misses nothing.
        for account in accounts:
            account.is_followed = True

    def _count_states(self, counting: asyncio.TaskGroup) -> None:
        at = time.monotonic()
        if not self._open_answers.are_checked:
            return
        for account in self._accounts.values():
            if account.is_followed and not account.is_counting and account.needs_state(at):
                account.is_counting = True
                counting.create_task(self._send_state(account))

    async def _send_state(self, account: AccountStreams) -> None:
        try:
            async with self._count_permits:
                at = time.monotonic()
                account.state_sent_at, account.count_at = at, at + _COUNT_AGAIN_SECONDS
                state = await live_state(self._reader, account.id, self._behind)
                took = time.monotonic() - at
                await self._open_answers.wait_until_checked()
        except _UNREACHABLE as error:
            log.warning("live streams are delayed", error=type(error).__name__)
            account.request_state()
        else:
            account.count_at = at + max(_READ_SECONDS, took / _COUNT_SHARE)
            account.state = LiveEvent("state", state)
            account.send(account.state)
        finally:
            account.is_counting = False

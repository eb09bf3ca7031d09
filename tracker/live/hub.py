"""The open streams of a process, and what lands, which is told to them.

Two loops run while there are streams. One listens to what drains publish. One looks several times
a second what to tell: what has landed since, a state that has changed. So what a stream costs does
not grow with the clicks. Nothing is told while nobody can say whose access still holds
(`access/open_answers`).
"""

import asyncio
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final
from uuid import UUID

import msgspec
import structlog
from pymongo.errors import PyMongoError
from redis.asyncio import Redis
from redis.exceptions import ConnectionError as RedisConnectionError
from redis.exceptions import RedisError

from tracker.access.open_answers import OpenAnswers
from tracker.db import keys
from tracker.db.connect import Database
from tracker.db.redis_cluster import server_of
from tracker.errors import Unavailable
from tracker.journal.backlog import Backlog
from tracker.limits.account_limiter import AccountLimiter
from tracker.live.account_streams import AccountStreams
from tracker.live.events import events_of, state_event
from tracker.live.landed import Landed, decoded
from tracker.live.publisher import watch
from tracker.live.recent import behind_seconds, recent
from tracker.live.stream import LiveStream

log = structlog.get_logger(__name__)

MAX_OF_ACCOUNT: Final = 20
MAX_STREAMS: Final = 1000
RETRY_SECONDS: Final = 30
"""After how long to try again if there are too many streams."""

_TICK_SECONDS: Final = 0.25
_CHECK_SECONDS: Final = 1.0
_WATCH_AGAIN_SECONDS: Final = 10.0
_COUNT_SHARE: Final = 0.05
"""The share of the time that may go into counting an account's last minutes."""

_COUNT_AGAIN_SECONDS: Final = 5.0
"""After how long to count again what could not be counted."""

_AT_ONCE: Final = 8
"""Accounts that are told at once. One whose count takes long holds up nobody else's stream."""

_SILENCE_SECONDS: Final = 5.0
"""How long Redis may be silent, with pings once a second. Beyond that it is gone."""

_UNREACHABLE = (PyMongoError, RedisError, OSError, TimeoutError)


class LiveHub:
    """The streams of a process. `own_host` is the domain of links without one."""

    def __init__(
        self,
        database: Database,
        redis: Redis,
        redis_waiting: Redis,
        open_answers: OpenAnswers,
        own_host: str,
        per_account: int = MAX_OF_ACCOUNT,
        total: int = MAX_STREAMS,
        backlog: Backlog | None = None,
    ) -> None:
        self._backlog = backlog or Backlog(redis)
        self._own_host = own_host
        self._database = database
        self._redis = redis
        self._redis_waiting = redis_waiting
        self._open_answers = open_answers
        self._limiter = AccountLimiter("live", "streams", per_account, total, RETRY_SECONDS)
        self._accounts: dict[UUID, AccountStreams] = {}
        self._stopping = False
        self._opened = asyncio.Event()
        self._hears = asyncio.Event()
        self._turns = asyncio.Semaphore(_AT_ONCE)
        self._watched: frozenset[UUID] = frozenset()
        self._watch_at = 0.0
        self._behind = 0
        self._behind_at = 0.0

    @contextmanager
    def open(self, account_id: UUID) -> Iterator[LiveStream]:
        """Open a stream of an account, until the context ends.

        Raises RateLimited if too many of the account are open, Unavailable if too many of all
        accounts are or the service stops.
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
        """Yield the open streams."""
        for account in tuple(self._accounts.values()):
            yield from tuple(account.streams)

    async def heard(self) -> None:
        """Wait until what drains publish is heard."""
        await self._hears.wait()

    async def listen(self) -> None:
        """Hear what drains publish while streams are open, until cancelled."""
        while True:
            await self._opened.wait()
            try:
                server = await server_of(self._redis_waiting, keys.LIVE)
                async with server.pubsub() as subscription:
                    await subscription.subscribe(keys.LIVE)
                    await self._follow(subscription)
            except (RedisError, OSError, TimeoutError) as error:
                log.warning("live messages are not heard", error=type(error).__name__)
                await asyncio.sleep(_CHECK_SECONDS)
            finally:
                self._hears.clear()

    async def _follow(self, subscription: Any) -> None:
        alive = time.monotonic()
        while self._accounts:
            if time.monotonic() - alive >= _SILENCE_SECONDS:
                raise TimeoutError
            if subscription.connection.is_outdated:
                raise RedisConnectionError("the server is no longer the primary")
            async with asyncio.timeout(_SILENCE_SECONDS):
                message = await subscription.get_message(timeout=_CHECK_SECONDS)
                if message is None:
                    # Of a connection that is gone without a word nothing else would tell.
                    await subscription.ping()
                    continue
            alive = time.monotonic()
            if message["type"] == "subscribe":
                self._watch_at = 0.0  # A server that was started again may not know who watches.
                self._hears.set()
            elif message["type"] == "message":
                self._note(message["data"])

    def _note(self, message: bytes) -> None:
        try:
            landed = decoded(message)
        except msgspec.MsgspecError:  # of another release
            return
        account = self._accounts.get(landed.account_id)
        if account is not None:
            account.landed.add(landed)

    async def tick(self) -> None:
        """Tell streams what there is while some are open, until cancelled."""
        async with asyncio.TaskGroup() as telling:
            while True:
                await self._opened.wait()
                try:
                    await self._look(telling)
                except _UNREACHABLE as error:
                    log.warning("live streams have to wait", error=type(error).__name__)
                    await asyncio.sleep(_CHECK_SECONDS)
                await asyncio.sleep(_TICK_SECONDS)

    async def _look(self, telling: asyncio.TaskGroup) -> None:
        at = time.monotonic()
        accounts = frozenset(self._accounts)
        if at >= self._watch_at or not accounts <= self._watched:
            await watch(self._redis, list(accounts))
            self._watched, self._watch_at = accounts, at + _WATCH_AGAIN_SECONDS
        if at >= self._behind_at:
            self._behind = await behind_seconds(self._backlog)
            self._behind_at = at + _CHECK_SECONDS
        if not self._open_answers.are_checked:
            return
        for account in self._accounts.values():
            if account.has_news(at) and not account.is_told:
                account.is_told = True
                telling.create_task(self._tell(account))

    async def _tell(self, account: AccountStreams) -> None:
        try:
            async with self._turns:
                await self._tell_rows(account)
                await self._tell_state(account)
        except _UNREACHABLE as error:
            log.warning("live streams have to wait", error=type(error).__name__)
        finally:
            account.is_told = False

    async def _tell_rows(self, account: AccountStreams) -> None:
        landed, account.landed = account.landed, Landed(account_id=account.id)
        if not landed.clicks and not landed.conversions:
            return
        account.tell_state_next()
        try:
            events = await events_of(self._database, landed, self._own_host)
        except _UNREACHABLE:
            landed.add(account.landed)
            account.landed = landed
            raise
        await self._open_answers.checked()
        for event in events:
            account.tell(event)

    async def _tell_state(self, account: AccountStreams) -> None:
        at = time.monotonic()
        if not account.wants_state(at):
            return
        account.count_at = at + _COUNT_AGAIN_SECONDS
        counts = await recent(self._database, account.id)
        took = time.monotonic() - at
        await self._open_answers.checked()
        account.count_at = at + max(_CHECK_SECONDS, took / _COUNT_SHARE)
        account.told_at = at
        account.state = state_event(counts, self._behind)
        account.tell(account.state)

"""The number that a drain leases for its rollups, and the MongoDB session that it writes with.

Separate numbers keep drains from waiting for each other. Two with one number are slow, not wrong.

A killed drain's session would hold its uncommitted writes for a minute. A living drain ends it
after finding the number without a lease twice. Once is not enough: a Redis outage expires every
lease.
"""

import asyncio
import contextlib
import random
from collections.abc import Awaitable, Callable
from typing import Any, Final
from uuid import uuid4

import structlog
from bson.binary import UUID_SUBTYPE, Binary
from pymongo.errors import PyMongoError
from redis.asyncio import Redis
from redis.exceptions import RedisError

from tracker.stores.mongodb.database import MongoDB
from tracker.stores.mongodb.transaction import MongoSession
from tracker.stores.redis import keys

log = structlog.get_logger(__name__)

DRAIN_NUMBERS: Final = 64
LEASE_SECONDS: Final = 10.0

_RENEWALS_PER_LEASE: Final = 3
"""Renewals of a lease within its time, and searches for numbers without one."""

_RETRIES_PER_LEASE: Final = 10
"""Tries within the same time during an outage. So a lease is renewed before a second search."""

# Takes or renews a number, unless another drain has its lease or a session recorded with it. KEYS:
# lease, sessions, an unused key. ARGV: holder, lease in ms, number, session.
_ACQUIRE: Final = """
redis.call('DEL', KEYS[3])
local holder = redis.call('GET', KEYS[1])
local session = redis.call('HGET', KEYS[2], ARGV[3])
if holder and holder ~= ARGV[1] or session and session ~= ARGV[4] then return 0 end
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
redis.call('HSET', KEYS[2], ARGV[3], ARGV[4])
return 1
"""

# Frees a number that the holder has leased, and removes its session. KEYS: lease, sessions, an
# unused key. ARGV: holder, number, session.
_RELEASE: Final = """
if redis.call('HGET', KEYS[2], ARGV[2]) == ARGV[3] then redis.call('HDEL', KEYS[2], ARGV[2]) end
if redis.call('GET', KEYS[1]) == ARGV[1] then redis.call('DEL', KEYS[1]) end
"""


class DrainNumber:
    """The number of one drain. Repeat `renew` and `end_dead_sessions` meanwhile."""

    def __init__(self, redis: Redis, mongodb: MongoDB, lease: float = LEASE_SECONDS) -> None:
        self._redis = redis
        self._client = mongodb.client
        self._lease = lease
        self._acquire_script = redis.register_script(_ACQUIRE)
        self._release_script = redis.register_script(_RELEASE)
        self._holder = uuid4().hex
        self._number: int | None = None
        self._session: MongoSession | None = None
        self._starting = asyncio.Lock()
        self._unleased: dict[int, bytes] = {}

    async def session(self) -> MongoSession:
        async with self._starting:  # the drain and both timers may ask at once
            if self._session is None:
                self._session = await self._client.start_session()
            return self._session

    async def number(self) -> int:
        """Return a number below DRAIN_NUMBERS; if none is free, a random one."""
        if self._number is None:
            await self._take()
        if self._number is None:
            self._number = random.randrange(DRAIN_NUMBERS)  # noqa: S311
        return self._number

    async def release(self) -> None:
        with contextlib.suppress(RedisError):
            if self._number is not None:
                names, session = self._keys(self._number), await self._session_id()
                await self._release_script(keys=names, args=[self._holder, self._number, session])
        self._number = None
        if self._session is not None:
            with contextlib.suppress(PyMongoError):
                await self._session.end_session()
            self._session = None

    async def renew(self) -> None:
        """Renew the lease, or take another number if it was lost. Does nothing before `number`."""
        if self._number is not None and not await self._acquire(self._number):
            await self._take()

    async def end_dead_sessions(self) -> None:
        """End the sessions of numbers that have no lease now and had none at the last call."""
        unleased = await self._unleased_sessions()
        for number in [one for one in unleased if unleased[one] == self._unleased.get(one)]:
            await self._end(number, unleased.pop(number))
        self._unleased = unleased

    async def repeat(self, work: Callable[[], Awaitable[None]]) -> None:
        """Run `renew` or `end_dead_sessions` until cancelled, oftener during an outage."""
        pause = self._lease / _RENEWALS_PER_LEASE
        while True:
            await asyncio.sleep(pause)
            try:
                await work()
                pause = self._lease / _RENEWALS_PER_LEASE
            except (RedisError, PyMongoError) as error:
                pause = self._lease / _RETRIES_PER_LEASE
                log.warning(
                    "lease of the drain number not renewed",
                    error=type(error).__name__,
                    seconds=pause,
                )

    async def _take(self) -> None:
        for number in range(DRAIN_NUMBERS):
            if await self._acquire(number):
                self._number = number
                return

    async def _acquire(self, number: int) -> bool:
        milliseconds, session = int(self._lease * 1000), await self._session_id()
        arguments: list[str | int | bytes] = [self._holder, milliseconds, number, session]
        return bool(await self._acquire_script(keys=self._keys(number), args=arguments))

    async def _unleased_sessions(self) -> dict[int, bytes]:
        """Return the sessions of unleased numbers, without our own."""
        recorded: Any = await self._redis.hgetall(keys.DRAIN_SESSIONS)
        sessions = {int(number): session for number, session in recorded.items()}
        pipeline = self._redis.pipeline(transaction=False)
        for number in sessions:
            pipeline.exists(keys.drain_number_lease(number))
        held = dict(zip(sessions, await pipeline.execute(), strict=True))
        own = await self._session_id()
        return {one: sessions[one] for one in sessions if not held[one] and sessions[one] != own}

    async def _end(self, number: int, session: bytes) -> None:
        of_drain = {"id": Binary(session, UUID_SUBTYPE)}
        await self._client.admin.command({"killSessions": [of_drain]})
        # Another drain may have ended it at the same time, and a third may have the number by now.
        await self._release_script(keys=self._keys(number), args=["", number, session])
        log.info("ended the session of a dead drain", drain_number=number)

    async def _session_id(self) -> bytes:
        session_id: Any = (await self.session()).session_id
        return bytes(session_id["id"])

    def _keys(self, number: int) -> list[str]:
        return [
            keys.drain_number_lease(number),
            keys.DRAIN_SESSIONS,
            keys.never_set(keys.DRAIN_SESSIONS),
        ]

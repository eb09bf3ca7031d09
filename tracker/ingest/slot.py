"""A drain's place: the slot of the rollups it counts into, and the MongoDB session it writes with.

Slots keep drains from waiting for each other. A slot is a lease in Redis, of the lowest number that
is free; should two drains share one, that is not a fault, only slower. A drain has one session, so
that a transaction it gave up ends as soon as it begins the next. That of a drain that was killed
would hold what it has written, uncommitted, for a minute: its session is on record with its slot,
and the drains that live end it when the lease has run out.
"""

import contextlib
import random
import time
from typing import Any, Final
from uuid import uuid4

import structlog
from bson.binary import UUID_SUBTYPE, Binary
from redis.asyncio import Redis
from redis.exceptions import RedisError

from tracker.db import keys
from tracker.db.connect import MongoClient, PyMongoError
from tracker.db.transaction import Session

log = structlog.get_logger(__name__)

SLOTS: Final = 64
LEASE: Final = 10
_RENEW_EVERY: Final = 3.0


class Slot:
    def __init__(self, redis: Redis, client: MongoClient) -> None:
        self._redis = redis
        self._client = client
        self._holder = uuid4().hex
        self._number: int | None = None
        self._renew_at = 0.0
        self._session: Session | None = None

    async def session(self) -> Session:
        if self._session is None:
            self._session = await self._client.start_session()
        return self._session

    async def number(self) -> int:
        """From 0 to SLOTS - 1. Does without Redis, and without the end of a dead drain's session,
        if it must. Ask before each transaction: this is what renews the lease."""
        if self._number is None or time.monotonic() > self._renew_at:
            try:
                await self._lease()
                await self._end_dead()
            except (RedisError, PyMongoError) as error:
                log.warning("slot not renewed", error=type(error).__name__)
            if self._number is None:
                self._number = self._any()
            self._renew_at = time.monotonic() + _RENEW_EVERY
        return self._number

    async def leave(self) -> None:
        """Free the slot for the next, and end the session."""
        with contextlib.suppress(RedisError):
            if self._number is not None and await self._holds(self._number):
                # In this order: once the slot is free, the record is that of the next.
                await self._redis.hdel(keys.SLOT_SESSIONS, str(self._number))
                await self._redis.delete(keys.slot(self._number))
        self._number = None
        if self._session is not None:
            with contextlib.suppress(PyMongoError):
                await self._session.end_session()
            self._session = None

    async def _lease(self) -> None:
        """Keep the slot, or take another; if all are taken, share one."""
        if self._number is not None and await self._holds(self._number):
            await self._redis.expire(keys.slot(self._number), LEASE)
            await self._record(self._number)
            return
        self._number = None
        for number in range(SLOTS):
            if await self._redis.set(keys.slot(number), self._holder, nx=True, ex=LEASE):
                self._number = number
                await self._record(number)
                return

    async def _record(self, number: int) -> None:
        """Put our session on record; that of a drain which had the slot before is ended."""
        await self._end_session_of(number)
        await self._redis.hset(keys.SLOT_SESSIONS, str(number), await self._session_id())

    async def _end_dead(self) -> None:
        """End the sessions on record with slots that nobody holds any more."""
        for name in await self._redis.hkeys(keys.SLOT_SESSIONS):
            number = int(name)
            if not await self._redis.exists(keys.slot(number)):
                await self._end_session_of(number)

    async def _end_session_of(self, number: int) -> None:
        recorded: Any = await self._redis.hget(keys.SLOT_SESSIONS, str(number))
        if recorded and recorded != await self._session_id():
            of_drain = {"id": Binary(recorded, UUID_SUBTYPE)}
            await self._client.admin.command({"killSessions": [of_drain]})
            log.info("ended the session of a drain that is gone", slot=number)
        await self._redis.hdel(keys.SLOT_SESSIONS, str(number))

    async def _session_id(self) -> bytes:
        session_id: Any = (await self.session()).session_id
        return bytes(session_id["id"])

    async def _holds(self, number: int) -> bool:
        return bool(await self._redis.get(keys.slot(number)) == self._holder.encode())

    def _any(self) -> int:
        return random.randrange(SLOTS)  # noqa: S311

"""The append of a conversion to the journal, once for each transaction id.

The first event that claims a transaction id has it. A claim is a key in Redis, made together with
the append. While Redis is unavailable or has no room, it is a unique index of MongoDB.
"""

import asyncio
from collections.abc import Sequence
from typing import Final
from uuid import UUID

from pymongo.errors import PyMongoError

from tracker.conversions.conversion import Conversion
from tracker.conversions.look_ups import LOOK_UP_SECONDS, LookUps
from tracker.conversions.resolution import claims_of
from tracker.conversions.store import Conversions
from tracker.errors import Unavailable
from tracker.journal.appender import CLAIM_SECONDS, Claim
from tracker.journal.journal import Journal
from tracker.stores.breaker import answer_within
from tracker.stores.redis.memory_budget import Budget, OptionalWrite

MAX_CLAIMS: Final = 8
"""Fewer than motor has threads. The others wait here, where that is no failure of MongoDB."""


class AppendOnce:
    """The append of conversions, with their claims to transaction ids."""

    def __init__(
        self, journal: Journal, events: Conversions, budget: Budget, look_ups: LookUps
    ) -> None:
        self._journal = journal
        self._events = events
        self._budget = budget
        self._look_ups = look_ups
        self._mongodb = look_ups.mongodb
        self._claiming = asyncio.Semaphore(MAX_CLAIMS)

    async def first(
        self, transaction_id: str, scopes: Sequence[UUID], also_claimed: bool
    ) -> int | None:
        """Return the stored event that had a transaction id first.

        With `also_claimed` it may not be stored yet. A conversion that new rules refuse is then
        answered as before.
        """
        first = await self._look_ups.earlier.submit((scopes, transaction_id))
        if first is None and also_claimed:
            claims = claims_of(transaction_id, scopes, self._journal.partitions)
            first = await self._journal.holder(claims)
        return first

    async def append(self, event: Conversion, scopes: Sequence[UUID]) -> int:
        """Append `event`; return its id, or the id of the first event with its transaction id.

        Raises Unavailable if it cannot be made durable, or no store knows the first event.
        """
        if event.transaction_id is None:
            await self._journal.append(event)
            return event.id
        names = claims_of(event.transaction_id, scopes, self._journal.partitions)
        kind = OptionalWrite.CLAIM if event.account_id else OptionalWrite.CLAIM_WITHOUT_ACCOUNT
        seconds = CLAIM_SECONDS if self._budget.allows(kind) else 0
        holder = await self._journal.append_once(event, Claim(names, event.id, seconds))
        if holder is None:
            return await self._claim_in_mongodb(event, scopes)
        if holder == event.id and not seconds and kind is OptionalWrite.CLAIM:
            return await self._claim_without_redis(event, scopes)
        return holder

    async def _claim_without_redis(self, event: Conversion, scopes: Sequence[UUID]) -> int:
        """Claim in MongoDB beyond the budget of Redis. If MongoDB fails, the drain decides."""
        try:
            return await self._claim_in_mongodb(event, scopes)
        except Unavailable:
            return event.id

    async def _claim_in_mongodb(self, event: Conversion, scopes: Sequence[UUID]) -> int:
        """Return the first event with the transaction id, by the unique index of MongoDB.

        The journal has the event. Raises Unavailable if MongoDB does not answer.
        """
        async with self._claiming:
            if self._mongodb.is_open:
                raise Unavailable("storage is unavailable; try again")
            try:
                return await answer_within(LOOK_UP_SECONDS, self._events.claim(event, scopes))
            except (PyMongoError, TimeoutError) as error:
                self._mongodb.record_failure(error)
                raise Unavailable("storage is unavailable; try again") from error

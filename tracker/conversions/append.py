"""Appends a conversion to the journal, once for each transaction id.

The first conversion to claim a transaction id gets it. The claim is a key in Redis, set together
with the append. While Redis is unavailable or full, a unique index of MongoDB decides.
"""

import asyncio
from collections.abc import Sequence
from typing import Final
from uuid import UUID

from pymongo.errors import PyMongoError

from tracker.conversions.conversion import Conversion
from tracker.conversions.look_ups import LOOK_UP_SECONDS, LookUps
from tracker.conversions.resolution import claim_keys
from tracker.conversions.store import Conversions
from tracker.errors import Unavailable
from tracker.journal.appender import CLAIM_SECONDS, Claim
from tracker.journal.journal import Journal
from tracker.stores.breaker import answer_within
from tracker.stores.redis.memory_budget import Budget, OptionalWrite

MAX_CLAIMS: Final = 8
"""Fewer than motor has threads. Waiting here does not count as a failure of MongoDB."""


class ConversionAppender:
    """Appends conversions, and claims their transaction ids."""

    def __init__(
        self, journal: Journal, conversions: Conversions, budget: Budget, look_ups: LookUps
    ) -> None:
        self._journal = journal
        self._conversions = conversions
        self._budget = budget
        self._look_ups = look_ups
        self._mongodb = look_ups.mongodb
        self._claiming = asyncio.Semaphore(MAX_CLAIMS)

    async def find_first(
        self, transaction_id: str, scopes: Sequence[UUID], also_claimed: bool
    ) -> int | None:
        """Return the id of the first stored conversion with a transaction id.

        `also_claimed` finds claims of unstored ones too. So a repeated conversion is answered as
        before, even if new rules refuse it.
        """
        first = await self._look_ups.earlier.submit((scopes, transaction_id))
        if first is None and also_claimed:
            claims = claim_keys(transaction_id, scopes, self._journal.partitions)
            first = await self._journal.holder(claims)
        return first

    async def append(self, conversion: Conversion, scopes: Sequence[UUID]) -> int:
        """Append `conversion`; return its id, or the id of the first with its transaction id.

        Raises Unavailable if it cannot be made durable, or no store knows the first one.
        """
        if conversion.transaction_id is None:
            await self._journal.append(conversion)
            return conversion.id
        names = claim_keys(conversion.transaction_id, scopes, self._journal.partitions)
        has_account = conversion.account_id is not None
        kind = OptionalWrite.CLAIM if has_account else OptionalWrite.CLAIM_WITHOUT_ACCOUNT
        seconds = CLAIM_SECONDS if self._budget.allows(kind) else 0
        holder = await self._journal.append_once(conversion, Claim(names, conversion.id, seconds))
        if holder is None:
            return await self._claim_in_mongodb(conversion, scopes)
        if holder == conversion.id and not seconds and kind is OptionalWrite.CLAIM:
            return await self._claim_without_redis(conversion, scopes)
        return holder

    async def _claim_without_redis(self, conversion: Conversion, scopes: Sequence[UUID]) -> int:
        """Claim in MongoDB, because Redis' budget is used up. If it fails, the drain decides."""
        try:
            return await self._claim_in_mongodb(conversion, scopes)
        except Unavailable:
            return conversion.id

    async def _claim_in_mongodb(self, conversion: Conversion, scopes: Sequence[UUID]) -> int:
        """Return the id of the first conversion with the transaction id, by the unique index.

        The journal has `conversion` already. Raises Unavailable if MongoDB does not answer.
        """
        async with self._claiming:
            if self._mongodb.is_open:
                raise Unavailable("storage is unavailable; try again")
            try:
                return await answer_within(
                    LOOK_UP_SECONDS, self._conversions.claim(conversion, scopes)
                )
            except (PyMongoError, TimeoutError) as error:
                self._mongodb.record_failure(error)
                raise Unavailable("storage is unavailable; try again") from error

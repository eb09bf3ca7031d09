"""Appends a conversion to the journal, once for each transaction id, and counts repeats.

The first conversion to claim a transaction id gets it. The claim is a key in Redis, set together
with the append. While Redis is unavailable or full, a unique index of MongoDB decides.
"""

import asyncio
import contextlib
from collections.abc import Sequence
from typing import Final, Generic, TypeVar
from uuid import UUID

from msgspec import Struct
from pymongo import UpdateOne
from pymongo.errors import PyMongoError
from redis.asyncio import Redis

from tracker.clock import moment, now_ms
from tracker.conversions.conversion import Conversion
from tracker.conversions.corrections.status import OnRepeat, is_click_key
from tracker.conversions.document import REPEATED
from tracker.conversions.look_ups import LOOK_UP_SECONDS, LookUps
from tracker.conversions.postbacks.aliases import MAX_WARNINGS, SHARED_ID
from tracker.conversions.postbacks.parameters import ConversionParameters
from tracker.conversions.resolution import claim_keys
from tracker.conversions.store import Conversions
from tracker.errors import Unavailable
from tracker.journal.appender import CLAIM_SECONDS, Claim
from tracker.journal.journal import Journal
from tracker.stores.batch import Waiter
from tracker.stores.breaker import answer_within
from tracker.stores.mongodb.database import MongoDB
from tracker.stores.redis.memory_budget import Budget, OptionalWrite

Result = TypeVar("Result")

MAX_CLAIMS: Final = 8
"""Fewer than motor has threads. Waiting here does not count as a failure of MongoDB."""

MAX_REPEATED: Final = 200
"""Conversions whose repeats may wait. Repeats of further conversions are not counted."""
_UNSTORED_SECONDS: Final = 600
"""Repeats wait so long for a conversion that is still in the journal."""


_CLAIM_TTL_SECONDS: Final = 3600
"""Time that Redis has a transaction id after MongoDB: longer than any look-up, or a short outage of
MongoDB."""

_UNOWNED_CLAIM_TTL_SECONDS: Final = 60
"""The shorter time for events without an account: strangers can send any number of them."""


class _Repeated(Struct):
    """The repeats of a conversion since they were last stored. `is_shared`: by another click."""

    times: int = 0
    last_at: int = 0
    is_shared: bool = False


class Repeats:
    """Counts the repeats of transaction ids on their first conversions, for people who look.

    They wait in memory, and a loop stores them once a second: one statement for each conversion,
    however often it is repeated. A killed process loses its last second.
    """

    def __init__(self, mongodb: MongoDB) -> None:
        self._events = mongodb["events"]
        self._waiting: dict[int, _Repeated] = {}

    def record(self, first: int) -> None:
        """Count one more repeat of the conversion `first`."""
        if repeated := self._repeated(first):
            repeated.times += 1

    def mark_shared(self, first: int) -> None:
        """Add to `first` that a recorded repeat had another click."""
        if repeated := self._repeated(first):
            repeated.is_shared = True

    async def store(self) -> None:
        """Store the repeats of stored conversions. They are lost if that fails."""
        if not self._waiting:
            return
        rows = self._events.find({"_id": {"$in": list(self._waiting)}}, {"_id": 1})
        stored = [int(row["_id"]) async for row in rows]
        counted = [_counted(one, self._waiting.pop(one)) for one in stored if one in self._waiting]
        since = now_ms() - _UNSTORED_SECONDS * 1000
        self._waiting = {one: row for one, row in self._waiting.items() if row.last_at >= since}
        if counted:
            await self._events.bulk_write(counted, ordered=False)

    def _repeated(self, first: int) -> _Repeated | None:
        """Return the waiting repeats of a conversion; None if there is no room for them."""
        if first not in self._waiting and len(self._waiting) >= MAX_REPEATED:
            return None
        repeated = self._waiting.setdefault(first, _Repeated())
        repeated.last_at = now_ms()
        return repeated


def _counted(first: int, repeated: _Repeated) -> UpdateOne:
    """Change only fields that count nothing, so it may come between any two transactions."""
    return UpdateOne(
        {"_id": first},
        {
            "$inc": {"repeats": repeated.times},
            "$max": {"last_repeat_at": moment(repeated.last_at)},
            "$addToSet": {"warnings": {"$each": [REPEATED, *[SHARED_ID] * repeated.is_shared]}},
        },
    )


class _AppendWaiter(Generic[Result]):
    """Hands a result on once a conversion is durable."""

    __slots__ = ("_result", "_waiter")

    def __init__(self, waiter: Waiter[Result], result: Result) -> None:
        self._waiter = waiter
        self._result = result

    def done(self) -> bool:
        return self._waiter.done()

    def set_result(self, _: int | None) -> None:
        self._waiter.set_result(self._result)

    def set_exception(self, error: Exception) -> None:
        self._waiter.set_exception(error)


class ConversionAppender:
    """Appends conversions, and claims their transaction ids."""

    def __init__(
        self,
        journal: Journal,
        conversions: Conversions,
        budget: Budget,
        look_ups: LookUps,
        repeats: Repeats,
    ) -> None:
        self._journal = journal
        self._conversions = conversions
        self._budget = budget
        self._look_ups = look_ups
        self._repeats = repeats
        self._mongodb = look_ups.mongodb
        self._claiming = asyncio.Semaphore(MAX_CLAIMS)

    async def find_first(
        self, transaction_id: str, scopes: Sequence[UUID], also_claimed: bool
    ) -> int | None:
        """Return the id of the first stored conversion with a transaction id.

        `also_claimed` finds claims of unstored ones too. So a repeated conversion is answered as
        before, even if new rules refuse it. Raises Unavailable if Redis does not tell.
        """
        first = await self._look_ups.earlier.submit((scopes, transaction_id))
        if first is None and also_claimed:
            claims = claim_keys(transaction_id, scopes, self._journal.partitions)
            first = await self._journal.holder(claims)
        return first

    def record_repeat(self, first: int) -> None:
        self._repeats.record(first)

    def record_shared(self, first: int) -> None:
        self._repeats.mark_shared(first)

    async def warned(
        self, parameters: ConversionParameters, first: int, warnings: tuple[str, ...]
    ) -> tuple[str, ...]:
        """Return the warnings of a repeat. `first` has its transaction id.

        An id such as `0` may be a filler that all conversions share: their clicks differ then.
        """
        click_id = parameters.click_id
        if click_id is None or is_click_key(parameters.transaction_id or ""):
            return warnings
        if await self._look_ups.clicks.submit(first) in (None, click_id):
            return warnings
        return (SHARED_ID, *warnings)[:MAX_WARNINGS]

    async def append(self, conversion: Conversion, scopes: Sequence[UUID]) -> int:
        """Append `conversion`; return its id, or the id of the first with its transaction id.

        Without `scopes` nothing is claimed. A restatement is appended even if it is not the first.
        Raises Unavailable if it cannot be made durable, or no store knows the first one.
        """
        if conversion.transaction_id is None or not scopes:
            await self._journal.append(conversion)
            return conversion.id
        return await self._append_once(conversion, scopes)

    def append_and_notify(
        self, conversion: Conversion, waiter: Waiter[Result], result: Result
    ) -> None:
        """Append a conversion without texts of its sender, and hand `result` to `waiter`.

        Raises Unavailable if too many wait.
        """
        self._journal.append_and_notify(conversion, _AppendWaiter(waiter, result))

    async def _append_once(self, conversion: Conversion, scopes: Sequence[UUID]) -> int:
        names = claim_keys(conversion.transaction_id, scopes, self._journal.partitions)
        has_account = conversion.account_id is not None
        kind = OptionalWrite.CLAIM if has_account else OptionalWrite.CLAIM_WITHOUT_ACCOUNT
        seconds = CLAIM_SECONDS if self._budget.allows(kind) else 0
        holder = await self._journal.append_once(conversion, Claim(names, conversion.id, seconds))
        if holder is None:
            return await self._claim_in_mongodb(conversion, scopes)
        if holder == conversion.id and not seconds and has_account:
            # The budget of Redis is used up. If MongoDB fails too, the drain decides.
            with contextlib.suppress(Unavailable):
                return await self._claim_in_mongodb(conversion, scopes)
        report = conversion.report
        if holder != conversion.id and report and report.on_repeat == OnRepeat.UPDATE:
            await self._journal.append(conversion)
        return holder

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


async def release_claims(redis: Redis, stored: Sequence[Conversion], partitions: int) -> None:
    """Let the claims of stored conversions expire."""
    claims: dict[str, int] = {}
    for one in stored:
        ids = (one.transaction_scope, one.click_id)
        scopes = [UUID(bytes=scope) for scope in ids if scope is not None]
        ttl = _CLAIM_TTL_SECONDS if one.account_id else _UNOWNED_CLAIM_TTL_SECONDS
        claims |= dict.fromkeys(claim_keys(one.transaction_id, scopes, partitions), ttl)
    if not claims:
        return
    pipeline = redis.pipeline(transaction=False)
    for name, seconds in claims.items():
        pipeline.expire(name, seconds)
    await pipeline.execute()

"""A consumer of the journal: applies its entries, then acknowledges and deletes them.

Another consumer reclaims the entries of a dead one after STALE_SECONDS. A record that cannot be
decoded or stored goes to the dead letters with the reason.
"""

import asyncio
import contextlib
import os
import socket
import time
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from typing import Any, NamedTuple
from uuid import uuid4

import structlog
from redis.asyncio import Redis
from redis.exceptions import RedisError

from tracker import metrics
from tracker.ingest.faults import is_fault_of_record, is_retryable, is_too_large, reason_of
from tracker.ingest.pace import Pace
from tracker.ingest.record import ENTRY_DECODER, Record
from tracker.journal.dead_letters import DeadLetters
from tracker.journal.entry import Fields, encode, fields_of
from tracker.journal.reader import DecodedEntry, JournalReader
from tracker.loops import cancel_and_wait, record_failure, wait
from tracker.stores.redis.clients import BLOCK_SECONDS
from tracker.stores.redis.keys import DRAIN_GROUP, JOURNAL

log = structlog.get_logger(__name__)

STALE_SECONDS = 10.0
"""Seconds without acknowledgement after which an entry's consumer counts as dead."""

MAX_TRIES = 5
"""Tries of an entry whose error may be ours. Then its failing records become dead letters."""

BATCH_RECORDS = 32_000
"""Records of one batch, reached only by a backlog. With a thousand links a click costs MongoDB a
third less than in batches of 3,000: clicks share rollups."""

_MAX_HEARTBEATS = 18
"""Renewals of the claim on a slow batch, one each third of STALE_SECONDS: a minute in total."""

_MAX_IDLE_SECONDS = 3600.0
"""Seconds after which a consumer without pending entries counts as dead."""

_ENTRIES_PER_ACKNOWLEDGEMENT = 200
"""Entries of one acknowledgement, because Redis serves no other client meanwhile."""

_BACKOFF_SECONDS = (0.1, 0.2, 0.5, 1.0, 2.0, 5.0)


class Priority(NamedTuple):
    """A consumer's priority: it reads each time `may_read` has waited and returned True.

    `may_read` returns at once if its argument is set. `block` is the time in seconds to wait for
    entries.
    """

    may_read: Callable[[asyncio.Event], Coroutine[Any, Any, bool]]
    block: float | None


async def _always(stop: asyncio.Event) -> bool:
    return not stop.is_set()


HIGHEST = Priority(_always, BLOCK_SECONDS)


class Consumer:
    """A consumer of the drains' group. `blocking` is a Redis client for blocking reads."""

    def __init__(
        self,
        redis: Redis,
        blocking: Redis,
        apply: Callable[[Sequence[Record]], Awaitable[None]],
        stale: float = STALE_SECONDS,
        batch: int = BATCH_RECORDS,
        stream: str = JOURNAL,
        priority: Priority = HIGHEST,
    ) -> None:
        self.behind = asyncio.Event()
        """Set while the stream has more entries than the last batch read."""
        self._stream = stream
        self._priority = priority
        self._redis = redis
        self._apply = apply
        self._stale = stale
        self._name = f"{socket.gethostname()}-{os.getpid()}-{uuid4().hex[:8]}"
        self._reader = JournalReader(redis, blocking, ENTRY_DECODER, self._name, stale, stream)
        self._dead_letters = DeadLetters(redis, ENTRY_DECODER)
        self._failing: bytes = b""
        self._failures = 0
        self._batch = self._limit = batch
        self._pace = Pace()

    async def run(self, stop: asyncio.Event) -> None:
        """Apply the journal until `stop` is set; the batch under way is finished."""
        failures = 0
        with contextlib.suppress(RedisError):  # no group yet, or Redis is unavailable
            await self.remove_idle_consumers()
        while not stop.is_set():
            try:
                await self._work(stop)
                failures = 0
            except Exception as error:
                self._limit = max(1, self._limit // 2)
                if not is_retryable(error):
                    record_failure("drain", error)
                pause = _BACKOFF_SECONDS[min(failures, len(_BACKOFF_SECONDS) - 1)]
                failures += 1
                log.warning("drain waits", error=type(error).__name__, seconds=pause)
                await wait(stop, pause)

    async def _work(self, stop: asyncio.Event) -> None:
        if await self._priority.may_read(stop):
            await self._step(self._priority.block)
        self._limit = min(self._limit + self._limit // 8 + 1, self._batch)
        if self._reader.is_behind:
            self.behind.set()
        else:
            self.behind.clear()
            await wait(stop, self._pace.rest(time.monotonic()))

    async def remove_idle_consumers(self) -> None:
        """Remove consumers from the group that are long idle and have nothing pending."""
        consumers: Any = await self._redis.xinfo_consumers(self._stream, DRAIN_GROUP)
        for one in consumers:
            if not one["pending"] and one["idle"] > _MAX_IDLE_SECONDS * 1000:
                await self._reader.remove_consumer(one["name"])

    async def deregister(self) -> None:
        """Remove this consumer from the group, unless it has pending entries."""
        try:
            await self._reader.remove_consumer(self._name)
        except RedisError:
            log.debug("consumer name left behind", name=self._name)

    async def _step(self, block: float | None) -> int:
        entries = await self._reader.next_entries(self._limit, block)
        began = time.monotonic()
        if entries:
            keeping = self._keep_claim([one for one, _ in entries])
            claiming = asyncio.get_running_loop().create_task(keeping)
            try:
                async with contextlib.aclosing(self._reader.batches(entries, self._limit)) as some:
                    async for batch in some:
                        await self._process(batch)
            finally:
                await cancel_and_wait(claiming)
            self._reader.finish()
            self._pace.record(began, time.monotonic())
        return len(entries)

    async def _keep_claim(self, ids: list[bytes]) -> None:
        """Renew the claim on entries, so that no other consumer reclaims them."""
        for _ in range(_MAX_HEARTBEATS):
            await asyncio.sleep(self._stale / 3)
            with contextlib.suppress(RedisError):
                pending: Any = await self._redis.xpending_range(
                    self._stream, DRAIN_GROUP, ids[0], ids[-1], len(ids), consumername=self._name
                )
                if mine := [one["message_id"] for one in pending]:
                    await self._redis.xclaim(
                        self._stream, DRAIN_GROUP, self._name, 0, mine, justid=True
                    )

    async def _process(self, batch: Sequence[DecodedEntry[Record]]) -> None:
        try:
            for entry in batch:
                if entry.error is not None:
                    raise entry.error
            await self._store([record for entry in batch for record in entry.records])
            await self._acknowledge(batch)
        except Exception as error:
            if is_retryable(error):
                raise
            if len(batch) == 1:
                if not is_fault_of_record(error):
                    self._count_failure(batch[0], error)
                await self._store_individually(batch[0], error)
                return
            middle = len(batch) // 2
            await self._process(batch[:middle])
            await self._process(batch[middle:])

    async def _store(self, records: Sequence[Record]) -> None:
        """Apply `records`, in halves if they are too large for one transaction."""
        try:
            await self._apply(records)
        except Exception as error:
            if not is_too_large(error) or len(records) < 2:
                raise
            middle = len(records) // 2
            await self._store(records[:middle])
            await self._store(records[middle:])

    def _count_failure(self, entry: DecodedEntry[Record], error: Exception) -> None:
        """Raise `error` for another try, until the entry has failed MAX_TRIES times."""
        if entry.id != self._failing:
            self._failing, self._failures = entry.id, 0
        self._failures += 1
        if self._failures < MAX_TRIES:
            raise error

    async def _store_individually(self, entry: DecodedEntry[Record], error: Exception) -> None:
        if entry.error is not None:
            await self._add_dead_letter(entry.id, entry.fields, error)
        for record in entry.records:
            try:
                await self._apply([record])
            except Exception as refusal:
                if is_retryable(refusal):
                    raise
                await self._add_dead_letter(entry.id, fields_of(encode([record])), refusal)
        await self._acknowledge([entry])

    async def _acknowledge(self, batch: Sequence[DecodedEntry[Record]]) -> None:
        for start in range(0, len(batch), _ENTRIES_PER_ACKNOWLEDGEMENT):
            ids = [entry.id for entry in batch[start : start + _ENTRIES_PER_ACKNOWLEDGEMENT]]
            # No transaction: a full Redis 7.0 refuses any. An acknowledged entry that was not
            # deleted would stay for ever, so the deletion is first.
            pipeline = self._redis.pipeline(transaction=False)
            pipeline.xdel(self._stream, *ids)
            pipeline.xack(self._stream, DRAIN_GROUP, *ids)
            await pipeline.execute()

    async def _add_dead_letter(self, entry_id: bytes, fields: Fields, error: Exception) -> None:
        reason = reason_of(error)
        log.error("entry goes to the dead letters", entry=entry_id.decode(), reason=reason)
        await self._dead_letters.add(self._stream, entry_id, fields, reason)
        metrics.DEAD_LETTERS.inc()

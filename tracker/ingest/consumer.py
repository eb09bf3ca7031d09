"""Reads the journal as one consumer of a group and acknowledges what is applied.

An entry is acknowledged and deleted only after it is applied; one that a dead consumer left is
taken over after STALE seconds. While a store is away the consumer waits, longer each time. An
entry that cannot be decoded, and of the others each record that cannot be stored, goes to the dead
letters with the reason, so that it never blocks the rest.
"""

import asyncio
import contextlib
import os
import socket
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from typing import Any
from uuid import uuid4

import structlog
from redis.asyncio import Redis
from redis.exceptions import RedisError

from tracker import metrics
from tracker.db.connect import BLOCK_SECONDS
from tracker.db.keys import DRAIN_GROUP, JOURNAL
from tracker.ingest.faults import is_fault_of_record, is_to_wait, is_too_much, reason_of
from tracker.ingest.record import ENTRIES, Record
from tracker.journal.dead_letters import DeadLetters
from tracker.journal.entry import Fields, encode, fields_of
from tracker.journal.reader import DecodedEntry, Entry, Reader
from tracker.loops import cancel_and_wait, record_failure

log = structlog.get_logger(__name__)

STALE = 10.0
"""Seconds without acknowledgement after which an entry counts as left by a dead consumer."""

TRIES = 5
"""How often an entry may fail, for a reason not known to be its fault, before it is given up."""

BATCH = 16_000
"""Records of one batch. All that has come is applied together, for clicks share the rollups of
their links then: with the traffic of a thousand links a click costs MongoDB a third less than in
batches of three thousand."""

_LONGEST_REST = 0.5
"""Seconds between two batches, at most: as long as the last one took, unless there is a backlog.
What comes meanwhile shares the next, which costs less each; and requests get their turn."""

_KEPT = 18
"""How often a slow batch is kept from others, each time for a third of STALE: a minute in all."""

_DEAD = 3600.0

_ACKNOWLEDGED = 200
"""Entries of one command: until it ends, Redis answers nobody else."""

_BACKOFF = (0.1, 0.2, 0.5, 1.0, 2.0, 5.0)


class Consumer:
    """`waiting` is a client whose timeout is longer than a blocking read."""

    def __init__(
        self,
        redis: Redis,
        waiting: Redis,
        apply: Callable[[Sequence[Record]], Awaitable[None]],
        stale: float = STALE,
        batch: int = BATCH,
    ) -> None:
        self._redis = redis
        self._apply = apply
        self._stale = stale
        self._name = f"{socket.gethostname()}-{os.getpid()}-{uuid4().hex[:8]}"
        self._reader = Reader(redis, waiting, ENTRIES, self._name, stale)
        self._dead_letters = DeadLetters(redis, ENTRIES)
        self._failing: bytes = b""
        self._failures = 0
        self._batch = self._most = batch
        self._worked = 0.0

    async def run(self, stop: asyncio.Event) -> None:
        """Until `stop` is set; the batch under way is finished."""
        failures = 0
        with contextlib.suppress(RedisError):  # no group yet, or Redis is away
            await self.forget_dead()
        while not stop.is_set():
            try:
                await self._step(block=BLOCK_SECONDS)
                failures = 0
                self._most = min(self._most + self._most // 8 + 1, self._batch)
                if not self._reader.is_behind:
                    await _wait(stop, min(self._worked, _LONGEST_REST))
            except Exception as error:
                # Perhaps it was too much for the time it had.
                self._most = max(1, self._most // 2)
                if not is_to_wait(error):
                    record_failure("drain", error)
                pause = _BACKOFF[min(failures, len(_BACKOFF) - 1)]
                failures += 1
                log.warning("drain waits", error=type(error).__name__, seconds=pause)
                await _wait(stop, pause)

    async def burst(self) -> int:
        """Apply all there is now, stale entries included; the number of entries."""
        total = 0
        while applied := await self._step(block=None):
            total += applied
        return total

    async def forget_dead(self) -> None:
        """Take the names of long dead consumers, with nothing pending, off the group."""
        consumers: Any = await self._redis.xinfo_consumers(JOURNAL, DRAIN_GROUP)
        for one in consumers:
            if not one["pending"] and one["idle"] > _DEAD * 1000:
                await self._redis.xgroup_delconsumer(JOURNAL, DRAIN_GROUP, one["name"])

    async def leave(self) -> None:
        """Give up the name, unless entries are still pending under it: they need it."""
        try:
            pending = await self._redis.xpending_range(
                JOURNAL, DRAIN_GROUP, "-", "+", 1, consumername=self._name
            )
            if not pending:
                await self._redis.xgroup_delconsumer(JOURNAL, DRAIN_GROUP, self._name)
        except RedisError:
            log.debug("consumer name left behind", name=self._name)

    async def prepare(self) -> None:
        """Make the stream and the group if they are not there."""
        await self._reader.prepare()

    async def _step(self, block: float | None) -> int:
        entries = await self._reader.next_entries(self._most, block)
        began = time.monotonic()
        if entries:
            batches = self._reader.batches(entries, self._most)
            async with self._kept(entries), contextlib.aclosing(batches):
                async for batch in batches:
                    await self._process(batch)
            self._reader.finish()
        self._worked = time.monotonic() - began
        return len(entries)

    @contextlib.asynccontextmanager
    async def _kept(self, entries: Sequence[Entry]) -> AsyncIterator[None]:
        """Meanwhile, if it is not too long, they do not count as left by a dead consumer."""
        keeping = asyncio.get_running_loop().create_task(self._keep([one for one, _ in entries]))
        try:
            yield
        finally:
            await cancel_and_wait(keeping)

    async def _keep(self, ids: list[bytes]) -> None:
        for _ in range(_KEPT):
            await asyncio.sleep(self._stale / 3)
            with contextlib.suppress(RedisError):
                held: Any = await self._redis.xpending_range(
                    JOURNAL, DRAIN_GROUP, ids[0], ids[-1], len(ids), consumername=self._name
                )
                if mine := [one["message_id"] for one in held]:
                    await self._redis.xclaim(JOURNAL, DRAIN_GROUP, self._name, 0, mine, justid=True)

    async def _process(self, batch: Sequence[DecodedEntry[Record]]) -> None:
        try:
            for entry in batch:
                if entry.error is not None:
                    raise entry.error
            await self._store([record for entry in batch for record in entry.records])
            await self._acknowledge(batch)
        except Exception as error:
            if is_to_wait(error):
                raise
            if len(batch) == 1:
                if not is_fault_of_record(error):
                    self._count_failure(batch[0], error)
                await self._part(batch[0], error)
                return
            middle = len(batch) // 2
            await self._process(batch[:middle])
            await self._process(batch[middle:])

    async def _store(self, records: Sequence[Record]) -> None:
        """Apply them, in halves if they are too much for one transaction."""
        try:
            await self._apply(records)
        except Exception as error:
            if not is_too_much(error) or len(records) < 2:
                raise
            middle = len(records) // 2
            await self._store(records[:middle])
            await self._store(records[middle:])

    def _count_failure(self, entry: DecodedEntry[Record], error: Exception) -> None:
        """Raises `error`, to try again, until the entry has failed TRIES times: what is not known
        to be the fault of a record may be ours, or pass."""
        if entry.id != self._failing:
            self._failing, self._failures = entry.id, 0
        self._failures += 1
        if self._failures < TRIES:
            raise error

    async def _part(self, entry: DecodedEntry[Record], error: Exception) -> None:
        """Store what can be stored of an entry that failed as a whole, and bury the rest."""
        if entry.error is not None:
            await self._bury(entry.id, entry.fields, error)
        for record in entry.records:
            if reason := await self._refusal(record):
                await self._bury(entry.id, fields_of(encode([record])), reason)
        await self._acknowledge([entry])

    async def _refusal(self, record: Record) -> Exception | None:
        """Why `record` cannot be stored; None if it is. Raises what says that a store is away."""
        try:
            await self._apply([record])
        except Exception as error:
            if is_to_wait(error):
                raise
            return error
        return None

    async def _acknowledge(self, batch: Sequence[DecodedEntry[Record]]) -> None:
        for start in range(0, len(batch), _ACKNOWLEDGED):
            ids = [entry.id for entry in batch[start : start + _ACKNOWLEDGED]]
            # No transaction: a full Redis 7.0 refuses all commands of one, these two included. In
            # this order: an entry that is gone is acknowledged when it is read again, but one that
            # is acknowledged and still there would stay for ever.
            pipeline = self._redis.pipeline(transaction=False)
            pipeline.xdel(JOURNAL, *ids)
            pipeline.xack(JOURNAL, DRAIN_GROUP, *ids)
            await pipeline.execute()

    async def _bury(self, entry_id: bytes, fields: Fields, error: Exception) -> None:
        reason = reason_of(error)
        log.error("entry goes to the dead letters", entry=entry_id.decode(), reason=reason)
        await self._dead_letters.add(entry_id, fields, reason)
        metrics.DEAD_LETTERS.inc()


async def _wait(stop: asyncio.Event, seconds: float) -> None:
    with contextlib.suppress(TimeoutError):
        await asyncio.wait_for(stop.wait(), seconds)

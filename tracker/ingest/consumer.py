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
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple
from uuid import uuid4

import msgspec
import structlog
from redis.asyncio import Redis
from redis.exceptions import RedisError, ResponseError

from tracker import metrics
from tracker.clicks.journal import FORMAT
from tracker.db.connect import BLOCK_SECONDS
from tracker.db.keys import DEAD_LETTERS, DRAIN_GROUP, JOURNAL
from tracker.db.tasks import ended
from tracker.ingest.drain import Record
from tracker.ingest.faults import is_fault_of_record, is_to_wait, is_too_much, reason_of

log = structlog.get_logger(__name__)

STALE = 10.0
"""Seconds without acknowledgement after which an entry counts as left by a dead consumer."""

TRIES = 5
"""How often an entry may fail, for a reason not known to be its fault, before it is given up."""

BATCH = 1000
"""Records of one batch, if a single entry has not more (an entry has up to 500)."""

LARGE_BATCH = 8000
"""The same as long as there is a backlog: more clicks share a rollup then, which is a quarter of
what they cost with traffic of a thousand links."""

_MOST_BYTES = 16 << 20
"""Of the entries of one batch, likewise: a visitor may send 64 KiB."""

_LONGEST_REST = 0.5
"""Seconds between two batches, at most: as long as the last one took, unless there is a backlog.
What comes meanwhile shares the next, which costs less each; and requests get their turn."""

_KEPT = 18
"""How often a slow batch is kept from others, each time for a third of STALE: a minute in all."""

_DEAD = 3600.0
_STALE_ENTRIES = 10
_FEW_ENTRIES, _MOST_ENTRIES = 25, 200
"""Read at once, at first and at most: each may turn out to be full."""

_BACKOFF = (0.1, 0.2, 0.5, 1.0, 2.0, 5.0)

Entry = tuple[bytes, dict[bytes, bytes] | None]
"""Id and fields, as Redis gives them."""


class Read(NamedTuple):
    """An entry and its records, or why it has none."""

    id: bytes
    fields: Mapping[bytes, bytes]
    records: Sequence[Record]
    error: ValueError | None

    @property
    def size(self) -> int:
        """Bytes of what it holds."""
        return sum(map(len, self.fields.values()))


class Consumer:
    """`waiting` is a client whose timeout is longer than a blocking read."""

    def __init__(
        self,
        redis: Redis,
        waiting: Redis,
        apply: Callable[[Sequence[Record]], Awaitable[None]],
        stale: float = STALE,
        batch: int = BATCH,
        large_batch: int = LARGE_BATCH,
    ) -> None:
        self._redis = redis
        self._waiting = waiting
        self._apply = apply
        self._stale = stale
        self._name = f"{socket.gethostname()}-{os.getpid()}-{uuid4().hex[:8]}"
        self._decoder = msgspec.msgpack.Decoder(list[Record])
        self._encoder = msgspec.msgpack.Encoder()
        self._reclaimed = 0.0
        self._unfinished = False
        self._failing: bytes = b""
        self._failures = 0
        self._batch = self._most = batch
        self._large_batch = large_batch
        self._is_behind = False
        self._worked = 0.0
        self._records_an_entry = 100.0
        self._found = 1
        self._bytes_an_entry = 1.0

    async def run(self, stop: asyncio.Event) -> None:
        """Until `stop` is set; the batch under way is finished."""
        failures = 0
        with contextlib.suppress(RedisError):  # no group yet, or Redis is away
            await self.forget_dead()
        while not stop.is_set():
            try:
                await self._step(block=BLOCK_SECONDS)
                failures = 0
                larger = min(2 * self._most, self._large_batch)
                self._most = max(self._batch, larger) if self._is_behind else self._batch
                if not self._is_behind:
                    await _wait(stop, min(self._worked, _LONGEST_REST))
            except Exception as error:
                # Perhaps it was too much for the time it had.
                self._most = max(1, self._most // 2)
                if not is_to_wait(error):
                    log.error("drain failed", exc_info=error)
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
        try:
            await self._redis.xgroup_create(JOURNAL, DRAIN_GROUP, id="0", mkstream=True)
        except ResponseError as error:
            if not str(error).startswith("BUSYGROUP"):
                raise

    async def _step(self, block: float | None) -> int:
        entries = await self._next_entries(block)
        began = time.monotonic()
        if entries:
            # Of those we had already, there may be more than were read now.
            more, self._unfinished = self._unfinished, True
            async with self._kept(entries):
                for batch in self._batches(entries):
                    await self._process(batch)
            self._unfinished = more
        self._worked = time.monotonic() - began
        return len(entries)

    @contextlib.asynccontextmanager
    async def _kept(self, entries: Sequence[Entry]) -> AsyncIterator[None]:
        """Meanwhile, if it is not too long, they do not count as left by a dead consumer."""
        keeping = asyncio.get_running_loop().create_task(self._keep([one for one, _ in entries]))
        try:
            yield
        finally:
            await ended(keeping)

    async def _keep(self, ids: list[bytes]) -> None:
        for _ in range(_KEPT):
            await asyncio.sleep(self._stale / 3)
            with contextlib.suppress(RedisError):
                held: Any = await self._redis.xpending_range(
                    JOURNAL, DRAIN_GROUP, ids[0], ids[-1], len(ids), consumername=self._name
                )
                if mine := [one["message_id"] for one in held]:
                    await self._redis.xclaim(JOURNAL, DRAIN_GROUP, self._name, 0, mine, justid=True)

    def _batches(self, entries: Sequence[Entry]) -> Iterator[list[Read]]:
        """The entries in order, so many together as hold no more records than a batch may."""
        batch: list[Read] = []
        records = size = 0
        for entry in map(self._decoded, entries):
            records += len(entry.records)
            size += entry.size
            if batch and (records > self._most or size > _MOST_BYTES):
                yield batch
                batch, records, size = [], len(entry.records), entry.size
            batch.append(entry)
        # Of the last batch, for the next read: it is the backlog or the traffic of now.
        self._records_an_entry = max(1.0, records / len(batch))
        self._bytes_an_entry = max(1.0, size / len(batch))
        yield batch

    def _decoded(self, entry: Entry) -> Read:
        entry_id, fields = entry
        if not fields:  # deleted although it was never acknowledged
            return Read(entry_id, {}, [], None)
        try:
            return Read(entry_id, fields, self._records(fields), None)
        except ValueError as error:
            return Read(entry_id, fields, [], error)

    async def _next_entries(self, block: float | None) -> list[Entry]:
        try:
            if self._unfinished and (entries := await self._read("0", None)):
                return entries
            # None: another consumer took them over, or only the answer that they are done was lost.
            self._unfinished = False
            return await self._stale_entries() or await self._read(">", block)
        except ResponseError as error:
            if not str(error).startswith("NOGROUP"):
                raise
            await self.prepare()
            return await self._read(">", None)

    async def _read(self, after: str, block: float | None) -> list[Entry]:
        """`>`: entries nobody has had; `0`: those we have had and not acknowledged."""
        fitting = min(self._most / self._records_an_entry, _MOST_BYTES / self._bytes_an_entry)
        # Step by step: the next entries may be far larger than the last.
        count = min(_MOST_ENTRIES, max(_FEW_ENTRIES, 4 * self._found), max(1, int(fitting)))
        answer: Any = await self._waiting.xreadgroup(
            DRAIN_GROUP,
            self._name,
            {JOURNAL: after},
            count=count,
            block=None if block is None else int(block * 1000),
        )
        found = [entry for _, entries in answer or () for entry in entries]
        self._is_behind = len(found) == count
        self._found = max(1, len(found))
        return found

    async def _stale_entries(self) -> list[Entry]:
        if time.monotonic() - self._reclaimed < self._stale / 2:
            return []
        answer: Any = await self._redis.xautoclaim(
            JOURNAL, DRAIN_GROUP, self._name, int(self._stale * 1000), "0-0", count=_STALE_ENTRIES
        )
        entries: list[Entry] = [entry for entry in answer[1] if entry and entry[0] is not None]
        if len(answer[1]) < _STALE_ENTRIES:
            self._reclaimed = time.monotonic()
        # Redis 6.2 has nil for an entry that was deleted: ours now, the next read tells its id.
        self._unfinished = len(entries) < len(answer[1])
        if entries:
            log.info("took over entries of another consumer", entries=len(entries))
        return entries

    async def _process(self, batch: Sequence[Read]) -> None:
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
            for entry in batch:
                await self._process([entry])

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

    def _count_failure(self, entry: Read, error: Exception) -> None:
        """Raises `error`, to try again, until the entry has failed TRIES times: what is not known
        to be the fault of a record may be ours, or pass."""
        if entry.id != self._failing:
            self._failing, self._failures = entry.id, 0
        self._failures += 1
        if self._failures < TRIES:
            raise error

    async def _part(self, entry: Read, error: Exception) -> None:
        """Store what can be stored of an entry that failed as a whole, and bury the rest."""
        if entry.error is not None:
            await self._bury(entry.id, entry.fields, error)
        for record in entry.records:
            if reason := await self._refusal(record):
                await self._bury(entry.id, {FORMAT: self._encoder.encode([record])}, reason)
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

    def _records(self, fields: Mapping[bytes, bytes]) -> list[Record]:
        """Raises ValueError."""
        if FORMAT not in fields:
            raise ValueError(f"unknown format {b', '.join(fields).decode(errors='replace')}")
        return self._decoder.decode(fields[FORMAT])

    async def _acknowledge(self, batch: Sequence[Read]) -> None:
        ids = [entry.id for entry in batch]
        pipeline = self._redis.pipeline(transaction=True)
        pipeline.xack(JOURNAL, DRAIN_GROUP, *ids)
        pipeline.xdel(JOURNAL, *ids)
        await pipeline.execute()

    async def _bury(self, entry_id: bytes, fields: Mapping[bytes, bytes], error: Exception) -> None:
        reason = reason_of(error)
        log.error("entry goes to the dead letters", entry=entry_id.decode(), reason=reason)
        letter: Any = {**fields, b"id": entry_id, b"reason": reason}
        await self._redis.xadd(DEAD_LETTERS, letter)
        metrics.DEAD_LETTERS.inc()


async def _wait(stop: asyncio.Event, seconds: float) -> None:
    with contextlib.suppress(TimeoutError):
        await asyncio.wait_for(stop.wait(), seconds)

"""The journal: makes records durable before a visitor or a postback is answered.

- Appends to Redis are group commits: one round trip for all waiting records, one XADD for each
  stream.
- Groups go to the spool while Redis is unavailable, for a later replay. If it fails too, so does
  the append.
- A Redis Cluster has `ClusterJournal`.
"""

import asyncio
import contextlib
import math
import time
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import structlog
from redis.asyncio import Redis
from redis.exceptions import RedisError

from tracker.errors import Unavailable
from tracker.journal.appender import (
    CLAIM_SECONDS,
    NO_CLAIM,
    Appender,
    AppendItem,
    Claim,
    ClaimedRecord,
    encode_group,
)
from tracker.journal.entry import EncodedRecord, JournalRecord, encode, encode_record
from tracker.journal.overflow import Overflow
from tracker.journal.partitions import partition_of
from tracker.journal.spool import Spool
from tracker.loops import sleep_in_step
from tracker.metrics import SPOOL_REFUSED, SPOOLED
from tracker.stores.batch import Batch, Waiter
from tracker.stores.breaker import Breaker
from tracker.stores.redis import keys
from tracker.stores.redis.cluster import is_cluster

log = structlog.get_logger(__name__)

_REPLAY_SECONDS = 0.5
_LOG_SECONDS = 5.0
_CLOSE_SECONDS = 2.0


class Journal:
    """The journal of one process: appends to the stream, or to `spool` while Redis fails."""

    def __init__(
        self, redis: Redis, breaker: Breaker, spool: Spool, partitions: int = 1, replicas: int = 0
    ) -> None:
        self.partitions = partitions
        self.overflow = Overflow()
        self._redis = redis
        self._streams = keys.streams(partitions)
        self._appender = Appender(redis, keys.JOURNAL, breaker, Breaker(), replicas)
        self._batch = Batch(self._commit)
        self._breaker = breaker
        self.spool = spool
        self._unlogged = 0
        self._log_at = 0.0
        self._replayed_to = 0

    def append(self, record: JournalRecord) -> asyncio.Future[int | None]:
        """Append `record`; the future is done when it is durable.

        Raises Unavailable if too many wait, or (the future) if no store takes it.
        """
        return self._submit(self._stream_of(record), encode_record(record))

    def append_and_notify(self, record: JournalRecord, waiter: Waiter[int | None]) -> None:
        """Append `record`, and notify `waiter`. Raises Unavailable if too many wait.

        `record` must not contain half surrogates: it is encoded together with other records.
        """
        stream = self._stream_of(record)
        self._batch_of(stream).add(AppendItem(self._streams[stream], record), waiter)

    def append_once(self, record: JournalRecord, claim: Claim) -> asyncio.Future[int | None]:
        """Append unless the claim is held, and return its holder: this event id or another.

        None: the record went elsewhere, and the claim is undecided.
        """
        return self._submit(self._partition_of(record), ClaimedRecord(encode_record(record), claim))

    def append_click_once(self, record: JournalRecord, claim: Claim) -> asyncio.Future[int | None]:
        """Append a click as `append_once` does, if need be to the overflow."""
        return self._submit(self._stream_of(record), ClaimedRecord(encode_record(record), claim))

    def claim_tag(self, record: JournalRecord, is_limited: bool) -> str:
        """Return the tag of the names of a click's claim, which is on the server of its stream."""
        if not is_cluster(self._redis):
            return keys.JOURNAL
        stream = self._partition_of(record) if is_limited else self._stream_of(record)
        return keys.hash_tag(self._streams[stream])

    def append_limited(
        self,
        record: JournalRecord,
        kept: bool,
        limit: int,
        uses: int,
        version: int,
        known: str = "",
        *,
        claim: Claim = NO_CLAIM,
    ) -> asyncio.Future[int]:
        """Append `record`, if it is `kept`, within the limit of its partition key's counter.

        Return what became of it. It is never spooled: an unknown outcome raises Unavailable.
        """
        stream = self._partition_of(record)
        partition = stream if is_cluster(self._redis) else 0
        counter = keys.used_clicks(record.partition_key, partition)
        names = self._streams[stream], counter, *claim.names
        payload = encode([record]) if kept else b""
        claimed = str(len(claim.names)), str(claim.holder), str(claim.seconds)
        arguments = (*claimed, str(limit), str(uses), str(version), known, payload)
        return self._appender_of(stream).limited.submit((names, arguments))

    async def recount_limited(self, link_ids: Iterable[bytes]) -> None:
        """Let counters begin anew with what is stored, once nothing waits, as after a failover.

        Raises Unavailable without Redis.
        """
        for link_id in link_ids:
            partition = partition_of(link_id, self.partitions) if is_cluster(self._redis) else 0
            counter: Any = keys.used_clicks(link_id, partition)
            try:
                await self._redis.hdel(counter, "last")
                await self._redis.hset(counter, mapping={"used": 0, "mark": "outdated"})
                await self._redis.expire(counter, CLAIM_SECONDS)
            except RedisError as error:
                raise Unavailable("storage is unavailable; try again") from error

    async def holder(self, names: Sequence[str]) -> int | None:
        """Return the holder of the first held claim, if any. Raises Unavailable if Redis fails."""
        if not names:
            return None
        try:
            if self._breaker.is_open:
                raise Unavailable("storage is unavailable; try again")
            held: list[bytes | None] = await self._redis.mget(names)  # type: ignore[assignment]
        except RedisError as error:
            self._breaker.record_failure(error)
            raise Unavailable("storage is unavailable; try again") from error
        return next((int(one) for one in held if one is not None), None)

    async def replay(self) -> None:
        while True:
            await self.replay_once()
            await sleep_in_step(_REPLAY_SECONDS)

    async def replay_once(self, until: float = math.inf) -> int:
        """Move spooled entries until time.monotonic() is `until`. Return their number.

        Entries that Redis refuses stay for the next call, and the answer is 0.
        """
        try:
            await self.spool.restore()
            if await self.spool.is_empty():
                return 0
            await self._appender_of(self._next_to_replay()).check()
            return await self.spool.replay(self._move, until)
        except RedisError as error:
            log.debug("replay waits", error=type(error).__name__)
        except OSError as error:
            log.error("spool cannot be replayed", error=str(error))
        return 0

    def _next_to_replay(self) -> int:
        """Return the next partition: after an outage every drain gets a share."""
        self._replayed_to = (self._replayed_to + 1) % self.partitions
        return self._replayed_to

    async def _move(self, payloads: Sequence[bytes]) -> None:
        stream = self._next_to_replay()
        await self._appender_of(stream).replay(self._streams[stream], payloads)

    async def close(self) -> None:
        """Finish appends, and move spooled entries for up to _CLOSE_SECONDS."""
        await self._flushed()
        for stream in range(self.partitions):
            await self._appender_of(stream).limited.flushed()
        await self.replay_once(time.monotonic() + _CLOSE_SECONDS)
        await self.spool.close()

    def _submit(
        self, stream: int, record: EncodedRecord | ClaimedRecord
    ) -> asyncio.Future[int | None]:
        return self._batch_of(stream).submit(AppendItem(self._streams[stream], record))

    def _stream_of(self, record: JournalRecord) -> int:
        if self.overflow.is_counting and self.overflow.takes(record.overflow_account):
            return self.partitions
        return self._partition_of(record)

    def _partition_of(self, record: JournalRecord) -> int:
        if self.partitions == 1:
            return 0
        return partition_of(record.partition_key, self.partitions)

    def _batch_of(self, _: int) -> Batch[AppendItem, int | None]:
        """Return the batch of a stream: all streams of a server share a round trip."""
        return self._batch

    def _appender_of(self, _: int) -> Appender:
        return self._appender

    async def _flushed(self) -> None:
        await self._batch.flushed()

    async def _commit(self, group: list[AppendItem]) -> Sequence[int | None]:
        if self._appender.is_usable:
            with self._recording_failure(self._appender):
                return await self._appender.append(group)
        return await self._commit_to_spool(group)

    async def _commit_to_spool(self, group: list[AppendItem]) -> Sequence[int | None]:
        try:
            await self.spool.append(encode_group(group))
        except OSError as error:
            self._record_refused(len(group), error)
            raise Unavailable("storage is unavailable; try again") from error
        SPOOLED.inc(len(group))
        return [None] * len(group)

    def _record_refused(self, records: int, error: OSError) -> None:
        SPOOL_REFUSED.inc(records)
        self._unlogged += records
        if time.monotonic() >= self._log_at:
            log.error("spool refused; visitors get 503", error=str(error), records=self._unlogged)
            self._unlogged, self._log_at = 0, time.monotonic() + _LOG_SECONDS

    @contextlib.contextmanager
    def _recording_failure(self, appender: Appender) -> Iterator[None]:
        """Log an error of Redis within the context, and avoid the stream for a moment."""
        try:
            yield
        except RedisError as error:
            appender.record_failure(error)
            log.warning("journal goes elsewhere", stream=appender.key, error=type(error).__name__)

"""The journal: what has to be durable before a visitor or a postback is answered.

- Appends are group commits (`stores/batch`) to a Redis stream: one XADD carries all that arrived
  during the last one. Each partition of the journal is a stream (`journal/partitions`).
- In a Redis Cluster a group whose server is away goes to another partition. Claims to transaction
  ids are not decided then.
- While Redis is unavailable the group goes to the spool, and later from there to the stream. What
  the spool rejects too is an error of its sender.
- What too few replicas have goes the same ways (`journal/appender`).
- The format of an entry is in `journal/entry`.
"""

import asyncio
import contextlib
import math
import time
from collections.abc import Iterator, Sequence
from functools import partial

import structlog
from redis.asyncio import Redis
from redis.exceptions import RedisError

from tracker.errors import Unavailable
from tracker.journal.appender import (
    Append,
    Appender,
    Claim,
    Claimed,
    ServerBreakers,
    encode_group,
)
from tracker.journal.entry import JournalRecord, encode_record
from tracker.journal.overflow import Overflow
from tracker.journal.partitions import partition_of
from tracker.journal.spool import Spool
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
        self,
        redis: Redis,
        breaker: Breaker,
        spool: Spool,
        partitions: int = 1,
        replicas: int = 0,
    ) -> None:
        self.partitions = partitions
        self.overflow = Overflow()
        self._redis = redis
        self._is_cluster = is_cluster(redis)
        shared = ServerBreakers(breaker, Breaker())
        self._appenders = [
            # Each server of a cluster fails for itself.
            Appender(redis, stream, _own_breakers() if self._is_cluster else shared, replicas)
            for stream in keys.streams(partitions)
        ]
        self._others: dict[tuple[int, int], Appender] = {}
        self._breaker = breaker
        self._spool = spool
        self._unlogged = 0
        self._log_at = 0.0
        self._batches = [
            Batch[Append, int | None](partial(self._commit, number))
            for number in range(len(self._appenders))
        ]
        self._replayed_to = 0

    def append(self, record: JournalRecord) -> asyncio.Future[int | None]:
        """Append `record`; the future is done when it is durable.

        Raises Unavailable if too many wait, or (the future) if no store takes it.
        """
        return self._batch_of(record).submit(encode_record(record))

    def append_and_notify(self, record: JournalRecord, waiter: Waiter[int | None]) -> None:
        """Append `record`, and notify `waiter`. Raises Unavailable if too many wait.

        `record` has to be one that can be encoded, without half surrogates in its texts: it is
        encoded with those that it shares an append with.
        """
        self._batch_of(record).add(record, waiter)

    def append_once(self, record: JournalRecord, claim: Claim) -> asyncio.Future[int | None]:
        """Append unless the claim is held. The result is its holder, be it the new or an older one.

        None: Redis is unavailable, so the record is in the spool and the claim was not decided.
        """
        return self._partition_of(record).submit(Claimed(encode_record(record), claim))

    async def holder(self, names: Sequence[str]) -> int | None:
        """Return who holds one of these claims; None if nobody does, or Redis does not answer."""
        if not names or self._breaker.is_open:
            return None
        try:
            held: list[bytes | None] = await self._redis.mget(names)  # type: ignore[assignment]
        except RedisError as error:
            self._breaker.record_failure(error)
            return None
        return next((int(one) for one in held if one is not None), None)

    async def replay(self) -> None:
        """Move what is spooled to the stream, again and again, until cancelled."""
        while True:
            await self.replay_once()
            await asyncio.sleep(_REPLAY_SECONDS)

    async def replay_once(self, until: float = math.inf) -> int:
        """Move what is spooled until time.monotonic() is `until`. Return the number of entries.

        What Redis does not take stays for the next call, and the answer is 0.
        """
        try:
            await self._spool.restore()
            if await self._spool.is_empty():
                return 0
            await self._next_to_replay().check()
            return await self._spool.replay(self._move, until)
        except RedisError as error:
            log.debug("replay waits", error=type(error).__name__)
        except OSError as error:
            log.error("spool cannot be replayed", error=str(error))
        return 0

    def _next_to_replay(self) -> Appender:
        """Return the partition whose turn it is.

        What was spooled of one partition may go to another: after an outage every drain has its
        share. In a cluster one whose server is away is passed over by the next call.
        """
        self._replayed_to = (self._replayed_to + 1) % self.partitions
        return self._appenders[self._replayed_to]

    async def _move(self, payloads: Sequence[bytes]) -> None:
        await self._next_to_replay().replay(payloads)

    async def check_spool(self) -> None:
        """Check the spool. Raises OSError if it would refuse what is recorded now."""
        await self._spool.check()

    @property
    def bytes_waiting(self) -> int:
        """Return the bytes in the spool of this DATA_DIR; as of the last append or replay."""
        return self._spool.bytes_waiting

    async def close(self) -> None:
        """Wait for what was appended, and move what is spooled for up to _CLOSE_SECONDS.

        The rest is there for the next start.
        """
        for batch in self._batches:
            await batch.flushed()
        await self.replay_once(time.monotonic() + _CLOSE_SECONDS)
        await self._spool.close()

    def _batch_of(self, record: JournalRecord) -> Batch[Append, int | None]:
        if self.overflow.is_counting and self.overflow.takes(record.sent_for):
            return self._batches[-1]
        return self._partition_of(record)

    def _partition_of(self, record: JournalRecord) -> Batch[Append, int | None]:
        if self.partitions == 1:
            return self._batches[0]
        return self._batches[partition_of(record.spread_by, self.partitions)]

    async def _commit(self, number: int, group: list[Append]) -> Sequence[int | None]:
        own = self._appenders[number]
        if own.is_usable:
            with self._failing(own):
                return await own.append(group)
        if self._is_cluster and await self._append_elsewhere(number, group):
            return [None] * len(group)
        try:
            await self._spool.append(encode_group(group))
            SPOOLED.inc(len(group))
        except OSError as error:
            self._refused(len(group), error)
            raise Unavailable("storage is unavailable; try again") from error
        return [None] * len(group)

    def _refused(self, records: int, error: OSError) -> None:
        SPOOL_REFUSED.inc(records)
        self._unlogged += records
        if time.monotonic() >= self._log_at:
            log.error("spool refused; visitors get 503", error=str(error), records=self._unlogged)
            self._unlogged, self._log_at = 0, time.monotonic() + _LOG_SECONDS

    @contextlib.contextmanager
    def _failing(self, appender: Appender) -> Iterator[None]:
        """Run a block that appends; an error of Redis is logged, and the stream left alone."""
        try:
            yield
        except RedisError as error:
            appender.record_failure(error)
            log.warning(
                "journal goes elsewhere", stream=appender.stream, error=type(error).__name__
            )

    async def _append_elsewhere(self, number: int, group: list[Append]) -> bool:
        """Append a group whose server is away to the next partition; return whether one took it."""
        payload = encode_group(group)
        for step in range(1, self.partitions):
            other = (number + step) % self.partitions
            # Over a connection of its own: the partition's carries one append at a time.
            appender = self._others.get((number, other))
            if appender is None:
                appender = self._others[number, other] = self._appenders[other].copy()
            if self._appenders[other].is_usable:
                with self._failing(self._appenders[other]):
                    await appender.append_payload(payload)
                    return True
        return False


def _own_breakers() -> ServerBreakers:
    return ServerBreakers(Breaker(), Breaker())

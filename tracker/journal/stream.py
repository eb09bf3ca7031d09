"""The journal: what has to be durable before a visitor or a postback is answered.

- Appends are group commits (`db/batch`) to a Redis stream: one XADD carries all that arrived
  during the last one. Each partition of the journal is a stream (`journal/partitions`).
- While Redis is unavailable the group goes to the spool, and later from there to the stream. What
  the spool rejects too is an error of its sender.
- An append whose answer was lost may be repeated: records carry ids, and storing is idempotent.
- With `replicas`, an append counts only if so many replicas of Redis have it: one that becomes the
  primary has only what was sent to it. What too few have goes to the spool as well.
- The format of an entry is in `journal/entry`.
"""

import asyncio
import math
import time
from collections.abc import Sequence
from functools import partial
from typing import Any, NamedTuple

import structlog
from redis.asyncio import Redis
from redis.asyncio.client import Pipeline
from redis.exceptions import RedisError

from tracker.db import keys
from tracker.db.batch import Batch, Waiter
from tracker.db.breaker import Breaker
from tracker.db.connect import check_writable
from tracker.db.redis_command_connection import Command, RedisCommandConnection
from tracker.errors import Unavailable
from tracker.journal.entry import VERSION, Encoded, JournalRecord, encode, encode_record, fields_of
from tracker.journal.overflow import Overflow
from tracker.journal.partitions import partition_of
from tracker.journal.spool import Spool
from tracker.metrics import SPOOL_REFUSED, SPOOLED

log = structlog.get_logger(__name__)

REPLICA_MS = 500
"""How long an append waits for the replicas; less than a request waits for Redis."""

_REPLAY_SECONDS = 0.5
_LOG_SECONDS = 5.0
_CLOSE_SECONDS = 2.0

# Appends unless one of the claims is held; returns the holder then.
# KEYS: stream, claims. ARGV: holder, format, payload, seconds that the claims live (0: not kept).
_APPEND_ONCE = """
for i = 2, #KEYS do
  local holder = redis.call('GET', KEYS[i])
  if holder then return holder end
end
redis.call('XADD', KEYS[1], '*', ARGV[2], ARGV[3])
if ARGV[4] ~= '0' then
  for i = 2, #KEYS do redis.call('SET', KEYS[i], ARGV[1], 'EX', ARGV[4]) end
end
return ARGV[1]
"""


CLAIM_SECONDS = 7 * 86_400
"""How long a claim lives that nobody drains."""


class Claim(NamedTuple):
    """A claim on `names` (Redis keys) for the first `holder` (an event id) that is appended.

    It is kept for `seconds`. 0: what others hold counts, and nothing is kept.
    """

    names: tuple[str, ...]
    holder: int
    seconds: int = CLAIM_SECONDS


class _Claimed(NamedTuple):
    record: Encoded
    claim: Claim


_Append = JournalRecord | Encoded | _Claimed


class TooFewReplicas(RedisError):
    """An append that too few replicas have in time, so that a failover could lose it."""


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
        self._replicas = replicas
        self._replication = Breaker()
        self.overflow = Overflow()
        self._redis = redis
        self._streams = keys.streams(partitions)
        self._appending = [RedisCommandConnection(redis) for _ in self._streams]
        self._replaying = RedisCommandConnection(redis)
        self._breaker = breaker
        self._spool = spool
        self._unlogged = 0
        self._log_at = 0.0
        self._batches = [
            Batch[_Append, int | None](partial(self._commit, number))
            for number in range(len(self._streams))
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
        return self._partition_of(record).submit(_Claimed(encode_record(record), claim))

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
            if await self._spool.is_empty():
                return 0
            await self._check_writable()
            return await self._spool.replay(self._move, until)
        except RedisError as error:
            log.debug("replay waits", error=type(error).__name__)
        except OSError as error:
            log.error("spool cannot be replayed", error=str(error))
        return 0

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

    def _batch_of(self, record: JournalRecord) -> Batch[_Append, int | None]:
        if self.overflow.is_counting and self.overflow.takes(record.sent_for):
            return self._batches[-1]
        return self._partition_of(record)

    def _partition_of(self, record: JournalRecord) -> Batch[_Append, int | None]:
        if self.partitions == 1:
            return self._batches[0]
        return self._batches[partition_of(record.spread_by, self.partitions)]

    async def _commit(self, number: int, group: list[_Append]) -> Sequence[int | None]:
        if not (self._breaker.is_open or self._replication.is_open):
            try:
                return await self._append_to_stream(number, group)
            except RedisError as error:
                is_replication = isinstance(error, TooFewReplicas)
                (self._replication if is_replication else self._breaker).record_failure(error)
                log.warning("journal goes to the spool", error=type(error).__name__)
        try:
            await self._spool.append(_encode(group))
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

    async def _append_to_stream(self, number: int, group: list[_Append]) -> Sequence[int | None]:
        stream = self._streams[number]
        plain = [item for item in group if not isinstance(item, _Claimed)]
        if len(plain) == len(group):
            append = ("XADD", stream, "*", VERSION, _encode(plain))
            await self._send(self._appending[number], append)
            return [None] * len(group)
        pipeline = self._redis.pipeline(transaction=False)
        for item in group:
            if isinstance(item, _Claimed):
                names, holder, seconds = item.claim
                payload = _encode([item])
                arguments = (holder, VERSION, payload, seconds)
                pipeline.eval(_APPEND_ONCE, 1 + len(names), stream, *names, *arguments)
        if plain:
            pipeline.xadd(stream, fields_of(_encode(plain)))
        holders = iter(await self._execute(pipeline))
        return [int(next(holders)) if isinstance(item, _Claimed) else None for item in group]

    async def _move(self, payloads: Sequence[bytes]) -> None:
        # A transaction is refused as a whole: a part that was taken would be sent again. What was
        # spooled of one partition may go to another: after an outage every drain has its share.
        self._replayed_to = (self._replayed_to + 1) % self.partitions
        stream = self._streams[self._replayed_to]
        appends: list[Command] = [("XADD", stream, "*", VERSION, one) for one in payloads]
        answers = await self._send(self._replaying, ("MULTI",), *appends, ("EXEC",))
        for refusal in answers[1 + len(appends)]:
            if isinstance(refusal, RedisError):
                raise refusal

    async def _check_writable(self) -> None:
        """Check that Redis takes writes, and has the replicas that appends need.

        Without them a replay would send the same entries again and again.
        """
        if self._replicas:
            await self._send(self._replaying, ("SET", keys.PROBE, "", "EX", "60"))
        else:
            await check_writable(self._redis)

    async def _send(self, connection: RedisCommandConnection, *commands: Command) -> list[Any]:
        """Send commands together, and return the answers.

        Raises RedisError if one is refused, or too few replicas have what was written.
        """
        if not self._replicas:
            return await connection.execute_all(*commands)
        # WAIT is for the writes of its own connection.
        wait = ("WAIT", str(self._replicas), str(REPLICA_MS))
        *answers, replicas = await connection.execute_all(*commands, wait)
        self._check_replicas(replicas)
        return answers

    async def _execute(self, pipeline: Pipeline) -> list[Any]:
        if not self._replicas:
            return await pipeline.execute()
        pipeline.wait(self._replicas, REPLICA_MS)
        *answers, replicas = await pipeline.execute()
        self._check_replicas(replicas)
        return answers

    def _check_replicas(self, number: int) -> None:
        if number < self._replicas:
            raise TooFewReplicas(f"{number} of {self._replicas} replicas have it")


def _encode(group: Sequence[_Append]) -> bytes:
    return encode([item.record if isinstance(item, _Claimed) else item for item in group])

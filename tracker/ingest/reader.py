"""The journal's entries, as one consumer of the group reads them: new ones, those a dead consumer
left, and its own until they are acknowledged. So many together as make a good batch, in commands
that are small, for Redis answers nobody else meanwhile."""

import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

import msgspec
import structlog
from redis.asyncio import Redis
from redis.exceptions import RedisError, ResponseError

from tracker.clicks.journal import FORMAT
from tracker.db.keys import DRAIN_GROUP, JOURNAL
from tracker.ingest.drain import Record

log = structlog.get_logger(__name__)

_MOST_BYTES: Final = 16 << 20
"""Of the entries of one batch: a visitor may send 64 KiB."""

_MOST_ENTRIES: Final = 1000
"""Of one batch, likewise."""

_COMMAND_BYTES: Final = 1 << 20
_FEW_ENTRIES, _COMMAND_ENTRIES = 25, 200
"""Of one command, at first and at most: each may turn out to be full."""

_STALE_ENTRIES: Final = 10

Entry = tuple[bytes, dict[bytes, bytes] | None]
"""Id and fields, as Redis gives them."""


class Read(NamedTuple):
    """An entry and its records, or why it has none."""

    id: bytes
    fields: Mapping[bytes, bytes]
    records: Sequence[Record]
    error: ValueError | None


class Reader:
    """Reads as the consumer `name`. `waiting` is a client whose timeout is longer than a blocking
    read; entries that nobody acknowledged for `stale` seconds are taken over."""

    def __init__(self, redis: Redis, waiting: Redis, name: str, stale: float) -> None:
        self._redis = redis
        self._waiting = waiting
        self._name = name
        self._stale = stale
        self._decoder = msgspec.msgpack.Decoder(list[Record])
        self._reclaimed = 0.0
        self._unfinished = self._more = False
        self._found = 1
        self._records_an_entry = 100.0
        self._bytes_an_entry = 1.0
        self.is_behind = False
        """Whether the journal held more than the last batch."""

    async def prepare(self) -> None:
        """Make the stream and the group if they are not there."""
        try:
            await self._redis.xgroup_create(JOURNAL, DRAIN_GROUP, id="0", mkstream=True)
        except ResponseError as error:
            if not str(error).startswith("BUSYGROUP"):
                raise

    async def next_entries(self, most: int, block: float | None) -> list[Entry]:
        """About `most` records, at least one entry if there is one within `block` seconds; the
        same again unless they were `finished`. Raises RedisError."""
        try:
            entries = await self._next(most, block)
        except RedisError:
            # Some may be ours already: those of earlier commands, or of an answer that was lost.
            self._unfinished = True
            raise
        if entries:
            # Of those we had already, there may be more than were read now.
            self._more, self._unfinished = self._unfinished, True
        return entries

    def finished(self) -> None:
        """The last entries are acknowledged."""
        self._unfinished = self._more

    def batches(self, entries: Sequence[Entry], most: int) -> Iterator[list[Read]]:
        """The entries in order, so many together as hold no more records than a batch may."""
        batch: list[Read] = []
        records = size = 0
        for entry in entries:
            read = self._decoded(entry)
            records += len(read.records)
            size += _size(entry)
            if batch and (records > most or size > _MOST_BYTES):
                yield batch
                batch, records, size = [], len(read.records), _size(entry)
            batch.append(read)
        # Of the last batch, for the next read: it is the backlog or the traffic of now.
        self._records_an_entry = max(1.0, records / len(batch))
        yield batch

    async def _next(self, most: int, block: float | None) -> list[Entry]:
        try:
            if self._unfinished and (entries := await self._read("0", most, None)):
                return entries
            # None: another consumer took them over, or only the answer that they are done was lost.
            self._unfinished = False
            return await self._stale_entries() or await self._read(">", most, block)
        except ResponseError as error:
            if not str(error).startswith("NOGROUP"):
                raise
            await self.prepare()
            return await self._read(">", most, None)

    async def _read(self, after: str, most: int, block: float | None) -> list[Entry]:
        """`>`: entries nobody has had; `0`: those we have had and not acknowledged."""
        entries: list[Entry] = []
        size, self.is_behind = 0, True
        wanted = min(_MOST_ENTRIES, most / self._records_an_entry)
        while True:
            fitting = min(wanted - len(entries), (_MOST_BYTES - size) / self._bytes_an_entry)
            if entries and fitting < 1:
                return entries
            # Step by step: the next entries may be far larger than the last.
            fitting = min(fitting, _COMMAND_BYTES / self._bytes_an_entry)
            count = min(_COMMAND_ENTRIES, max(_FEW_ENTRIES, 4 * self._found), max(1, int(fitting)))
            found = await self._command(after, count, None if entries else block)
            entries += found
            size += sum(map(_size, found))
            if len(found) < count:
                self.is_behind = False
                return entries
            if after != ">":
                after = found[-1][0].decode()

    async def _command(self, after: str, count: int, block: float | None) -> list[Entry]:
        answer: Any = await self._waiting.xreadgroup(
            DRAIN_GROUP,
            self._name,
            {JOURNAL: after},
            count=count,
            block=None if block is None else int(block * 1000),
        )
        found = [entry for _, entries in answer or () for entry in entries]
        self._found = max(1, len(found))
        if found:
            self._bytes_an_entry = max(1.0, sum(map(_size, found)) / len(found))
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

    def _decoded(self, entry: Entry) -> Read:
        entry_id, fields = entry
        if not fields:  # deleted although it was never acknowledged
            return Read(entry_id, {}, [], None)
        try:
            return Read(entry_id, fields, self._records(fields), None)
        except ValueError as error:
            return Read(entry_id, fields, [], error)

    def _records(self, fields: Mapping[bytes, bytes]) -> list[Record]:
        """Raises ValueError."""
        if FORMAT not in fields:
            raise ValueError(f"unknown format {b', '.join(fields).decode(errors='replace')}")
        return self._decoder.decode(fields[FORMAT])


def _size(entry: Entry) -> int:
    """Bytes of what it holds."""
    return sum(map(len, (entry[1] or {}).values()))

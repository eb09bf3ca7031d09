"""The reader of the journal for one consumer: unfinished entries, dead consumers', new ones.

Commands are small, because Redis serves no other client meanwhile.
"""

import asyncio
import time
from collections.abc import AsyncGenerator, Sequence
from typing import Any, Final, Generic, NamedTuple

import structlog
from redis.asyncio import Redis
from redis.exceptions import RedisError, ResponseError

from tracker.journal.entry import AnyRecord, EntryDecoder, Fields, record_count
from tracker.stores.redis.keys import DRAIN_GROUP, JOURNAL, never_set

log = structlog.get_logger(__name__)

_MAX_BATCH_BYTES: Final = 32 << 20
_MAX_BATCH_ENTRIES: Final = 3000
"""Limits of one batch before it is applied: one visitor may send 64 KiB."""

_COMMAND_BYTES: Final = 1 << 20
"""Bytes to read with one command, if the next entries are as large as the last."""

_FIRST_COMMAND_ENTRIES, _MAX_COMMAND_ENTRIES = 25, 200
"""Entries to read with the first command, and with any: each may be large."""

_STALE_ENTRIES: Final = 50

_RECORDS_PER_TURN: Final = 1000
"""Records to decode (1 µs each) in one turn of the event loop."""

# KEYS: an unused key, stream. ARGV: group.
_MAKE_GROUP: Final = """
redis.call('DEL', KEYS[1])
return redis.call('XGROUP', 'CREATE', KEYS[2], ARGV[1], '0', 'MKSTREAM')
"""

# Removes a consumer unless it has pending entries, which nobody would read again. One step: a read
# whose connection was lost may run late. KEYS: stream. ARGV: group, name.
_REMOVE_CONSUMER: Final = """
if #redis.call('XPENDING', KEYS[1], ARGV[1], '-', '+', 1, ARGV[2]) == 0 then
  redis.call('XGROUP', 'DELCONSUMER', KEYS[1], ARGV[1], ARGV[2])
end
"""

RawEntry = tuple[bytes, dict[bytes, bytes] | None]
"""Id and fields, as Redis returns them; no fields if the entry was deleted."""


class DecodedEntry(NamedTuple, Generic[AnyRecord]):
    """An entry with its records, or with the error if they cannot be decoded."""

    id: bytes
    fields: Fields
    records: Sequence[AnyRecord]
    error: ValueError | None


class JournalReader(Generic[AnyRecord]):
    """A reader for the consumer `name`. `blocking` is a Redis client for blocking reads."""

    def __init__(
        self,
        redis: Redis,
        blocking: Redis,
        decoder: EntryDecoder[AnyRecord],
        name: str,
        stale: float,
        stream: str = JOURNAL,
    ) -> None:
        self._stream = stream
        self._redis = redis
        self._blocking = blocking
        self._name = name
        self._stale = stale
        self._make_group = redis.register_script(_MAKE_GROUP)
        self._remove_consumer = redis.register_script(_REMOVE_CONSUMER)
        self._decoder = decoder
        self._reclaimed = 0.0
        self._unfinished = self._more = False
        self._found = 1
        self._records_per_entry = 100.0
        self._bytes_per_entry = 1.0
        self.is_behind = False
        """Whether the stream had more entries than the last call read."""

    async def prepare(self) -> None:
        try:
            await self._make_group(keys=[never_set(self._stream), self._stream], args=[DRAIN_GROUP])
        except ResponseError as error:
            if "BUSYGROUP" not in str(error):
                raise

    async def remove_consumer(self, name: bytes | str) -> None:
        """Remove a consumer from the group, unless it has pending entries."""
        await self._remove_consumer(keys=[self._stream], args=[DRAIN_GROUP, name])

    async def next_entries(self, max_records: int, block: float | None) -> list[RawEntry]:
        """Return entries with about `max_records` records. Wait `block` seconds for the first.

        Until `finish` is called, unacknowledged entries are returned again.
        """
        try:
            entries = await self._next(max_records, block)
        except RedisError:
            # Entries may be assigned to us although the answer was lost.
            self._unfinished = True
            raise
        if entries:
            # There may be more of our unacknowledged entries than were read now.
            self._more, self._unfinished = self._unfinished, True
        return entries

    def finish(self) -> None:
        self._unfinished = self._more

    async def batches(
        self, entries: Sequence[RawEntry], max_records: int
    ) -> AsyncGenerator[list[DecodedEntry[AnyRecord]], None]:
        """Yield the entries in order, in batches of up to `max_records` records or of one entry."""
        batch: list[DecodedEntry[AnyRecord]] = []
        records = size = this_turn = 0
        for entry in entries:
            decoded = self._decoded(entry)
            records += len(decoded.records)
            size += _size(entry)
            if batch and (records > max_records or size > _MAX_BATCH_BYTES):
                yield batch
                batch, records, size = [], len(decoded.records), _size(entry)
            batch.append(decoded)
            this_turn += len(decoded.records)
            if this_turn >= _RECORDS_PER_TURN:
                this_turn = 0
                await asyncio.sleep(0)
        yield batch

    async def _next(self, max_records: int, block: float | None) -> list[RawEntry]:
        try:
            if self._unfinished and (entries := await self._read("0", max_records, None)):
                return entries
            # Another consumer reclaimed them, or only the answer of the acknowledgement was lost.
            self._unfinished = False
            return await self._reclaim() or await self._read(">", max_records, block)
        except ResponseError as error:
            if not str(error).startswith("NOGROUP"):
                raise
            await self.prepare()
            return await self._read(">", max_records, None)

    async def _read(self, after: str, max_records: int, block: float | None) -> list[RawEntry]:
        """Read new entries (`>`), or our own that are not acknowledged (`0`)."""
        entries: list[RawEntry] = []
        records = size = 0
        self.is_behind = True
        while True:
            room = min(
                _MAX_BATCH_ENTRIES - len(entries),
                (max_records - records) / self._records_per_entry,
                (_MAX_BATCH_BYTES - size) / self._bytes_per_entry,
            )
            if entries and room < 1:
                return entries
            count = self._command_entries(room)
            try:
                found = await self._command(after, count, None if entries else block)
            except RedisError:
                if not entries:
                    raise
                # More entries may be assigned to us, although the answer was lost.
                self._unfinished = True
                return entries
            entries += found
            found_records, found_bytes = sum(map(_records_in, found)), sum(map(_size, found))
            records += found_records
            size += found_bytes
            self._observe(len(found), found_records, found_bytes)
            if len(found) < count:
                self.is_behind = False
                return entries
            if after != ">":
                after = found[-1][0].decode()

    def _command_entries(self, room: float) -> int:
        # In growing steps: the next entries may be far larger than the last.
        growing = max(_FIRST_COMMAND_ENTRIES, 4 * self._found)
        fitting = min(room, _COMMAND_BYTES / self._bytes_per_entry)
        return min(_MAX_COMMAND_ENTRIES, growing, max(1, int(fitting)))

    def _observe(self, entries: int, records: int, size: int) -> None:
        self._found = max(1, entries)
        if entries:
            self._records_per_entry = max(1.0, records / entries)
            self._bytes_per_entry = max(1.0, size / entries)

    async def _command(self, after: str, count: int, block: float | None) -> list[RawEntry]:
        answer: Any = await self._blocking.xreadgroup(
            DRAIN_GROUP,
            self._name,
            {self._stream: after},
            count=count,
            block=None if block is None else int(block * 1000),
        )
        return [entry for _, entries in answer or () for entry in entries]

    async def _reclaim(self) -> list[RawEntry]:
        if time.monotonic() - self._reclaimed < self._stale / 2:
            return []
        answer: Any = await self._redis.xautoclaim(
            *(self._stream, DRAIN_GROUP, self._name, int(self._stale * 1000), "0-0"),
            count=_STALE_ENTRIES,
        )
        entries: list[RawEntry] = [entry for entry in answer[1] if entry and entry[0] is not None]
        if len(answer[1]) < _STALE_ENTRIES:
            self._reclaimed = time.monotonic()
        # Redis 6.2 returns nil for a deleted entry. It is ours now: the next read returns its id.
        self._unfinished = len(entries) < len(answer[1])
        if entries:
            self.is_behind = True
            log.info("reclaimed entries of another consumer", entries=len(entries))
        return entries

    def _decoded(self, entry: RawEntry) -> DecodedEntry[AnyRecord]:
        entry_id, fields = entry
        if not fields:  # deleted although it was never acknowledged
            return DecodedEntry(entry_id, {}, [], None)
        try:
            return DecodedEntry(entry_id, fields, self._decoder.decode(fields), None)
        except ValueError as error:
            return DecodedEntry(entry_id, fields, [], error)


def _records_in(entry: RawEntry) -> int:
    return record_count(entry[1] or {})


def _size(entry: RawEntry) -> int:
    return sum(map(len, (entry[1] or {}).values()))

"""The reader of the journal, as one consumer of the group.

It returns new entries, those that a dead consumer left, and its own until they are acknowledged:
enough of them for a good batch. Commands are small, for Redis answers nobody else meanwhile.
"""

import asyncio
import time
from collections.abc import AsyncGenerator, Sequence
from typing import Any, Final, Generic, NamedTuple

import structlog
from redis.asyncio import Redis
from redis.exceptions import RedisError, ResponseError

from tracker.db.keys import DRAIN_GROUP, JOURNAL, NOBODY
from tracker.journal.entry import EntryDecoder, Fields, Kind, record_count

log = structlog.get_logger(__name__)

_MAX_BATCH_BYTES: Final = 16 << 20
_MAX_BATCH_ENTRIES: Final = 1000
"""Bounds of what is read before it is applied: one visitor may send 64 KiB."""

_COMMAND_BYTES: Final = 1 << 20
"""Bytes to ask for in one command, if the next entries are as large as the last."""

_FIRST_COMMAND_ENTRIES, _MAX_COMMAND_ENTRIES = 25, 200
"""Entries of one command, at first and at most: each may turn out to be full."""

_STALE_ENTRIES: Final = 50

_RECORDS_A_TURN: Final = 1000
"""Records decoded (1 µs each) before requests that wait get their turn."""

# A full Redis refuses a script whose first write takes room; one that begins by deleting may go on,
# and without the group nobody makes room. KEYS: a name that nobody uses, stream. ARGV: group.
_MAKE_GROUP: Final = """
redis.call('DEL', KEYS[1])
return redis.call('XGROUP', 'CREATE', KEYS[2], ARGV[1], '0', 'MKSTREAM')
"""

Entry = tuple[bytes, dict[bytes, bytes] | None]
"""Id and fields, as Redis returns them; no fields if the entry was deleted."""


class DecodedEntry(NamedTuple, Generic[Kind]):
    """An entry with its records, or with the error that says why they cannot be decoded."""

    id: bytes
    fields: Fields
    records: Sequence[Kind]
    error: ValueError | None


class Reader(Generic[Kind]):
    """A consumer of the group, called `name`, whose entries `decoder` decodes.

    `waiting` is a client whose timeout is longer than a blocking read. Entries that nobody
    acknowledged for `stale` seconds are reclaimed from their consumer.
    """

    def __init__(
        self, redis: Redis, waiting: Redis, decoder: EntryDecoder[Kind], name: str, stale: float
    ) -> None:
        self._redis = redis
        self._waiting = waiting
        self._name = name
        self._stale = stale
        self._make_group = redis.register_script(_MAKE_GROUP)
        self._decoder = decoder
        self._reclaimed = 0.0
        self._unfinished = self._more = False
        self._found = 1
        self._records_an_entry = 100.0
        self._bytes_an_entry = 1.0
        self.is_behind = False
        """True if there was more than what was read last."""

    async def prepare(self) -> None:
        """Create the stream and the group if they do not exist. Raises RedisError."""
        try:
            await self._make_group(keys=[NOBODY, JOURNAL], args=[DRAIN_GROUP])
        except ResponseError as error:
            if "BUSYGROUP" not in str(error):
                raise

    async def next_entries(self, most: int, block: float | None) -> list[Entry]:
        """Return about `most` records, at least one entry if there is one within `block` seconds.

        Until `finish` is called, the next call returns those that were not acknowledged again.
        Raises RedisError.
        """
        try:
            entries = await self._next(most, block)
        except RedisError:
            # Some may be ours although the answer was lost.
            self._unfinished = True
            raise
        if entries:
            # Of those we had already, there may be more than were read now.
            self._more, self._unfinished = self._unfinished, True
        return entries

    def finish(self) -> None:
        """Go on after the last entries: they are acknowledged."""
        self._unfinished = self._more

    async def batches(
        self, entries: Sequence[Entry], most: int
    ) -> AsyncGenerator[list[DecodedEntry[Kind]], None]:
        """Yield the entries in order, in batches of at most `most` records, or of one entry."""
        batch: list[DecodedEntry[Kind]] = []
        records = size = this_turn = 0
        for entry in entries:
            decoded = self._decoded(entry)
            records += len(decoded.records)
            size += _size(entry)
            if batch and (records > most or size > _MAX_BATCH_BYTES):
                yield batch
                batch, records, size = [], len(decoded.records), _size(entry)
            batch.append(decoded)
            this_turn += len(decoded.records)
            if this_turn >= _RECORDS_A_TURN:
                this_turn = 0
                await asyncio.sleep(0)
        yield batch

    async def _next(self, most: int, block: float | None) -> list[Entry]:
        try:
            if self._unfinished and (entries := await self._read("0", most, None)):
                return entries
            # There are none: another consumer reclaimed them, or only the answer to their
            # acknowledgement was lost.
            self._unfinished = False
            return await self._reclaim() or await self._read(">", most, block)
        except ResponseError as error:
            if not str(error).startswith("NOGROUP"):
                raise
            await self.prepare()
            return await self._read(">", most, None)

    async def _read(self, after: str, most: int, block: float | None) -> list[Entry]:
        """Read entries nobody has had (`>`), or those we have had and not acknowledged (`0`)."""
        entries: list[Entry] = []
        records = size = 0
        self.is_behind = True
        while True:
            fitting = min(
                _MAX_BATCH_ENTRIES - len(entries),
                (most - records) / self._records_an_entry,
                (_MAX_BATCH_BYTES - size) / self._bytes_an_entry,
            )
            if entries and fitting < 1:
                return entries
            # Step by step: the next entries may be far larger than the last.
            fitting = min(fitting, _COMMAND_BYTES / self._bytes_an_entry)
            growing = max(_FIRST_COMMAND_ENTRIES, 4 * self._found)
            count = min(_MAX_COMMAND_ENTRIES, growing, max(1, int(fitting)))
            try:
                found = await self._command(after, count, None if entries else block)
            except RedisError:
                if not entries:
                    raise
                # Others may be ours as well, though their answer was lost.
                self._unfinished = True
                return entries
            entries += found
            held, length = sum(map(_records_in, found)), sum(map(_size, found))
            records += held
            size += length
            self._found = max(1, len(found))
            if found:
                self._records_an_entry = max(1.0, held / len(found))
                self._bytes_an_entry = max(1.0, length / len(found))
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
        return [entry for _, entries in answer or () for entry in entries]

    async def _reclaim(self) -> list[Entry]:
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
            self.is_behind = True
            log.info("reclaimed entries of another consumer", entries=len(entries))
        return entries

    def _decoded(self, entry: Entry) -> DecodedEntry[Kind]:
        entry_id, fields = entry
        if not fields:  # deleted although it was never acknowledged
            return DecodedEntry(entry_id, {}, [], None)
        try:
            return DecodedEntry(entry_id, fields, self._decoder.decode(fields), None)
        except ValueError as error:
            return DecodedEntry(entry_id, fields, [], error)


def _records_in(entry: Entry) -> int:
    return record_count(entry[1] or {})


def _size(entry: Entry) -> int:
    """Return the bytes of its values."""
    return sum(map(len, (entry[1] or {}).values()))

"""The journal's entries, as one consumer of the group reads them: new ones, those a dead consumer
left, and its own until they are acknowledged. So many together as make a good batch, in commands
that are small, for Redis answers nobody else meanwhile."""

import asyncio
import time
from collections.abc import AsyncGenerator, Mapping, Sequence
from typing import Any, Final, NamedTuple

import msgspec
import structlog
from redis.asyncio import Redis
from redis.exceptions import RedisError, ResponseError

from tracker.db.keys import DRAIN_GROUP, JOURNAL, NOBODY
from tracker.ingest.drain import Record
from tracker.journal.stream import FORMAT

log = structlog.get_logger(__name__)

_MOST_BYTES: Final = 16 << 20
_MOST_ENTRIES: Final = 1000
"""Read before they are applied: a visitor may send 64 KiB."""

_COMMAND_BYTES: Final = 1 << 20
"""If the next entries are as large as the last."""

_FEW_ENTRIES, _COMMAND_ENTRIES = 25, 200
"""Of one command, at first and at most: each may turn out to be full."""

_STALE_ENTRIES: Final = 50

_PIECE: Final = 1000
"""Records decoded (1 µs each) before requests that wait get their turn."""

# A full Redis refuses a script whose first write takes room; one that begins by deleting may go on,
# and without the group nobody makes room. KEYS: a name that nobody uses, stream. ARGV: group.
_MAKE_GROUP: Final = """
redis.call('DEL', KEYS[1])
return redis.call('XGROUP', 'CREATE', KEYS[2], ARGV[1], '0', 'MKSTREAM')
"""

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
        self._make_group = redis.register_script(_MAKE_GROUP)
        self._decoder = msgspec.msgpack.Decoder(list[Record])
        self._reclaimed = 0.0
        self._unfinished = self._more = False
        self._found = 1
        self._records_an_entry = 100.0
        self._bytes_an_entry = 1.0
        self.is_behind = False
        """Whether there was more than what was read last."""

    async def prepare(self) -> None:
        """Make the stream and the group if they are not there."""
        try:
            await self._make_group(keys=[NOBODY, JOURNAL], args=[DRAIN_GROUP])
        except ResponseError as error:
            if "BUSYGROUP" not in str(error):
                raise

    async def next_entries(self, most: int, block: float | None) -> list[Entry]:
        """About `most` records, at least one entry if there is one within `block` seconds; until
        they are `finished`, those of them that are not acknowledged again. Raises RedisError."""
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

    def finished(self) -> None:
        """The last entries are acknowledged."""
        self._unfinished = self._more

    async def batches(
        self, entries: Sequence[Entry], most: int
    ) -> AsyncGenerator[list[Read], None]:
        """The entries in order, so many together as hold no more records than a batch may."""
        batch: list[Read] = []
        records = size = piece = 0
        for entry in entries:
            read = self._decoded(entry)
            records += len(read.records)
            size += _size(entry)
            if batch and (records > most or size > _MOST_BYTES):
                yield batch
                batch, records, size = [], len(read.records), _size(entry)
            batch.append(read)
            piece += len(read.records)
            if piece >= _PIECE:
                piece = 0
                await asyncio.sleep(0)
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
        records = size = 0
        self.is_behind = True
        while True:
            fitting = min(
                _MOST_ENTRIES - len(entries),
                (most - records) / self._records_an_entry,
                (_MOST_BYTES - size) / self._bytes_an_entry,
            )
            if entries and fitting < 1:
                return entries
            # Step by step: the next entries may be far larger than the last.
            fitting = min(fitting, _COMMAND_BYTES / self._bytes_an_entry)
            count = min(_COMMAND_ENTRIES, max(_FEW_ENTRIES, 4 * self._found), max(1, int(fitting)))
            try:
                found = await self._command(after, count, None if entries else block)
            except RedisError:
                if not entries:
                    raise
                # Others may be ours as well, though their answer was lost.
                self._unfinished = True
                return entries
            entries += found
            held, length = sum(map(_number, found)), sum(map(_size, found))
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
            self.is_behind = True
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


def _number(entry: Entry) -> int:
    """Records in it, as the beginning of a MessagePack array tells; 0 if it is none."""
    payload = (entry[1] or {}).get(FORMAT, b"")
    if payload[:1] == b"\xdc":
        return int.from_bytes(payload[1:3])
    return payload[0] & 0x0F if payload and payload[0] >> 4 == 0x9 else 0


def _size(entry: Entry) -> int:
    """Bytes of what it holds."""
    return sum(map(len, (entry[1] or {}).values()))

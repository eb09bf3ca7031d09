"""Event ids: positive integers below 2^53, never given twice.

- Each block of ids is reserved with a counter in MongoDB that only grows, by majority writes.
- Each process gives ids from a block in memory. It reserves the next once less than half is left.
- A spare block is in a file, for a process that starts while MongoDB is unavailable. Redis is not
  safe for it: a replica or a backup could restore a block that was taken.
- A lost counter starts GAP_IDS above the highest stored id, beyond all reserved ids.

Guarantee: no id is given twice, even if a store is lost.
"""

import asyncio
import os
import uuid
from collections.abc import Awaitable, Callable
from contextvars import Context
from pathlib import Path
from typing import NamedTuple

import structlog
from pymongo import ReturnDocument
from pymongo.errors import PyMongoError

from tracker.errors import Unavailable
from tracker.journal.spool_file import flush_names
from tracker.loops import record_failure
from tracker.stores.mongodb.database import MongoDB

log = structlog.get_logger(__name__)

BLOCK_IDS = 100_000

GAP_IDS = 1_000_000_000
"""Ids to skip if the counter was lost."""

_COUNTER = "event_id"


class ReservedId(NamedTuple):
    """The id of a conversion that may be recorded again. Drains store an id once.

    It is `known`, or `reserve` gets a new id and returns the one to use.
    """

    known: int | None
    reserve: Callable[[int], Awaitable[int]]


class SpareBlock:
    """A block of ids in a file in `folder`. The process that renames the file owns the block."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._path = folder / "event_ids.spare"

    def exists(self) -> bool:
        return self._path.exists()

    def store(self, block: range) -> None:
        """Write `block`. If the file exists already, `block` is never used. Raises OSError."""
        self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        draft = self._draft()
        with draft.open("x", encoding="ascii") as file:
            file.write(f"{block.start} {block.stop}\n")
            file.flush()
            os.fsync(file.fileno())
        try:
            os.link(draft, self._path)
        except FileExistsError:
            return
        finally:
            draft.unlink()

    def take(self) -> range | None:
        """Return the block after it is removed from the disk. Raises OSError or ValueError."""
        taken = self._draft()
        try:
            self._path.rename(taken)
        except FileNotFoundError:
            return None
        start, stop = taken.read_text("ascii").split()
        taken.unlink()
        flush_names(self._folder)
        return range(int(start), int(stop))

    def _draft(self) -> Path:
        return self._path.with_suffix(f".{uuid.uuid4().hex}")


class EventIds:
    """The event ids that one process gives."""

    def __init__(self, mongodb: MongoDB, spare: SpareBlock) -> None:
        self._counters = mongodb["counters"]
        self._events = mongodb["events"]
        self._spare = spare
        self._blocks: list[range] = []
        self._fetching: asyncio.Task[bool] | None = None

    async def start(self) -> None:
        """Fetch the first block. If that fails, `next` raises."""
        await self._fetching_task()

    @property
    def has_ids(self) -> bool:
        """Return whether there are ids in memory or in the file."""
        return bool(self._blocks) or self._spare.exists()

    async def next(self, reserved: ReservedId | None = None) -> int:
        """Return a new id, or the reserved one.

        Raises Unavailable if memory, MongoDB and the file have none.
        """
        if reserved is not None:
            return reserved.known or await reserved.reserve(await self.next())
        while (one := self.next_in_memory()) is None:  # a crowd may use up a block at once
            if not await asyncio.shield(self._fetching_task()):
                raise Unavailable("storage is unavailable; try again")
        return one

    def next_in_memory(self) -> int | None:
        """Return a new id; None: ask `next`."""
        if not self._blocks:
            return None
        first = self._blocks[0]
        self._blocks[0] = first[1:]
        if not self._blocks[0]:
            del self._blocks[0]
        if sum(map(len, self._blocks)) < BLOCK_IDS // 2:
            self._fetching_task()
        return first[0]

    async def close(self) -> None:
        """Wait until no block is being fetched."""
        if self._fetching is not None:
            await asyncio.wait([self._fetching])

    def _fetching_task(self) -> asyncio.Task[bool]:
        if self._fetching is None:
            # An empty context, without the request id of a caller: the task serves all callers.
            self._fetching = asyncio.get_running_loop().create_task(
                self._fetch(), context=Context()
            )
        return self._fetching

    async def _fetch(self) -> bool:
        try:
            self._blocks.append(await self._reserve())
            await self._store_spare()
            return True
        except Exception as error:
            if not isinstance(error, PyMongoError):
                record_failure("event_ids", error)
            log.warning("event ids come from the spare block", error=type(error).__name__)
            return await self._take_spare()
        finally:
            self._fetching = None

    async def _reserve(self) -> range:
        highest = await self._events.find_one({}, ["_id"], sort=[("_id", -1)])
        stored = 0 if highest is None else int(highest["_id"])
        start = stored + GAP_IDS if stored else 0
        last = {"$max": [{"$ifNull": ["$last", start]}, stored]}
        counter = await self._counters.find_one_and_update(
            {"_id": _COUNTER},
            [{"$set": {"last": {"$add": [last, BLOCK_IDS]}}}],
            upsert=True,
            return_document=ReturnDocument.AFTER,
        )
        end = int(counter["last"])
        return range(end - BLOCK_IDS + 1, end + 1)

    async def _store_spare(self) -> None:
        try:
            if not self._spare.exists():
                block = await self._reserve()
                await asyncio.to_thread(self._spare.store, block)
        except (OSError, PyMongoError) as error:
            log.warning("spare event ids not stored", error=type(error).__name__)

    async def _take_spare(self) -> bool:
        try:
            spare = await asyncio.to_thread(self._spare.take)
        except (OSError, ValueError) as error:
            log.warning("spare event ids not usable", error=type(error).__name__)
            return False
        if spare:
            self._blocks.append(spare)
        return bool(spare)

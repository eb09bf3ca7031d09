"""Event ids: positive integers below 2^53, never given twice.

MongoDB grants blocks of ids from a counter that only grows, by majority writes, so a lost Redis
takes nothing with it. Each process gives ids from a block in memory and fetches the next before
half of it is used. A spare block lies in a file, for a process that starts while MongoDB is away:
a file and not Redis, whose past may come back (a replica, a backup) and with it a block that was
taken. A lost counter starts a GAP above the highest stored event, beyond all that was granted.
"""

import asyncio
import os
import uuid
from contextvars import Context
from pathlib import Path

import structlog
from pymongo import ReturnDocument

from tracker.db.connect import Database, PyMongoError
from tracker.errors import Unavailable
from tracker.loops import record_failure

log = structlog.get_logger(__name__)

BLOCK = 100_000
GAP = 1_000_000_000
_COUNTER = "event_id"


class SpareBlock:
    """One block in a file of `folder`; whoever renames the file away has it."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._path = folder / "event_ids.spare"

    def is_kept(self) -> bool:
        return self._path.exists()

    def keep(self, block: range) -> None:
        """Unless one is kept already: then `block` is never used. Raises OSError."""
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
        """The block, which is gone from the disk before anybody uses it. Raises OSError."""
        taken = self._draft()
        try:
            self._path.rename(taken)
        except FileNotFoundError:
            return None
        start, stop = taken.read_text("ascii").split()
        taken.unlink()
        folder = os.open(self._folder, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)
        return range(int(start), int(stop))

    def _draft(self) -> Path:
        return self._path.with_suffix(f".{uuid.uuid4().hex}")


class EventIds:
    def __init__(self, database: Database, spare: SpareBlock) -> None:
        self._counters = database["counters"]
        self._events = database["events"]
        self._spare = spare
        self._blocks: list[range] = []
        self._fetching: asyncio.Task[bool] | None = None

    async def start(self) -> None:
        """Fetch the first block. If there is none to be had, `next` will say so."""
        await self._fetched()

    @property
    def has_some(self) -> bool:
        """Whether there are ids without asking MongoDB."""
        return bool(self._blocks) or self._spare.is_kept()

    async def next(self) -> int:
        """A new id. Raises Unavailable if there is none in memory, in MongoDB or in the file."""
        while (one := self.next_at_once()) is None:  # a crowd may use up a block at once
            if not await asyncio.shield(self._fetched()):
                raise Unavailable("storage is away; try again")
        return one

    def next_at_once(self) -> int | None:
        """A new id; None if there is none in memory: ask `next`."""
        if not self._blocks:
            return None
        first = self._blocks[0]
        self._blocks[0] = first[1:]
        if not self._blocks[0]:
            del self._blocks[0]
        if sum(map(len, self._blocks)) < BLOCK // 2:
            self._fetched()
        return first[0]

    async def close(self) -> None:
        if self._fetching is not None:
            await asyncio.wait([self._fetching])

    def _fetched(self) -> asyncio.Task[bool]:
        if self._fetching is None:
            # Whoever came first lends it no request id: it serves everybody.
            self._fetching = asyncio.get_running_loop().create_task(
                self._fetch(), context=Context()
            )
        return self._fetching

    async def _fetch(self) -> bool:
        """Whether there was a block to fetch."""
        try:
            self._blocks.append(await self._granted())
            await self._keep_spare()
            return True
        except Exception as error:
            if not isinstance(error, PyMongoError):
                record_failure("event_ids", error)
            log.warning("event ids come from the spare block", error=type(error).__name__)
            return await self._take_spare()
        finally:
            self._fetching = None

    async def _granted(self) -> range:
        highest = await self._events.find_one({}, ["_id"], sort=[("_id", -1)])
        stored = 0 if highest is None else int(highest["_id"])
        start = stored + GAP if stored else 0
        last = {"$max": [{"$ifNull": ["$last", start]}, stored]}
        counter = await self._counters.find_one_and_update(
            {"_id": _COUNTER},
            [{"$set": {"last": {"$add": [last, BLOCK]}}}],
            upsert=True,
            return_document=ReturnDocument.AFTER,
        )
        end = int(counter["last"])
        return range(end - BLOCK + 1, end + 1)

    async def _keep_spare(self) -> None:
        try:
            if not self._spare.is_kept():
                block = await self._granted()
                await asyncio.to_thread(self._spare.keep, block)
        except (OSError, PyMongoError) as error:
            log.warning("spare event ids not kept", error=type(error).__name__)

    async def _take_spare(self) -> bool:
        try:
            spare = await asyncio.to_thread(self._spare.take)
        except (OSError, ValueError) as error:
            log.warning("spare event ids not usable", error=type(error).__name__)
            return False
        if spare:
            self._blocks.append(spare)
        return bool(spare)

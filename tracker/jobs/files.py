"""Files of jobs in MongoDB, in pieces that any process reads. MongoDB removes forgotten ones."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable
from typing import Any, Final
from uuid import UUID

from pymongo.errors import PyMongoError

from tracker.clock import now
from tracker.errors import BadRequest, Unavailable
from tracker.ids import new_id
from tracker.stores.mongodb.database import MongoDB
from tracker.stores.mongodb.drivers import Collection

PIECE_BYTES: Final = 1024 * 1024

BEGINNING_BYTES: Final = 64 * 1024
"""What tells the kind of a file, and is shown of it."""


class FileWriter:
    """A file that is being received, with at most a piece of it in memory."""

    def __init__(self, pieces: Collection) -> None:
        self._pieces = pieces
        self._received = bytearray()
        self._number = 0
        self._failed = False
        self._is_abandoned = False
        self._deleting: asyncio.Task[None] | None = None
        self.is_kept = False
        self.id = new_id()
        self.size = 0
        self.lines = 0

    def write(self, piece: bytes) -> Awaitable[None] | None:
        self.size += len(piece)
        self.lines += max(piece.count(b"\n"), piece.count(b"\r"))
        self._received += piece
        return self._store() if len(self._received) >= PIECE_BYTES else None

    def abandon(self) -> None:
        """Delete what is stored, unless a job has it."""
        if not (self.is_kept or self._is_abandoned):
            self._is_abandoned = True
            self._deleting = asyncio.create_task(self._delete())

    async def _delete(self) -> None:
        with contextlib.suppress(PyMongoError):  # MongoDB removes it later
            await self._pieces.delete_many(_all_of(self.id))

    async def close(self) -> None:
        """Store the rest. Raises Unavailable if a piece could not be stored."""
        await self._store()
        if self._failed:
            raise Unavailable("file: could not be stored; send it again")

    async def _store(self) -> None:
        piece, self._received = bytes(self._received), bytearray()
        if self._is_abandoned:
            return
        row = {"_id": {"file": self.id, "number": self._number}, "at": now(), "piece": piece}
        self._number += 1
        try:
            await self._pieces.insert_one(row)
        except PyMongoError:
            self._failed = True
        if self._is_abandoned:  # in the meantime
            await self._delete()


class Files:
    """The files of all jobs."""

    def __init__(self, mongodb: MongoDB) -> None:
        self._pieces = mongodb["job_files"]

    def writer(self) -> FileWriter:
        return FileWriter(self._pieces)

    async def read(self, file_id: UUID, size: int = 0) -> AsyncIterator[bytes]:
        """Yield the pieces of a file. Raises BadRequest if fewer than `size` bytes are stored."""
        number = 0
        while row := await self._pieces.find_one({"_id": {"file": file_id, "number": number}}):
            yield row["piece"]
            number += 1
            size -= len(row["piece"])
        if size > 0:
            raise BadRequest("file: is no longer stored; send it again")

    async def beginning(self, file_id: UUID) -> bytes:
        async for piece in self.read(file_id):
            return piece[:BEGINNING_BYTES]
        return b""

    async def delete(self, file_id: UUID | None) -> None:
        await self._pieces.delete_many(_all_of(file_id))


def _all_of(file_id: UUID | None) -> dict[str, Any]:
    of_file = ({"file": file_id, "number": number} for number in (0, 2**31))
    return {"_id": dict(zip(("$gte", "$lte"), of_file, strict=True))}

"""Reading of a source's API into a file of the import, in the process that was given its key.

The key stays in the memory of that process. If it ends, nobody renews the lease, and the import
has failed (`worker`).
"""

import asyncio
from collections.abc import AsyncIterator
from typing import Final

import msgspec

from tracker.clock import now
from tracker.errors import BadRequest, Unavailable
from tracker.ids import new_id
from tracker.imports.files import Files
from tracker.imports.item import RefusedRow, SourceItem, SourceLink, SourceVisit
from tracker.imports.source import FileFormat, Items, Pieces, Source
from tracker.imports.source_api import HttpApi
from tracker.imports.store import LEASE, Import, Imports, LeaseLost, leased

MAX_READING: Final = 4
"""APIs that a process reads at once."""

ITEMS_FORMAT: Final = "items"


class _Line(msgspec.Struct, omit_defaults=True):
    link: SourceLink | None = None
    visit: SourceVisit | None = None
    refused: RefusedRow | None = None


_FIELDS: Final = {SourceLink: "link", SourceVisit: "visit", RefusedRow: "refused"}
_decode = msgspec.json.Decoder(_Line).decode


def as_line(item: SourceItem) -> bytes:
    return msgspec.json.encode({_FIELDS[type(item)]: item}) + b"\n"


async def read_lines(pieces: Pieces) -> AsyncIterator[SourceItem]:
    """Yield the items of a file that `as_line` has made."""
    rest = b""
    async for piece in pieces:
        *lines, rest = (rest + piece).split(b"\n")
        for line in map(_decode, lines):
            item = line.link or line.visit or line.refused
            assert item is not None
            yield item


def format_of(source: Source, one: Import) -> FileFormat:
    """Return how the file of an import is read."""
    read = FileFormat(ITEMS_FORMAT, lambda _: False, read_lines)
    return next((kind for kind in source.files if kind.name == one.format), read)


def read_items(source: Source, one: Import, pieces: Pieces) -> Items:
    kind = format_of(source, one)
    if kind.mapping is None or not one.columns:
        return kind.read(pieces)
    return kind.mapping.read(pieces, {column.field: column.number for column in one.columns})


class ApiReading:
    """The APIs that this process reads."""

    def __init__(self, imports: Imports, files: Files) -> None:
        self._imports = imports
        self._files = files
        self._waiting: asyncio.Queue[tuple[Import, Items]] = asyncio.Queue(MAX_READING)

    async def begin(self, new: Import, source: Source, api: HttpApi) -> Import:
        """Store an import whose API is read next. Raises Unavailable if too many are."""
        assert source.read_api is not None
        if self._waiting.full():
            raise Unavailable("api: too many are being read; try again", {"Retry-After": "60"})
        lease = {"holder": new_id(), "leased_until": now() + LEASE}
        reading = msgspec.structs.replace(new, state="reading", format=ITEMS_FORMAT, **lease)
        await self._imports.create(reading)
        await self._waiting.put((reading, source.read_api(api)))
        return reading

    async def run(self) -> None:
        async with asyncio.TaskGroup() as group:
            for _ in range(MAX_READING):
                group.create_task(self._keep_reading())

    async def _keep_reading(self) -> None:
        while True:
            reading, items = await self._waiting.get()
            try:
                await leased(self._imports, reading, self._read(reading, items))
            except LeaseLost:
                pass
            except BadRequest as error:
                await self._imports.fail(reading, error.message)

    async def _read(self, reading: Import, items: Items) -> None:
        writer = self._files.writer()
        async for item in items:
            writing = writer.write(as_line(item))
            if writing is not None:
                await writing
        await writer.close()
        file = {"file_id": writer.id, "file_bytes": writer.size}
        await self._imports.advance(reading, {"state": "uploaded", **file})

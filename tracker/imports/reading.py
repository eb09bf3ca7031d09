"""Reading of a source's API into a file of the import, in the process that was given its key.

The key stays in the memory of that process. If it ends, nobody renews the lease, and the import
has failed (`worker`). Passwords in clear are hashed before they are stored.
"""

import asyncio
from typing import Final

import msgspec
import structlog

from tracker.access.passwords import Passwords
from tracker.clock import now
from tracker.errors import BadRequest, Unavailable
from tracker.ids import new_id
from tracker.imports.candidate import is_kept
from tracker.imports.item import (
    RefusedRow,
    SourceItem,
    SourceLink,
    SourcePassword,
    SourceVisit,
)
from tracker.imports.source import FileFormat, Items, Pieces, Source
from tracker.imports.store import Import, Imports
from tracker.jobs.files import Files
from tracker.jobs.store import LEASE, InTransaction, LeaseLost, leased
from tracker.loops import cancel_and_wait
from tracker.web.limits import MAX_UPLOAD_BYTES

log = structlog.get_logger(__name__)

MAX_READING: Final = 4
"""APIs that a process reads at once."""

ITEMS_FORMAT: Final = "items"


_decode: Final = msgspec.json.Decoder(SourceItem).decode


def as_line(item: SourceItem) -> bytes:
    try:
        return msgspec.json.encode(item) + b"\n"
    except UnicodeEncodeError:  # half of a surrogate pair, which JSON can have
        row = 0 if isinstance(item, SourceVisit) else item.row
        return as_line(RefusedRow(row=row, field="row", reason="has text that is no valid Unicode"))


async def read_lines(pieces: Pieces) -> Items:
    """Yield the items of a file that `as_line` has made."""
    rest = b""
    async for piece in pieces:
        *lines, rest = (rest + piece).split(b"\n")
        for line in lines:
            yield _decode(line)


def format_of(source: Source, one: Import) -> FileFormat:
    """Return how the file of an import is read."""
    items = FileFormat(ITEMS_FORMAT, lambda _: False, lambda pieces, _: read_lines(pieces))
    return next((kind for kind in source.files if kind.name == one.format), items)


def read_items(source: Source, one: Import, pieces: Pieces) -> Items:
    columns = {column.field: column.number for column in one.columns}
    return format_of(source, one).read(pieces, columns)


class ApiReading:
    """The APIs that this process reads."""

    def __init__(self, imports: Imports, files: Files, passwords: Passwords) -> None:
        self._imports = imports
        self._files = files
        self._passwords = passwords
        self._tasks: set[asyncio.Task[None]] = set()

    async def begin(
        self, new: Import, items: Items, in_transaction: InTransaction[Import] | None = None
    ) -> Import:
        """Store an import, and begin to read it. Raises Unavailable if too many are read."""
        if len(self._tasks) >= MAX_READING:
            raise Unavailable("api: too many are being read; try again", {"Retry-After": "60"})
        lease = {"holder": new_id(), "leased_until": now() + LEASE}
        held = msgspec.structs.replace(new, state="reading", format=ITEMS_FORMAT, **lease)
        await self._imports.create(held, in_transaction)
        task = asyncio.create_task(self._read(held, items))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return held

    async def close(self) -> None:
        for task in tuple(self._tasks):
            await cancel_and_wait(task)

    async def _read(self, held: Import, items: Items) -> None:
        try:
            await leased(self._imports, held, self._store(held, items))
        except LeaseLost:
            log.info("an import was cancelled while its API was read", import_id=str(held.id))
        except BadRequest as error:
            await self._imports.fail(held, error.message)
        except Exception:
            log.exception("an API could not be read", import_id=str(held.id), source=held.source)
            await self._imports.fail(held, "api: could not be read; the operator's log says why")

    async def _store(self, held: Import, items: Items) -> None:
        writer = self._files.writer()
        try:
            async for item in items:
                line = as_line(await self._without_clear_password(item))
                if (writing := writer.write(line)) is not None:
                    await writing
                if writer.size > MAX_UPLOAD_BYTES:
                    raise BadRequest(f"api: gives more than {MAX_UPLOAD_BYTES} bytes; import files")
            await writer.close()
            file = {"file_id": writer.id, "file_bytes": writer.size}
            await self._imports.advance(held, {"state": "uploaded", **file})
        except BaseException:
            await self._files.delete(writer.id)
            raise

    async def _without_clear_password(self, item: SourceItem) -> SourceItem:
        password = item.password if isinstance(item, SourceLink) else None
        if password is None or password.scheme != "plain":
            return item
        hashed = SourcePassword("unknown")
        if is_kept(password):
            hashed = SourcePassword("argon2", await self._passwords.hash(password.text))
        return msgspec.structs.replace(item, password=hashed)

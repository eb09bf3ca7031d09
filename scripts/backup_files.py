"""The files of a backup: gzipped BSON documents, as mongodump writes them, and their list.

`backup.json` names every part with its number of documents and its SHA-256. It is written last, so
a folder without it is no backup.
"""

import gzip
import hashlib
import os
import zlib
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO, Final

import bson
import msgspec
from bson.codec_options import CodecOptions
from bson.raw_bson import RawBSONDocument

from tracker import __version__
from tracker.errors import TrackerError

_LIST: Final = "backup.json"
_LENGTH_BYTES: Final = 4
_FAST: Final = 1
_RAW: Final[CodecOptions[RawBSONDocument]] = CodecOptions(document_class=RawBSONDocument)


class BackupPart(msgspec.Struct, frozen=True, kw_only=True):
    """A file. `documents`, `bytes` and `sha256` describe its contents before compression."""

    name: str
    documents: int
    bytes: int
    sha256: str


class BackupList(msgspec.Struct, frozen=True, kw_only=True):
    """The list of a backup, which has everything that was answered before `begun`."""

    release: str
    begun: datetime
    parts: tuple[BackupPart, ...]


class PartWriter:
    """The writer of one part. Add documents; `part` is set after the context."""

    part: BackupPart

    def __init__(self, folder: Path, name: str) -> None:
        self._name = name
        self._digest = hashlib.sha256()
        self._bytes = 0
        self.documents = 0
        self._plain = _new_file(_path(folder, name))
        self._file = gzip.GzipFile(fileobj=self._plain, mode="wb", compresslevel=_FAST)

    def __enter__(self) -> "PartWriter":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: object, trace: TracebackType | None
    ) -> None:
        with self._plain:
            self._file.close()
            if kind is None:
                self._plain.flush()
                os.fsync(self._plain.fileno())
        self.part = BackupPart(
            name=self._name,
            documents=self.documents,
            bytes=self._bytes,
            sha256=self._digest.hexdigest(),
        )

    def add(self, document: dict[str, Any]) -> None:
        self.add_raw(bson.encode(document))

    def add_raw(self, documents: bytes) -> None:
        """Add concatenated encoded documents."""
        self._digest.update(documents)
        self._file.write(documents)
        self._bytes += len(documents)
        self.documents += _count(documents)


def raw_documents(folder: Path, name: str) -> Iterator[RawBSONDocument]:
    """Yield the documents of a part. Raises TrackerError if the file cannot be read to its end."""
    try:
        with gzip.open(_path(folder, name)) as file:
            while head := file.read(_LENGTH_BYTES):
                rest = file.read(int.from_bytes(head, "little") - _LENGTH_BYTES)
                yield RawBSONDocument(head + rest, _RAW)
    except (OSError, EOFError, ValueError, zlib.error, bson.errors.BSONError) as error:
        raise TrackerError(f"{_path(folder, name)}: {error}") from error


def documents(folder: Path, name: str) -> Iterator[dict[str, Any]]:
    """Yield the documents of a part, decoded. Raises TrackerError as `raw_documents` does."""
    for raw in raw_documents(folder, name):
        yield bson.decode(raw.raw)


def make_folder(folder: Path) -> None:
    """Create the folder of a backup, readable by its owner only. Raises OSError if it exists."""
    folder.mkdir(mode=0o700)


def write_list(folder: Path, begun: datetime, parts: list[BackupPart]) -> None:
    """Write the list, which makes the folder a backup."""
    contents = BackupList(release=__version__, begun=begun, parts=tuple(parts))
    with _new_file(folder / _LIST) as file:
        file.write(msgspec.json.format(msgspec.json.encode(contents)))
        file.flush()
        os.fsync(file.fileno())


def read_list(folder: Path) -> BackupList:
    """Return the list. Raises TrackerError if it is missing or damaged."""
    try:
        return msgspec.json.decode((folder / _LIST).read_bytes(), type=BackupList)
    except FileNotFoundError:
        raise TrackerError(f"{folder}: no complete backup, for it has no {_LIST}") from None
    except (OSError, msgspec.MsgspecError) as error:
        raise TrackerError(f"{folder / _LIST}: {error}") from error


def check_part(folder: Path, part: BackupPart) -> None:
    """Raises TrackerError unless a file contains what was written."""
    digest, count = hashlib.sha256(), 0
    for one in raw_documents(folder, part.name):
        digest.update(one.raw)
        count += 1
    if (count, digest.hexdigest()) != (part.documents, part.sha256):
        raise TrackerError(f"{_path(folder, part.name)}: not what was written")


def utc_now() -> datetime:
    return datetime.now(UTC)


def _new_file(path: Path) -> BinaryIO:
    """Create a file readable by its owner only. Raises OSError if it exists."""
    return os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb")


def _path(folder: Path, name: str) -> Path:
    return folder / f"{name}.bson.gz"


def _count(documents: bytes) -> int:
    count = position = 0
    while position < len(documents):
        position += int.from_bytes(documents[position : position + _LENGTH_BYTES], "little")
        count += 1
    return count

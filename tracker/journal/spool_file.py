"""The format of a spool file: a sequence of entries, each of start, length, CRC-32 and payload.

The reader finds every whole entry, also after damage. An entry starts with the file's marker and
`TRK1`. The marker is random, so no visitor's text looks like an entry; old files have none.
"""

import os
import secrets
import struct
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, Final

_LENGTH_AND_CHECKSUM = struct.Struct(">II")
_MAGIC: Final = b"TRK1"
_MARKER_BYTES: Final = 8
_CHUNK_BYTES: Final = 1024 * 1024

HEADER_BYTES: Final = _MARKER_BYTES + len(_MAGIC) + _LENGTH_AND_CHECKSUM.size
"""Bytes of an entry before its payload, in a file with a marker."""

BATCH_ENTRIES = 100
BATCH_BYTES = 1024 * 1024
"""A batch ends with the entry that reaches one of these."""


def new_marker() -> bytes:
    return secrets.token_bytes(_MARKER_BYTES)


def name_with_marker(name: str, marker: bytes) -> str:
    return f"{name}-{marker.hex()}" if marker else name


def marker_of(path: Path) -> bytes:
    """Return the marker in a file's name; empty for a file of an older release."""
    *rest, last = path.stem.split("-")
    if len(rest) < 2 or len(last) != 2 * _MARKER_BYTES:
        return b""
    try:
        return bytes.fromhex(last)
    except ValueError:
        return b""


def frame(payload: bytes, marker: bytes) -> bytes:
    head = _LENGTH_AND_CHECKSUM.pack(len(payload), zlib.crc32(payload))
    return marker + _MAGIC + head + payload


class SpoolReader:
    """A reader of one file. `torn_bytes` may begin an unfinished entry; `damaged_bytes` do not."""

    def __init__(self, file: BinaryIO, marker: bytes) -> None:
        self._file = file
        self._start = marker + _MAGIC
        self._header_bytes = len(self._start) + _LENGTH_AND_CHECKSUM.size
        self._size = os.fstat(file.fileno()).st_size
        self._position = 0
        self.entries = 0
        self.damaged_bytes = 0
        self.torn_bytes = 0
        self._unsent: list[bytes] = []

    def batch(self) -> list[bytes]:
        """Return the next payloads, about BATCH_ENTRIES or BATCH_BYTES; none at the end.

        They are the same until `mark_sent` is called, or after an OSError.
        """
        if not self._unsent:
            length = 0
            while len(self._unsent) < BATCH_ENTRIES and length < BATCH_BYTES:
                payload = self.read()
                if payload is None:
                    break
                self._unsent.append(payload)
                length += len(payload)
        return self._unsent

    def mark_sent(self) -> None:
        self._unsent = []

    def read(self) -> bytes | None:
        """Return the next whole entry's payload, None at the end. Raises OSError if unreadable."""
        at, payload = self._position, self._payload_at(self._position)
        if payload is None:
            at, payload = self._next_whole(self._position + 1)
            self._count_gap(at)
        self._position = at
        if payload is not None:
            self._position += self._header_bytes + len(payload)
            self.entries += 1
        return payload

    def _payload_at(self, position: int) -> bytes | None:
        header = self._bytes_at(position, self._header_bytes)
        if len(header) < self._header_bytes:
            return None
        length, checksum = self._length_and_checksum(header)
        start = position + self._header_bytes
        # A damaged length may be gigabytes: the payload is read only after its checksum matched.
        whole = (
            header.startswith(self._start)
            and length <= self._size - start
            and self._checksum(start, start + length) == checksum
        )
        return self._bytes_at(start, length) if whole else None

    def _next_whole(self, start: int) -> tuple[int, bytes | None]:
        for position in self._starts(start):
            payload = self._payload_at(position)
            if payload is not None:
                return position, payload
        return self._size, None

    def _starts(self, start: int) -> Iterator[int]:
        """Yield the positions at or after `start` where an entry may begin."""
        while start < self._size:
            chunk = self._bytes_at(start, _CHUNK_BYTES)
            found = chunk.find(self._start)
            while found >= 0:
                yield start + found
                found = chunk.find(self._start, found + 1)
            start += _CHUNK_BYTES - len(self._start) + 1

    def _count_gap(self, end: int) -> None:
        if end == self._size and self._is_torn(self._position):
            self.torn_bytes += end - self._position
        else:
            self.damaged_bytes += end - self._position

    def _is_torn(self, start: int) -> bool:
        """Return whether the rest of the file can be the beginning of one entry."""
        header = self._bytes_at(start, self._header_bytes)
        if not header.startswith(self._start[: len(header)]) or any(self._starts(start + 1)):
            return False
        if len(header) < self._header_bytes:
            return True
        length, checksum = self._length_and_checksum(header)
        payload = start + self._header_bytes
        # A whole payload was answered, so its length is the damage.
        cut = self._size - payload < length
        return cut and self._checksum(payload, self._size) != checksum

    def _length_and_checksum(self, header: bytes) -> tuple[int, int]:
        length, checksum = _LENGTH_AND_CHECKSUM.unpack_from(header, len(self._start))
        return int(length), int(checksum)

    def _checksum(self, start: int, end: int) -> int:
        checksum = 0
        for position in range(start, end, _CHUNK_BYTES):
            chunk = self._bytes_at(position, min(_CHUNK_BYTES, end - position))
            checksum = zlib.crc32(chunk, checksum)
        return checksum

    def _bytes_at(self, position: int, length: int) -> bytes:
        self._file.seek(position)
        data = self._file.read(length)
        # Before a bad sector a read may be short; the next one raises.
        while len(data) < min(length, self._size - position):
            more = self._file.read(length - len(data))
            if not more:
                break
            data += more
        return data

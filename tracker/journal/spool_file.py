"""The format of a spool file: a sequence of entries, each of magic, length, CRC-32 and payload.

Written and read by `journal/spool`. The reader finds every whole entry, whatever lies between them:
after damage it continues at the next magic that begins one. A batch is kept until it was sent.
"""

import os
import struct
import zlib
from collections.abc import Iterator
from typing import BinaryIO, Final

_HEADER = struct.Struct(">4sII")
_MAGIC: Final = b"TRK1"
_CHUNK_BYTES: Final = 1024 * 1024

BATCH_ENTRIES = 100
BATCH_BYTES = 1024 * 1024
"""A batch ends with the entry that reaches one of these."""


def frame(payload: bytes) -> bytes:
    """Return an entry of the file that holds `payload`."""
    return _HEADER.pack(_MAGIC, len(payload), zlib.crc32(payload)) + payload


class SpoolReader:
    """A reader of one file, from its start to its end at the time of opening.

    `entries` counts the entries read so far. `damaged_bytes` belong to no entry. `torn_bytes` may
    be the beginning of an entry that was being written when the process ended.
    """

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._size = os.fstat(file.fileno()).st_size
        self._position = 0
        self.entries = 0
        self.damaged_bytes = 0
        self.torn_bytes = 0
        self._unsent: list[bytes] = []

    def batch(self) -> list[bytes]:
        """Return the payloads of the next whole entries, about BATCH_ENTRIES or BATCH_BYTES.

        They are the same until `mark_sent` is called; none at the end. Raises OSError if the file
        cannot be read; the next call then returns those that were read before.
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
        """Continue after the last batch, because it was sent."""
        self._unsent = []

    def close(self) -> None:
        """Close the file, which unlocks it."""
        self._file.close()

    def read(self) -> bytes | None:
        """Return the payload of the next whole entry, None at the end.

        Raises OSError if the file cannot be read.
        """
        at, payload = self._position, self._payload_at(self._position)
        if payload is None:
            at, payload = self._next_whole(self._position + 1)
            self._count_gap(at)
        self._position = at
        if payload is not None:
            self._position += _HEADER.size + len(payload)
            self.entries += 1
        return payload

    def _payload_at(self, position: int) -> bytes | None:
        """Return the payload of the whole entry at `position`, None if there is none."""
        header = self._bytes_at(position, _HEADER.size)
        if len(header) < _HEADER.size:
            return None
        magic, length, checksum = _HEADER.unpack(header)
        start = position + _HEADER.size
        # A damaged length may be gigabytes: the payload is read only after its checksum matched.
        whole = (
            magic == _MAGIC
            and length <= self._size - start
            and self._checksum(start, start + length) == checksum
        )
        return self._bytes_at(start, length) if whole else None

    def _next_whole(self, start: int) -> tuple[int, bytes | None]:
        for position in self._magics(start):
            payload = self._payload_at(position)
            if payload is not None:
                return position, payload
        return self._size, None

    def _magics(self, start: int) -> Iterator[int]:
        """Yield the positions of the magic at or after `start`."""
        while start < self._size:
            chunk = self._bytes_at(start, _CHUNK_BYTES)
            found = chunk.find(_MAGIC)
            while found >= 0:
                yield start + found
                found = chunk.find(_MAGIC, found + 1)
            start += _CHUNK_BYTES - len(_MAGIC) + 1

    def _count_gap(self, end: int) -> None:
        if end == self._size and self._is_torn(self._position):
            self.torn_bytes += end - self._position
        else:
            self.damaged_bytes += end - self._position

    def _is_torn(self, start: int) -> bool:
        """Return whether the rest of the file can be the beginning of one entry."""
        header = self._bytes_at(start, _HEADER.size)
        if not header.startswith(_MAGIC[: len(header)]) or any(self._magics(start + 1)):
            return False
        if len(header) < _HEADER.size:
            return True
        _, length, checksum = _HEADER.unpack(header)
        payload = start + _HEADER.size
        # If the payload is whole, it was answered, and its length is what is damaged.
        cut = self._size - payload < int(length)
        return cut and self._checksum(payload, self._size) != int(checksum)

    def _checksum(self, start: int, end: int) -> int:
        checksum = 0
        for position in range(start, end, _CHUNK_BYTES):
            chunk = self._bytes_at(position, min(_CHUNK_BYTES, end - position))
            checksum = zlib.crc32(chunk, checksum)
        return checksum

    def _bytes_at(self, position: int, length: int) -> bytes:
        self._file.seek(position)
        return self._file.read(length)

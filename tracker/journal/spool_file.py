"""The format of a spool file: a run of entries, each of magic, length, CRC-32 and payload.

Written and read by `journal/spool`. Reading finds every whole entry, whatever stands between them:
after damage it goes on at the next magic that begins one. What was read stays until it was sent.
"""

import os
import struct
import zlib
from collections.abc import Iterator
from typing import BinaryIO, Final

_HEADER = struct.Struct(">4sII")
_MAGIC: Final = b"TRK1"
_CHUNK: Final = 1024 * 1024

BATCH_ENTRIES = 100
BATCH_BYTES = 1024 * 1024


def frame(payload: bytes) -> bytes:
    """Return an entry of the file that holds `payload`."""
    return _HEADER.pack(_MAGIC, len(payload), zlib.crc32(payload)) + payload


class SpoolReader:
    """A reader of one file, from its start to where it ends now.

    `entries` are those read so far. `damaged_bytes` belong to none of them; `torn_bytes` neither,
    but can be the beginning of one that was being written when the file ended.
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
        """Return the payloads of the next whole entries: BATCH_ENTRIES of them, or BATCH_BYTES.

        They are the same until `sent` is called, and empty at the end. Raises OSError if the file
        cannot be read; the next call then returns what was read before.
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

    def sent(self) -> None:
        """Go on after the last batch: it is where it belongs."""
        self._unsent = []

    def close(self) -> None:
        """Close the file, which ends the lock on it."""
        self._file.close()

    def read(self) -> bytes | None:
        """Return the payload of the next whole entry, None at the end. Raises OSError."""
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
        """Return the payload of the whole entry that begins there, or None."""
        header = self._bytes_at(position, _HEADER.size)
        if len(header) < _HEADER.size:
            return None
        magic, length, checksum = _HEADER.unpack(header)
        start = position + _HEADER.size
        # A damaged length may be gigabytes: the payload is not in memory before it is known whole.
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
        """Yield the positions of the magic from `start` on."""
        while start < self._size:
            chunk = self._bytes_at(start, _CHUNK)
            found = chunk.find(_MAGIC)
            while found >= 0:
                yield start + found
                found = chunk.find(_MAGIC, found + 1)
            start += _CHUNK - len(_MAGIC) + 1

    def _count_gap(self, end: int) -> None:
        if end == self._size and self._is_torn(self._position):
            self.torn_bytes += end - self._position
        else:
            self.damaged_bytes += end - self._position

    def _is_torn(self, start: int) -> bool:
        """Return whether all from `start` on can be the beginning of one entry."""
        header = self._bytes_at(start, _HEADER.size)
        if not header.startswith(_MAGIC[: len(header)]) or any(self._magics(start + 1)):
            return False
        if len(header) < _HEADER.size:
            return True
        _, length, checksum = _HEADER.unpack(header)
        payload = start + _HEADER.size
        # A payload that is whole was answered: then it is the length that is wrong.
        cut = self._size - payload < int(length)
        return cut and self._checksum(payload, self._size) != int(checksum)

    def _checksum(self, start: int, end: int) -> int:
        checksum = 0
        for position in range(start, end, _CHUNK):
            chunk = self._bytes_at(position, min(_CHUNK, end - position))
            checksum = zlib.crc32(chunk, checksum)
        return checksum

    def _bytes_at(self, position: int, length: int) -> bytes:
        self._file.seek(position)
        return self._file.read(length)

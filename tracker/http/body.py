"""Bodies on their way in: with a known length, or in chunks (RFC 9112, section 7.1). Pure.

httptools does not say where a message ends, and bytes behind a body are the next request's.
"""

import re
from collections.abc import Callable
from typing import Final

from tracker.http.head import FORBIDDEN_BYTES, HeadReader
from tracker.http.rejection import RejectedRequest

_CHUNK_SIZE: Final = re.compile(rb"([0-9A-Fa-f]{1,16})(?:;[\t\x20-\x7e\x80-\xff]*)?")
_PARTIAL_CHUNK_SIZE: Final = re.compile(rb"(?:[0-9A-Fa-f]{1,16}(?:;[\t\x20-\x7e\x80-\xff]*)?\r?)?")
_MAX_SIZE_LINE_BYTES: Final = 256
_MAX_TRAILER_BYTES: Final = 8 * 1024

_MAX_PARTS_PER_TAKE: Final = 1000
"""Parts of chunks that one `take` reads, so that tiny chunks do not occupy the event loop."""

_FREE_OVERHEAD_BYTES: Final = 16
"""Bytes of a chunk's size line that do not count as overhead."""

_MAX_OVERHEAD_BYTES: Final = 16 * 1024


class FixedBody:
    """A body of `length` bytes, at least one, which is taken from the buffer of its connection."""

    def __init__(self, length: int) -> None:
        self._left = length
        self.done = False
        self.paused = False

    def take(self, data: bytes, offset: int) -> tuple[bytes, int]:
        """Return the part of the body in `data` from `offset` on, and the offset behind it."""
        piece = data[offset : offset + self._left]
        self._left -= len(piece)
        self.done = self._left == 0
        return piece, offset + len(piece)


class ChunkedBody:
    """A body of at most `limit` bytes in chunks, without its extensions and trailer.

    `paused` is true if the last `take` left data behind, so that other connections get their turn.
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._left = 0
        self._overhead = 0
        self._pieces: list[bytes] = []
        self._read: Callable[[bytes, int], int] = self._size
        self.done = False
        self.paused = False

    def take(self, data: bytes, offset: int) -> tuple[bytes, int]:
        """Raises RejectedRequest for a bad body, with status 413 beyond the limit."""
        for _ in range(_MAX_PARTS_PER_TAKE):
            before = offset
            offset = self._read(data, offset)
            if offset == before or self.done:
                self.paused = False
                break
        else:
            self.paused = offset < len(data)
        taken = b"".join(self._pieces)
        self._pieces.clear()
        return taken, offset

    # Each of these reads one part and returns the offset behind it, or `offset` if data is missing.

    def _size(self, data: bytes, offset: int) -> int:
        end = data.find(b"\r\n", offset, offset + _MAX_SIZE_LINE_BYTES)
        if end < 0:
            return self._partial_size(data, offset)
        line = _CHUNK_SIZE.fullmatch(data, offset, end)
        if line is None:
            raise RejectedRequest(400, "body: malformed chunk size")
        self._begin_chunk(int(line[1], 16), end - offset)
        return end + 2

    def _partial_size(self, data: bytes, offset: int) -> int:
        is_short = len(data) - offset < _MAX_SIZE_LINE_BYTES
        if is_short and _PARTIAL_CHUNK_SIZE.fullmatch(data, offset):
            return offset
        raise RejectedRequest(400, "body: malformed chunk size")

    def _begin_chunk(self, size: int, line_bytes: int) -> None:
        self._limit -= size
        if self._limit < 0:
            raise RejectedRequest(413, "body: too large")
        self._overhead = max(0, self._overhead + line_bytes - _FREE_OVERHEAD_BYTES - 2 * size)
        if self._overhead > _MAX_OVERHEAD_BYTES:
            raise RejectedRequest(400, "body: more chunk extensions than content")
        self._left = size
        self._read = self._content if size else self._trailer

    def _content(self, data: bytes, offset: int) -> int:
        piece = data[offset : offset + self._left]
        self._pieces.append(piece)
        self._left -= len(piece)
        if not self._left:
            self._read = self._content_end
        return offset + len(piece)

    def _content_end(self, data: bytes, offset: int) -> int:
        if not _crlf(data, offset):
            return offset
        self._read = self._size
        return offset + 2

    def _trailer(self, data: bytes, offset: int) -> int:
        if data[offset : offset + 2] in (b"", b"\r", b"\r\n"):
            self.done = _crlf(data, offset)
            return offset + 2 * self.done
        end = data.find(b"\r\n\r\n", offset, offset + _MAX_TRAILER_BYTES)
        if end < 0:
            if len(data) - offset >= _MAX_TRAILER_BYTES or FORBIDDEN_BYTES.search(data, offset):
                raise RejectedRequest(400, "body: malformed trailer")
            return offset
        HeadReader().fields(data[offset : end + 4])
        self.done = True
        return end + 4


Body = FixedBody | ChunkedBody


def _crlf(data: bytes, offset: int) -> bool:
    """Return whether a line ends at `offset`, as far as received. Raises RejectedRequest."""
    found = data[offset : offset + 2]
    if found not in (b"", b"\r", b"\r\n"):
        raise RejectedRequest(400, "body: malformed chunk end")
    return found == b"\r\n"

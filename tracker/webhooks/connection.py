"""One connection to a receiver, by Tornado's HTTP client: what it reads of an answer is bounded.

Used by `client`. Guarantees that an attempt costs little processor however the receiver answers:
byte by byte, in chunks of one byte, or without end. Each bound closes the connection; an answer
whose head was complete by then counts.
"""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, Final, TypeVar
from weakref import WeakMethod

from tornado.http1connection import HTTP1Connection
from tornado.httputil import HTTPHeaders, HTTPInputError, RequestStartLine
from tornado.iostream import IOStream
from tornado.simple_httpclient import _HTTPConnection

Method = TypeVar("Method", bound=Callable[..., Any])

BODY_BYTES: Final = 1024
"""Of an answer's body that are read."""

HEAD_BYTES: Final = 8 * 1024
"""Of an answer's head: the most fields that fit cost 9 ms of processor."""

MAX_READS: Final = 64
"""Reads from the socket that bring something, of head and body. Each costs some 0.1 ms; a server
that writes every field of its head by itself takes 30."""

MAX_CHUNKS: Final = 64
"""Chunks of a body, many of which one read may bring. Each costs 0.03 ms."""


class Connection(_HTTPConnection):
    """Stops in the middle of an answer that is too long, or comes in too many pieces. The client's
    own limit would refuse one that tells its length before the first byte, which is to be kept.

    Sends the head of a request together with its body: one packet, for which a receiver wakes up
    once, and a tenth less time than for two."""

    _body_bytes = 0

    def _create_connection(self, stream: IOStream) -> HTTP1Connection:
        _limit_reads(stream)
        _limit_chunks(stream)
        connection = super()._create_connection(stream)
        connection.params.chunk_size = BODY_BYTES
        body = self.request.body

        def write_whole(
            start_line: RequestStartLine, headers: HTTPHeaders
        ) -> "asyncio.Future[None]":
            del connection.write_headers  # back to its own, and no cycle that would keep the body
            return connection.write_headers(start_line, headers, chunk=body)

        if body:
            connection.write_headers = write_whole  # type: ignore[method-assign,assignment]
            connection.write = _written_already  # type: ignore[method-assign,assignment]
        return connection

    def data_received(self, chunk: bytes) -> None:
        """Raises HTTPInputError if this was the last that is read."""
        super().data_received(chunk)
        self._body_bytes += len(chunk)
        if self._body_bytes >= BODY_BYTES:
            raise HTTPInputError("enough of the body")


def _limit_reads(stream: IOStream) -> None:
    """Have `stream` end, as if the receiver had closed it, at one read more than MAX_READS."""
    read_from_fd = WeakMethod(stream.read_from_fd)  # no cycle that would keep the stream
    reads = 0

    def read(buffer: bytearray | memoryview) -> int | None:
        nonlocal reads
        number = _alive(read_from_fd)(buffer)
        reads += bool(number)
        return number if reads <= MAX_READS else 0

    stream.read_from_fd = read  # type: ignore[method-assign,assignment]


def _limit_chunks(stream: IOStream) -> None:
    """Have `stream` raise HTTPInputError when the size of one chunk more than MAX_CHUNKS is asked
    for. Only then, and not at once: what came before is handed over first."""
    read_until = WeakMethod(stream.read_until)
    chunks = 0

    def read(delimiter: bytes, max_bytes: int | None = None) -> Awaitable[bytes]:
        nonlocal chunks
        chunks += 1
        return _alive(read_until)(delimiter, max_bytes) if chunks <= MAX_CHUNKS else _refused()

    stream.read_until = read  # type: ignore[method-assign]


def _alive(method: WeakMethod[Method]) -> Method:
    """Return the method of a stream that calls it, and so is alive."""
    found = method()
    assert found is not None
    return found


async def _refused() -> bytes:
    raise HTTPInputError("too many chunks")


def _written_already(chunk: bytes) -> None:
    """A body, together with its head."""

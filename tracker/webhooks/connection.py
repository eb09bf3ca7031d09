"""Connections to receivers, by Tornado's HTTP client, with limits on what is read of an answer.

Used by `client`. Each limit closes the connection; an answer whose head was complete by then
counts.

Guarantee: an attempt costs little processor time however the receiver answers, be it byte by byte,
in chunks of one byte, or without end.
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

MAX_BODY_BYTES: Final = 1024
"""Bytes of an answer's body that are read."""

MAX_HEAD_BYTES: Final = 8 * 1024
"""Bytes of an answer's head. As many fields as fit cost 9 ms of processor time."""

MAX_READS: Final = 64
"""Reads from the socket that return data, for head and body together. Each costs some 0.1 ms; a
server that writes every field of its head by itself takes 30."""

MAX_CHUNKS: Final = 64
"""Chunks of a body, many of which one read may bring. Each costs 0.03 ms."""


class Connection(_HTTPConnection):
    """A connection that ends in the middle of an answer that is too long or in too many pieces.

    Tornado's own limit would reject an answer that announces its length before the first byte; the
    beginning of such an answer is kept here. The head of a request is sent together with its body:
    in one packet, for which a receiver wakes up once, and a tenth less time than for two.
    """

    _body_bytes = 0

    def _create_connection(self, stream: IOStream) -> HTTP1Connection:
        _limit_reads(stream)
        _limit_chunks(stream)
        connection = super()._create_connection(stream)
        connection.params.chunk_size = MAX_BODY_BYTES
        body = self.request.body

        def write_whole(
            start_line: RequestStartLine, headers: HTTPHeaders
        ) -> "asyncio.Future[None]":
            del connection.write_headers  # restores the method, and no cycle keeps the body alive
            return connection.write_headers(start_line, headers, chunk=body)

        if body:
            connection.write_headers = write_whole  # type: ignore[method-assign,assignment]
            connection.write = _written_already  # type: ignore[method-assign,assignment]
        return connection

    def data_received(self, chunk: bytes) -> None:
        """Hand on a piece of the body. Raises HTTPInputError once MAX_BODY_BYTES have arrived."""
        super().data_received(chunk)
        self._body_bytes += len(chunk)
        if self._body_bytes >= MAX_BODY_BYTES:
            raise HTTPInputError("enough of the body")


def _limit_reads(stream: IOStream) -> None:
    """Let `stream` end, as if the receiver had closed it, at one read more than MAX_READS."""
    read_from_fd = WeakMethod(stream.read_from_fd)  # so that no cycle keeps the stream alive
    reads = 0

    def read(buffer: bytearray | memoryview) -> int | None:
        nonlocal reads
        number = _alive(read_from_fd)(buffer)
        reads += bool(number)
        return number if reads <= MAX_READS else 0

    stream.read_from_fd = read  # type: ignore[method-assign,assignment]


def _limit_chunks(stream: IOStream) -> None:
    """Let `stream` raise HTTPInputError when the size of a chunk after MAX_CHUNKS is read.

    The chunks before it are handed on first.
    """
    read_until = WeakMethod(stream.read_until)
    chunks = 0

    def read(delimiter: bytes, max_bytes: int | None = None) -> Awaitable[bytes]:
        nonlocal chunks
        chunks += 1
        return _alive(read_until)(delimiter, max_bytes) if chunks <= MAX_CHUNKS else _too_many()

    stream.read_until = read  # type: ignore[method-assign]


def _alive(method: WeakMethod[Method]) -> Method:
    """Return a method whose stream is alive, because it is the caller."""
    found = method()
    assert found is not None
    return found


async def _too_many() -> bytes:
    raise HTTPInputError("too many chunks")


def _written_already(chunk: bytes) -> None:
    """Write nothing: the body went out together with the head."""

"""Connections of `client` to receivers: Tornado's own, with limits on the answer.

Beyond a limit the connection is closed. The answer counts if its head was complete by then.

Guarantee: an attempt costs little processor time, even if the answer comes byte by byte or without
end. An unreadable answer ends it at once, and is no error of the service.
"""

import asyncio
from typing import Any, Final
from weakref import WeakMethod

from tornado.http1connection import HTTP1Connection
from tornado.httputil import HTTPHeaders, HTTPInputError, RequestStartLine, ResponseStartLine
from tornado.iostream import IOStream
from tornado.simple_httpclient import HTTPStreamClosedError, _HTTPConnection

from tracker.webhooks.limits import MAX_BODY_BYTES, MAX_READS

_SWITCHING_PROTOCOLS: Final = 101


# Private in Tornado: _HTTPConnection, its _create_connection, which limits how much of an answer
# is read, and its _handle_exception, which ends an attempt with its connection.
# Guarded by tests/webhooks/sending/test_client.py.
class ReceiverConnection(_HTTPConnection):
    """A connection that ends when an answer is too long or in too many pieces.

    Tornado's own limit would reject a long answer; here its beginning is read. Head and body of a
    request are one packet, which takes a tenth less time than two. `on_written` of the request is
    called when they are written.
    """

    _body_bytes = 0

    def _create_connection(self, stream: IOStream) -> HTTP1Connection:
        _limit_reads(stream)
        connection = super()._create_connection(stream)
        connection.params.chunk_size = MAX_BODY_BYTES
        request: Any = self.request
        body, on_written = request.body, request.on_written

        def write_whole(
            start_line: RequestStartLine, headers: HTTPHeaders
        ) -> "asyncio.Future[None]":
            del connection.write_headers  # restores the method, and no cycle keeps the body alive
            writing = connection.write_headers(start_line, headers, chunk=body)
            writing.add_done_callback(on_written)
            return writing

        if body:
            connection.write_headers = write_whole  # type: ignore[method-assign,assignment]
            connection.write = _written_already  # type: ignore[method-assign,assignment]
        return connection

    def data_received(self, chunk: bytes) -> None:
        """Pass on a piece of the body. Raises HTTPInputError once there are enough."""
        super().data_received(chunk)
        self._body_bytes += len(chunk)
        request: Any = self.request
        if self._body_bytes >= request.longest_answer:
            raise HTTPInputError("enough of the body")

    async def headers_received(
        self, first_line: RequestStartLine | ResponseStartLine, headers: HTTPHeaders
    ) -> None:
        """Read a head. Raises HTTPInputError for 101: no request asks for another protocol."""
        if isinstance(first_line, ResponseStartLine) and first_line.code == _SWITCHING_PROTOCOLS:
            raise HTTPInputError("another protocol")
        await super().headers_received(first_line, headers)

    def on_connection_close(self) -> None:
        """End the attempt. Tornado's method logs an error instead, and waits for the timeout."""
        error = self.stream.error or HTTPStreamClosedError("Connection closed")
        self._handle_exception(type(error), error, None)


def _limit_reads(stream: IOStream) -> None:
    """Make `stream` end after MAX_READS, as if the receiver had closed it."""
    read_from_fd = WeakMethod(stream.read_from_fd)  # so that no cycle keeps the stream alive
    reads = 0

    def read(buffer: bytearray | memoryview) -> int | None:
        nonlocal reads
        method = read_from_fd()
        assert method is not None  # its stream makes the call
        number = method(buffer)
        reads += bool(number)
        return number if reads <= MAX_READS else 0

    stream.read_from_fd = read  # type: ignore[method-assign,assignment]


def _written_already(chunk: bytes) -> None:
    """Write nothing: the body went out together with the head."""

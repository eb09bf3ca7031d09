"""One request and its answer: the connection that a Tornado handler sees.

It frames the answer (RFC 9112, section 6). It may outlive its connection: late writes are dropped.
"""

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING, Final, NoReturn

from tornado.httputil import (
    HTTPConnection,
    HTTPHeaders,
    HTTPOutputError,
    RequestStartLine,
    ResponseStartLine,
)
from tornado.iostream import StreamClosedError

from tracker.http.flow_control import FlowControl
from tracker.http.head import Head
from tracker.http.server_state import ServerState

if TYPE_CHECKING:
    from tracker.http.dispatcher import Dispatcher

_FIELDS_OF_THE_SERVER: Final = frozenset({"Connection", "Date", "Server"})
_STATUSES_WITHOUT_BODY: Final = (204, 304)


class Exchange(HTTPConnection):
    """The tornado.httputil.HTTPConnection of one request. It alone decides about `Connection`."""

    def __init__(
        self, owner: "Dispatcher", state: ServerState, flow: FlowControl, head: Head
    ) -> None:
        self._owner = owner
        self._state = state
        self._flow = flow
        self._method, _, self._version = head.start_line
        self._chunked = False
        self._bytes_left: int | None = None
        self._close_callback: Callable[[], None] | None = None
        self._done = False
        self.context = flow.peer
        self.keep_alive = head.keep_alive
        self.begun = False
        self.awaited = False
        self.body_received = head.body_length == 0

    # Called by the handler.

    def set_close_callback(self, callback: Callable[[], None] | None) -> None:
        """Call `callback`, at most once, if the client disconnects before its answer."""
        self._close_callback = callback

    def write_headers(
        self,
        start_line: RequestStartLine | ResponseStartLine,
        headers: HTTPHeaders,
        chunk: bytes | None = None,
    ) -> asyncio.Future[None]:
        """Send the head of the answer; return a future that is done when more may be written.

        It fails with StreamClosedError if the client has disconnected. Raises ValueError for a
        field with a line end, HTTPOutputError for a body longer than announced.
        """
        assert isinstance(start_line, ResponseStartLine)
        if self._done:
            return _closed_stream()
        _, code, reason = start_line
        head = _head(code, reason, self._fields(code, headers))
        self.begun = True
        body = self._framed(chunk) if chunk else b""
        self._flow.write(b"%b%b\r\n%b" % (head, self._state.default_headers(), body))
        return self._flow.writable()

    def write(self, chunk: bytes) -> asyncio.Future[None]:
        """Send a piece of the body. Raises HTTPOutputError if it is longer than announced."""
        if self._done:
            return _closed_stream()
        self._flow.write(self._framed(chunk))
        return self._flow.writable()

    def finish(self) -> None:
        """End the answer. Raises HTTPOutputError if the body is shorter than announced."""
        if self._done:
            return
        if self._bytes_left:
            self._break(f"{self._bytes_left} bytes less than Content-Length")
        if self._chunked:
            self._flow.write(b"0\r\n\r\n")
        self._done = True
        self._owner.answered(self)

    def cut(self) -> None:
        """End the connection at once: the client can tell that the answer is incomplete."""
        if not self._done:
            self._owner.cut(self)

    @property
    def endless(self) -> bool:
        """Return whether only the end of the connection ends the body, as with HTTP/1.0."""
        return self.begun and not self._chunked and self._bytes_left is None

    def detach(self) -> Callable[[], None] | None:
        """Stop writing, and return the callback for a disconnected client, if any."""
        self._done = True
        callback, self._close_callback = self._close_callback, None
        return callback

    def _fields(self, code: int, headers: HTTPHeaders) -> list[str]:
        """Return the lines of all fields but the default ones, and decide the framing."""
        lines = [
            f"{name}: {value}\r\n"
            for name, value in headers.get_all()
            if name not in _FIELDS_OF_THE_SERVER
        ]
        self._frame(code, headers.get("Content-Length", ""))
        if self._chunked:
            lines.append("Transfer-Encoding: chunked\r\n")
        if connection := self._connection_field():
            lines.append(connection)
        return lines

    def _frame(self, code: int, length: str) -> None:
        if code in _STATUSES_WITHOUT_BODY or self._method == "HEAD":
            self._bytes_left = 0
        elif length.isdigit() and length.isascii():
            self._bytes_left = int(length)
        elif length:
            raise ValueError(f"Content-Length is not a number: {length!r}")
        else:
            self._chunked = self._version == "HTTP/1.1"

    def _connection_field(self) -> str:
        """Return the Connection line, and decide whether the connection stays open."""
        endless = self._bytes_left is None and not self._chunked
        if endless or not self.body_received or self._state.ending_since is not None:
            self.keep_alive = False
        if not self.keep_alive:
            return "Connection: close\r\n"
        return "Connection: keep-alive\r\n" if self._version == "HTTP/1.0" else ""

    def _framed(self, chunk: bytes) -> bytes:
        if self._bytes_left is not None:
            self._bytes_left -= len(chunk)
            if self._bytes_left < 0:
                self._break("more bytes than Content-Length")
        if self._chunked and chunk:
            return b"%x\r\n%b\r\n" % (len(chunk), chunk)
        return chunk

    def _break(self, reason: str) -> NoReturn:
        """End the connection: a wrong answer would mislead the client. Raises HTTPOutputError."""
        self._owner.break_off(self)
        raise HTTPOutputError(reason)


def _head(code: int, reason: str, lines: list[str]) -> bytes:
    """Return the status line and `lines`. Raises ValueError if a value has a line end."""
    text = f"HTTP/1.1 {code} {reason}\r\n{''.join(lines)}"
    ends = len(lines) + 1
    if text.count("\n") != ends or text.count("\r") != ends:
        raise ValueError(f"line end in a header field: {text!r}")
    return text.encode("latin-1")


def _closed_stream() -> asyncio.Future[None]:
    future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
    future.set_exception(StreamClosedError())
    future.exception()  # A handler that does not await it gets no warning.
    return future

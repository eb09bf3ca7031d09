"""Request bodies while they are received: limits on the memory of each, and of all together.

- A body of up to EARLY_BYTES is received before its handler begins. So a refused request keeps its
  connection.
- A longer one begins the handler first: `prepare` checks the key and the limits, and calls
  `IncomingBody.allow`. Refused bodies are not buffered.
- `IncomingBody.pass_on` hands pieces on in place of buffering them: each waits for the one before.

Guarantee: unfinished bodies take at most the limit of `BodyMemory`, whatever is sent.
"""

from collections.abc import Awaitable, Callable
from typing import Final

from tornado.httputil import HTTPHeaders, HTTPMessageDelegate, RequestStartLine, ResponseStartLine

from tracker.errors import PayloadTooLarge, Unavailable
from tracker.metrics import BODIES_DROPPED

EARLY_BYTES: Final = 32 * 1024
"""The longest body that is received before any check of its request."""


TakePiece = Callable[[bytes], Awaitable[None] | None]
"""Takes a piece of a body, and raises nothing. The next is not read before it is done."""


class BodyMemory:
    """A limit, in bytes, on the memory of all unfinished bodies together.

    Beyond it the oldest body is dropped. It belongs to a slow client: fast ones take milliseconds.
    """

    def __init__(self, limit: int) -> None:
        self.used = 0
        self._limit = limit
        self._used_by: dict[IncomingBody, int] = {}

    def reserve(self, body: "IncomingBody", size: int) -> None:
        """Count `size` more bytes for `body`, and drop the oldest bodies until all fit."""
        self._used_by[body] = self._used_by.get(body, 0) + size
        self.used += size
        while self.used > self._limit:
            BODIES_DROPPED.inc()
            next(iter(self._used_by)).drop()

    def release(self, body: "IncomingBody") -> None:
        self.used -= self._used_by.pop(body, 0)


class IncomingBody:
    """The body of one request. `exceeded` is true if more arrived than was allowed."""

    def __init__(self, headers: HTTPHeaders, memory: BodyMemory) -> None:
        self._memory = memory
        self._declared = int(headers.get("Content-Length", "0"))  # digits: http/head has checked it
        self._received = bytearray()
        self._size = 0
        self._allowed = EARLY_BYTES
        self._dropped = False
        self._take: TakePiece | None = None
        self.exceeded = False

    @property
    def length(self) -> int:
        """Return the bytes of the body: as declared, or as received so far if it is in chunks."""
        return max(self._declared, self._size)

    def allow(self, limit: int) -> None:
        """Allow up to `limit` bytes. Raises PayloadTooLarge if the body is longer."""
        self._allowed = limit
        if self.length > limit:
            self.exceeded = True
            self._refuse_excess()

    async def pass_on(self, take: TakePiece) -> None:
        """Give `take` the pieces received so far, and those that follow, if `allow` permits."""
        self._take = take
        received, self._received = bytes(self._received), bytearray()
        self._memory.release(self)
        waiting = take(received)
        if waiting is not None:
            await waiting

    def content(self) -> bytes:
        """Return the complete body.

        Raises PayloadTooLarge if it was too long, Unavailable if it was dropped for lack of memory.
        """
        if self.exceeded:
            self._refuse_excess()
        if self._dropped:
            later = {"Retry-After": "1"}
            raise Unavailable("too many bodies are being received; try again", later)
        return bytes(self._received)

    def add(self, piece: bytes) -> Awaitable[None] | None:
        """Buffer a received piece or pass it on, unless the body was dropped."""
        if self._dropped:
            return None
        self._size += len(piece)
        if self._take is not None:
            return self._take(piece) if self._size <= self._allowed else None
        self._received += piece
        self._memory.reserve(self, len(piece))
        return None

    def drop_if_exceeded(self) -> bool:
        """Drop the body if more has arrived than was allowed; return whether it has."""
        if self._size > self._allowed:
            self.exceeded = True
            self.drop()
        return self.exceeded

    def drop(self) -> None:
        """Free the received part, and ignore the rest."""
        self._dropped = True
        self._received = bytearray()
        self._memory.release(self)

    def complete(self) -> None:
        """Stop counting the body, which belongs to its handler now."""
        self._memory.release(self)

    def _refuse_excess(self) -> None:
        raise PayloadTooLarge(f"body: at most {self._allowed} bytes")


class BodyCollector(HTTPMessageDelegate):
    """A delegate that collects the body of a request in `body`, and gives `inner` the request.

    It passes a short request on once complete, a long one at once: `prepare` decides about its
    body.
    """

    def __init__(self, inner: HTTPMessageDelegate, body: IncomingBody) -> None:
        self._inner = inner
        self._body = body
        self._begun = self._ended = False

    def headers_received(
        self, start_line: RequestStartLine | ResponseStartLine, headers: HTTPHeaders
    ) -> Awaitable[None] | None:
        """Begin the handler of a long request."""
        self._head = start_line, headers
        return self._begin() if self._body.length > EARLY_BYTES else None

    def data_received(self, chunk: bytes) -> Awaitable[None] | None:
        body = self._body
        waiting = body.add(chunk)
        if not self._begun:
            return self._begin() if body.length > EARLY_BYTES else None
        if body.drop_if_exceeded():
            self._end()
        return waiting

    def finish(self) -> None:
        if not self._begun:
            self._begin()
        self._end()

    def on_connection_close(self) -> None:
        self._body.drop()
        if self._begun:
            self._inner.on_connection_close()

    def _begin(self) -> Awaitable[None] | None:
        self._begun = True
        return self._inner.headers_received(*self._head)

    def _end(self) -> None:
        if not self._ended:
            self._ended = True
            self._body.complete()
            self._inner.finish()

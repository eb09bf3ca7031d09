"""The sending side of a connection, and its end: base of `protocol`, knows nothing of requests.

What is written in one turn goes out at once. Futures of writes wait while the client does not read;
one that takes nothing for too long is cut.
"""

import asyncio
import sys
from typing import Final, cast

from tornado.iostream import StreamClosedError

from tracker.http.context import Context
from tracker.http.shared import Shared

_TOGETHER: Final = 64
"""So many pieces are written at once, at most: what is sent before a slow client is noticed."""


class Wire(asyncio.Protocol):
    """Reading pauses and goes on by `hold` and `release`."""

    __slots__ = (
        "_held",
        "_pieces",
        "_shared",
        "_stuck",
        "_transport",
        "_turn",
        "_unsent",
        "_unsent_since",
        "_writers",
        "context",
    )

    _transport: asyncio.Transport
    context: Context

    def __init__(self, shared: Shared) -> None:
        self._shared = shared
        self._turn = False
        self._pieces: list[bytes] = []
        self._held = False
        self._stuck = False
        self._writers: list[asyncio.Future[None]] = []
        self._unsent = 0
        self._unsent_since = shared.now

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        # Those of uvloop are one without being declared so.
        self._transport = cast(asyncio.Transport, transport)
        self.context = Context(self._transport)
        self._transport.set_write_buffer_limits(high=self._shared.limits.unsent_bytes)

    def own_fields(self) -> bytes:
        """Return the fields that every answer carries, each with its line end."""
        return self._shared.own_fields()

    def write(self, data: bytes) -> None:
        """Send, after all that was written before."""
        if not self._turn:
            self._transport.write(data)
            return
        self._pieces.append(data)
        if len(self._pieces) == _TOGETHER:
            self.flush()

    def flush(self) -> None:
        if self._pieces:
            pieces = self._pieces
            self._transport.write(b"".join(pieces) if len(pieces) > 1 else pieces[0])
            pieces.clear()

    def flow(self) -> asyncio.Future[None]:
        """Done as soon as the client has taken enough for more to be written; StreamClosedError if
        it goes before.
        """
        if not self._stuck:
            return self._shared.flowing
        future = self._shared.loop.create_future()
        self._writers.append(future)
        return future

    def pause_writing(self) -> None:
        self._stuck = True

    def resume_writing(self) -> None:
        self._stuck = False
        self._unsent = sys.maxsize  # Whatever is left now counts as progress.
        writers, self._writers = self._writers, []
        for writer in writers:
            if not writer.done():
                writer.set_result(None)

    def connection_lost(self, error: Exception | None) -> None:
        writers, self._writers = self._writers, []
        for writer in writers:
            if not writer.done():
                writer.set_exception(StreamClosedError(error))
                writer.exception()  # Whoever does not await it is not to be warned.

    def hold(self) -> None:
        """Read no more for now."""
        if not self._held and not self._transport.is_closing():
            self._held = True
            self._transport.pause_reading()

    def release(self) -> None:
        if self._held and not self._transport.is_closing():
            self._held = False
            self._transport.resume_reading()

    def abort(self) -> None:
        """End at once, whatever is not sent yet."""
        self._transport.abort()

    def shut(self, linger: bool) -> None:
        """Send what was written, then end: at once, or as soon as the client has read it."""
        self.flush()
        if self._transport.is_closing():
            return
        if not linger:
            self._transport.close()
            return
        self.release()
        if self._transport.can_write_eof():
            self._transport.write_eof()

    def sending(self) -> bool:
        """Whether something that was written is not sent yet. Cuts a client that takes nothing."""
        unsent = self._transport.get_write_buffer_size()
        if unsent == 0 or unsent < self._unsent:
            self._unsent_since = self._shared.now
        elif self._shared.expired(self._unsent_since, self._shared.limits.stalled_seconds):
            self.abort()
        self._unsent = unsent
        return unsent > 0

"""The sending side of a connection, and its end: base of `protocol`, knows nothing of requests.

What is written in one turn goes out at once. Futures of writes wait while the client does not read;
one that takes nothing for too long is cut.
"""

import asyncio
import socket
import sys
from typing import Any, Final, cast

from tornado.iostream import StreamClosedError

from tracker.http.server_state import ServerState

_TOGETHER: Final = 64
"""So many pieces are written at once, at most: what is sent before a slow client is noticed."""


class Peer:
    """`remote_ip` is "0.0.0.0" if the transport is not of the internet; `protocol` is "http" or
    "https"; `address` is what the transport calls its peer."""

    __slots__ = ("address", "address_family", "protocol", "remote_ip")

    def __init__(self, transport: asyncio.Transport) -> None:
        socket_of_client = transport.get_extra_info("socket")
        self.address: Any = transport.get_extra_info("peername")
        self.address_family: int | None = socket_of_client and socket_of_client.family
        self.protocol = "https" if transport.get_extra_info("ssl_object") else "http"
        internet = self.address_family in (socket.AF_INET, socket.AF_INET6) and self.address
        self.remote_ip: str = self.address[0] if internet else "0.0.0.0"  # noqa: S104

    def __str__(self) -> str:
        return self.remote_ip


class FlowControl(asyncio.Protocol):
    """Reading pauses and goes on by `pause_reading` and `resume_reading`."""

    __slots__ = (
        "_corked",
        "_pieces",
        "_reading_paused",
        "_state",
        "_transport",
        "_unsent",
        "_unsent_since",
        "_write_paused",
        "_writers",
        "context",
    )

    _transport: asyncio.Transport
    context: Peer

    def __init__(self, state: ServerState) -> None:
        self._state = state
        self._corked = False
        self._pieces: list[bytes] = []
        self._reading_paused = False
        self._write_paused = False
        self._writers: list[asyncio.Future[None]] = []
        self._unsent = 0
        self._unsent_since = state.now

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        # Those of uvloop are one without being declared so.
        self._transport = cast(asyncio.Transport, transport)
        self.context = Peer(self._transport)
        self._transport.set_write_buffer_limits(high=self._state.limits.unsent_bytes)

    def default_headers(self) -> bytes:
        """Return the fields that every answer carries, each with its line end."""
        return self._state.default_headers()

    def write(self, data: bytes) -> None:
        """Send, after all that was written before."""
        if not self._corked:
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
        if not self._write_paused:
            return self._state.flowing
        future = self._state.loop.create_future()
        self._writers.append(future)
        return future

    def pause_writing(self) -> None:
        self._write_paused = True

    def resume_writing(self) -> None:
        self._write_paused = False
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

    def pause_reading(self) -> None:
        """Read no more for now."""
        if not self._reading_paused and not self._transport.is_closing():
            self._reading_paused = True
            self._transport.pause_reading()

    def resume_reading(self) -> None:
        if self._reading_paused and not self._transport.is_closing():
            self._reading_paused = False
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
        self.resume_reading()
        if self._transport.can_write_eof():
            self._transport.write_eof()

    def sending(self) -> bool:
        """Whether something that was written is not sent yet. Cuts a client that takes nothing."""
        unsent = self._transport.get_write_buffer_size()
        if unsent == 0 or unsent < self._unsent:
            self._unsent_since = self._state.now
        elif self._state.expired(self._unsent_since, self._state.limits.stalled_seconds):
            self.abort()
        self._unsent = unsent
        return unsent > 0

"""Flow control of a connection: sending, back-pressure both ways, and the end of its transport.

Pieces written while it is corked are sent together. Futures of writes wait for slow clients.
"""

import asyncio
import socket
import struct
import sys
from typing import Final, cast

from tornado.iostream import StreamClosedError

from tracker.http.server_state import ServerState

_MAX_PIECES: Final = 64
"""With more pieces, a slow client would be noticed later."""

_RESET: Final = struct.pack("ii", 1, 0)
"""The value of SO_LINGER with which the end of a connection is a reset."""


class Peer:
    """The other end of a connection; `remote_ip` is "0.0.0.0" if it has no internet address."""

    def __init__(self, transport: asyncio.Transport) -> None:
        address = transport.get_extra_info("peername")
        self.protocol = "https" if transport.get_extra_info("ssl_object") else "http"
        self.remote_ip: str = address[0] if isinstance(address, tuple) else "0.0.0.0"  # noqa: S104


class FlowControl:
    """The flow of bytes over a transport. `write_paused`: the client does not read."""

    def __init__(self, state: ServerState, transport: asyncio.BaseTransport) -> None:
        self._state = state
        # Transports of uvloop are asyncio.Transports without being declared so.
        self._transport = cast(asyncio.Transport, transport)
        self._transport.set_write_buffer_limits(high=state.limits.unsent_bytes)
        self.peer = Peer(self._transport)
        self.corked = False
        self._discarded = 0
        self._pieces: list[bytes] = []
        self.reading_paused = False
        self.write_paused = False
        self._writers: list[asyncio.Future[None]] = []
        self._unsent = 0
        self._unsent_since = state.now

    def write(self, data: bytes) -> None:
        if not self.corked:
            self._transport.write(data)
            return
        self._pieces.append(data)
        if len(self._pieces) == _MAX_PIECES:
            self.flush()

    def flush(self) -> None:
        if self._pieces:
            pieces = self._pieces
            self._transport.write(b"".join(pieces) if len(pieces) > 1 else pieces[0])
            pieces.clear()

    def writable(self) -> asyncio.Future[None]:
        """Return a future that is done when more may be written.

        It fails with StreamClosedError if the client disconnects first.
        """
        if not self.write_paused:
            return self._state.writable
        future = self._state.loop.create_future()
        self._writers.append(future)
        return future

    def pause_writing(self) -> None:
        self.write_paused = True

    def resume_writing(self) -> None:
        self.write_paused = False
        self._unsent = sys.maxsize  # Whatever is left now counts as progress.
        writers, self._writers = self._writers, []
        for writer in writers:
            if not writer.done():
                writer.set_result(None)

    def lost(self, error: Exception | None) -> None:
        self._state.discarding.end(self.peer.remote_ip, self)
        writers, self._writers = self._writers, []
        for writer in writers:
            if not writer.done():
                writer.set_exception(StreamClosedError(error))
                writer.exception()  # A handler that does not await it gets no warning.

    def pause_reading(self) -> None:
        if not self.reading_paused and not self._transport.is_closing():
            self.reading_paused = True
            self._transport.pause_reading()

    def resume_reading(self) -> None:
        if self.reading_paused and not self._transport.is_closing():
            self.reading_paused = False
            self._transport.resume_reading()

    def discard(self, size: int) -> None:
        """Count `size` bytes that came after the last answer; read on in the next turn, if ever."""
        self._discarded += size
        self.pause_reading()
        if self._discarded > self._state.limits.linger_bytes:
            self._state.discarding.remove(self.peer.remote_ip, self)

    def abort(self, reset: bool = False) -> None:
        """Cut the connection. With `reset` it ends as an error, not like an ordinary answer."""
        client = self._transport.get_extra_info("socket") if reset else None
        if client is not None:
            client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
        self._transport.abort()

    def close(self, linger: bool) -> None:
        """Send all written bytes, then end. With `linger`, read on in turns (`discarding`)."""
        self.flush()
        if self._transport.is_closing():
            return
        if not linger:
            self._transport.close()
            return
        self._state.discarding.add(self.peer.remote_ip, self)
        if self._transport.can_write_eof():
            self._transport.write_eof()

    def has_unsent(self) -> bool:
        """Return whether written bytes are not sent yet. Call this once a sweep."""
        unsent = self._transport.get_write_buffer_size()
        if unsent == 0 or unsent < self._unsent:
            self._unsent_since = self._state.now
        self._unsent = unsent
        return unsent > 0

    def is_stalled(self) -> bool:
        """Return whether, at the last `has_unsent`, the client had taken nothing for too long."""
        return self._state.expired(self._unsent_since, self._state.limits.stalled_seconds)

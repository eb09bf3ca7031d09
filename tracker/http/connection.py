"""One connection of a client: asyncio's protocol on one side, Tornado's delegates on the other.

Made by `server`. Requests are answered one at a time, in order; bytes that arrive
meanwhile wait in a bounded buffer, beyond which reading pauses. Each request is offered to the fast
path first. A connection that is ended early reads on for a while, so that its client can read the
answer.
"""

import asyncio
import re
from collections.abc import Callable
from typing import Final

import structlog
from tornado.httputil import HTTPInputError

from tracker.http.dispatcher import BODY, CLOSING, FAST_PATH, HEAD, Dispatcher
from tracker.http.fast_path import FastPath
from tracker.http.head import check_partial
from tracker.http.rejection import RejectedRequest
from tracker.http.server_state import ServerState

log = structlog.get_logger(__name__)

_EMPTY_LINES: Final = re.compile(rb"(?:\r\n)*")
_CR: Final = 13
_HEAD_END: Final = b"\r\n\r\n"


class Connection(Dispatcher):
    """A connection of a client; the fast path sees it as a FastPathConnection."""

    __slots__ = (
        "_admitted",
        "_checked",
        "_declined",
        "_dropped",
        "_half_closed",
        "_hand_over",
        "_linger",
        "_served",
    )

    def __init__(self, state: ServerState, hand_over: Callable[[], str] | None = None) -> None:
        """`hand_over` gives the address of a connection that was admitted before, once it is
        made."""
        super().__init__(state)
        self._hand_over = hand_over
        self._admitted: str | None = None
        self._checked = 0
        self._declined = False
        self._dropped = 0
        self._served = False
        self._half_closed = False
        self._linger = False

    # For lanes.

    @property
    def peer(self) -> str:
        """The client's address, as text."""
        return self.context.remote_ip

    def is_closing(self) -> bool:
        """Whether nothing can be written any more."""
        return self._phase >= CLOSING

    def answer(self, data: bytes, keep_alive: bool) -> None:
        """The whole answer to what the fast path has taken. Does nothing if the client has gone."""
        if self._phase == FAST_PATH:
            self.write(data)
            self._next() if keep_alive else self.close()

    def close(self, linger: bool = False) -> None:
        """Send what was written, and end; with `linger`, or if there is more than was read, only
        when the client has had time to read it.
        """
        if self._phase < CLOSING:
            self._phase = CLOSING
            self._since = self._state.now
            self._linger = linger
            if not self._corked:
                self._end()

    # For asyncio.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        if self._hand_over is not None:
            self._admitted = self._hand_over()
        elif self._state.admission.enter(self.peer):
            self._admitted = self.peer
        self._state.add(self)
        if self._admitted is None:
            self.abort()

    def data_received(self, data: bytes) -> None:
        if self._phase >= CLOSING:
            self._drop(len(data))
            return
        if self._buffer:
            self._buffer += data
        elif self._phase == HEAD and self._is_taken_whole(data):
            return
        else:
            self._buffer = data
            # An empty line begins no request.
            if self._phase == HEAD and data.strip(b"\r\n"):
                self._since = self._state.now
        self._advance()

    def _drop(self, size: int) -> None:
        """Count what comes after the last answer, and read no more of it beyond its limit."""
        self._dropped += size
        if self._dropped > self._state.limits.linger_bytes:
            self.pause_reading()

    def eof_received(self) -> bool:
        """Note that the client sends nothing more. An answer of the fast path is at hand, so it is
        still sent; a client that waits for anything else is taken to have gone.
        """
        if self.context.protocol == "http" and (
            self._phase == FAST_PATH or (self._phase == HEAD and self._buffer)
        ):
            self._half_closed = True
            self._soon()
            return True
        self._go()
        return False

    def abort(self) -> None:
        """End at once, whatever is not sent yet."""
        self._go()
        super().abort()

    def resume_writing(self) -> None:
        super().resume_writing()
        self._soon()

    def connection_lost(self, error: Exception | None) -> None:
        super().connection_lost(error)
        self._state.remove(self)
        if self._admitted is not None:
            self._state.admission.leave(self._admitted)
        self._go()
        if self._head is not None:
            self._state.delegate.on_close(self)

    # For the server.

    def check(self) -> None:
        """End the connection if its time is up."""
        state, limits = self._state, self._state.limits
        if self.sending():
            if self._phase >= CLOSING or self._phase == HEAD:
                self._since = state.now
        elif self._phase >= CLOSING:
            if state.expired(self._since, limits.linger_seconds):
                self.abort()
        elif self._phase == HEAD and not self._buffer:
            if self._is_idle_too_long():
                self.close()
        elif self._phase == HEAD and state.expired(self._since, limits.head_seconds):
            self._reject(RejectedRequest(408, "the request took too long"))
        elif self._phase == FAST_PATH and state.expired(self._since, limits.fast_path_seconds):
            self.abort()
        elif self._phase == BODY and self._is_body_too_long():
            self._reject(RejectedRequest(408, "the body took too long"))

    def _is_body_too_long(self) -> bool:
        exchange = self._exchange
        return exchange is not None and self._state.expired(self._since, exchange.body_seconds)

    def _is_idle_too_long(self) -> bool:
        state = self._state
        if state.ending_since is not None:
            return state.expired(max(self._since, state.ending_since), state.quiet_seconds)
        limits = state.limits
        seconds = limits.idle_seconds if self._served else limits.head_seconds
        return state.expired(self._since, seconds)

    # Receiving.

    def _advance(self, resume: Callable[[], None] | None = None) -> None:
        """Do all that can be done with what was received, after `resume`."""
        if self._phase >= CLOSING:
            return
        self._corked = True
        try:
            if resume is not None:
                resume()
            while self._phase <= BODY and self._offset < len(self._buffer):
                if not (self._receive() if self._phase else self._begin()):
                    break
        except RejectedRequest as rejected:
            self._reject(rejected)
        except HTTPInputError as error:
            self._reject(RejectedRequest(400, str(error)))
        except (Exception, asyncio.CancelledError):
            log.exception("request failed")
            self._reject(RejectedRequest(500, "internal error"))
        self._corked = False
        self._settle()

    def _settle(self) -> None:
        """Send the answers of this turn; keep only what is not looked at yet."""
        if self._half_closed and self._phase == HEAD and not self._write_paused:
            self.close()
        if self._phase == CLOSING:
            self._end()
            return
        if self._pieces:
            self.flush()
        if self._offset:
            self._buffer = self._buffer[self._offset :]
            self._checked = max(0, self._checked - self._offset)
            self._offset = 0
        if len(self._buffer) > self._state.limits.waiting_bytes:
            self.pause_reading()
        elif self._reading_paused:
            self.resume_reading()

    def _end(self) -> None:
        self.shut(self._linger or self._offset < len(self._buffer))
        self._buffer = b""
        self._offset = 0

    def _begin(self) -> bool:
        """Begin a request if its whole head is there, and return whether it is.

        Raises RejectedRequest if the head cannot be accepted.
        """
        if self._write_paused:
            return False
        buffer, state = self._buffer, self._state
        start = self._offset
        if buffer[start] == _CR and (empty_lines := _EMPTY_LINES.match(buffer, start)):
            start = self._offset = empty_lines.end()
        end = buffer.find(b"\r\n\r\n", max(start, self._checked - 3)) + 4
        if end < 4:
            check_partial(buffer, start, self._checked, state.limits)
            self._checked = len(buffer)
            return False
        self._checked = 0
        self._served = True
        declined, self._declined = self._declined, False
        if state.fast_path is None or declined or not self._taken(state.fast_path, start, end):
            head = state.heads.read(buffer, start, end, state.limits)
            self._offset = end
            self._open(head)
        return True

    def _is_taken_whole(self, data: bytes) -> bool:
        """Return whether `data` is one request that the fast path takes. Nearly all hot requests
        arrive alone and whole, so they need none of what follows."""
        state = self._state
        fast_path = state.fast_path
        if fast_path is None or self._write_paused or state.ending_since is not None:
            return False
        if len(data) > state.limits.head_bytes:
            return False
        end = data.find(_HEAD_END) + len(_HEAD_END)
        if end <= len(_HEAD_END) or end != len(data) or data[0] == _CR:
            return False
        self._since = state.now
        try:
            taken = self._offered(fast_path, data, 0, end)
        except Exception:
            log.exception("request failed")
            self._buffer = data
            self._reject(RejectedRequest(500, "internal error"))
            return True
        if taken:
            self._served = True
        else:
            self._declined = True
        return taken

    def _taken(self, fast_path: FastPath, start: int, end: int) -> bool:
        """Whether the fast path takes the request at `start`."""
        if self.ending or end - start > self._state.limits.head_bytes:
            return False
        taken = self._offered(fast_path, self._buffer, start, end)
        if taken:
            self._offset = end
        return taken

    def _offered(self, fast_path: FastPath, data: bytes, start: int, end: int) -> bool:
        """Offer a request to the fast path, and return whether it takes it.

        Raises what the fast path raises, unless it had answered: nothing may follow the answer.
        """
        self._phase = FAST_PATH
        try:
            taken = fast_path(self, data, start, end)
        except Exception:
            if self._phase == FAST_PATH:
                raise
            log.exception("request failed")
            self.close()
            return True
        if not taken:
            self._phase = HEAD
        return taken

    def _next(self) -> None:
        self._phase = HEAD
        self._since = self._state.now
        if not self._corked:
            self._soon()

    def _soon(self) -> None:
        """Go on when the handler that is running has come to its end, and not in its context."""
        if self._buffer or self._half_closed:
            self._state.loop.call_soon(self._advance, context=self._state.context.copy())

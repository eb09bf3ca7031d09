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

from tracker.http.dispatcher import BODY, CLOSED, CLOSING, FAST_PATH, HEAD, Dispatcher
from tracker.http.fast_path import FastPath
from tracker.http.flow_control import FlowControl
from tracker.http.head import check_partial
from tracker.http.rejection import RejectedRequest
from tracker.http.server_state import ServerState

log = structlog.get_logger(__name__)

_EMPTY_LINES: Final = re.compile(rb"(?:\r\n)*")
_CR: Final = 13
_HEAD_END: Final = b"\r\n\r\n"


class Connection(asyncio.Protocol):
    """A connection of a client: what it received, and the phase it is in.

    It sends by a FlowControl and gives requests to a Dispatcher, or to the fast path, which sees it
    as a FastPathConnection. `peer` is the client's address, as text.
    """

    __slots__ = (
        "_admitted",
        "_checked",
        "_declined",
        "_dispatcher",
        "_dropped",
        "_flow",
        "_half_closed",
        "_hand_over",
        "_linger",
        "_served",
        "_state",
        "buffer",
        "offset",
        "peer",
        "phase",
        "since",
    )

    _flow: FlowControl
    _dispatcher: Dispatcher
    peer: str

    def __init__(self, state: ServerState, hand_over: Callable[[], str] | None = None) -> None:
        """`hand_over` returns the address of a connection that was admitted before; called once."""
        self._state = state
        self.phase = HEAD
        self.since = state.now
        self.buffer = b""
        self.offset = 0
        self._hand_over = hand_over
        self._admitted: str | None = None
        self._checked = 0
        self._declined = False
        self._dropped = 0
        self._served = False
        self._half_closed = False
        self._linger = False

    # For the fast path.

    def is_closing(self) -> bool:
        """Return whether nothing can be written any more."""
        return self.phase >= CLOSING

    def answer(self, data: bytes, keep_alive: bool) -> None:
        """Send the whole answer to what the fast path has taken, unless the client has gone."""
        if self.phase == FAST_PATH:
            self._flow.write(data)
            self.begin_next() if keep_alive else self.close()

    def close(self, linger: bool = False) -> None:
        """Send what was written, and end; with `linger`, or if there is more than was read, only
        when the client has had time to read it.
        """
        if self.phase < CLOSING:
            self.phase = CLOSING
            self.since = self._state.now
            self._linger = linger
            if not self._flow.corked:
                self._end()

    # For asyncio.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begin, unless there are too many connections."""
        self._flow = FlowControl(self._state, transport)
        self._dispatcher = Dispatcher(self, self._state, self._flow)
        self.peer = self._flow.peer.remote_ip
        if self._hand_over is not None:
            self._admitted = self._hand_over()
        elif self._state.admission.enter(self.peer):
            self._admitted = self.peer
        self._state.add(self)
        if self._admitted is None:
            self.abort()

    def data_received(self, data: bytes) -> None:
        """Answer what has arrived, or keep it until it can be answered."""
        if self.phase >= CLOSING:
            self._drop(len(data))
            return
        if self.buffer:
            self.buffer += data
        elif self.phase == HEAD and self._is_taken_whole(data):
            return
        else:
            self.buffer = data
            # An empty line begins no request.
            if self.phase == HEAD and data.strip(b"\r\n"):
                self.since = self._state.now
        self.advance()

    def _drop(self, size: int) -> None:
        """Count what comes after the last answer, and read no more of it beyond its limit."""
        self._dropped += size
        if self._dropped > self._state.limits.linger_bytes:
            self._flow.pause_reading()

    def eof_received(self) -> bool:
        """Note that the client sends nothing more. An answer of the fast path is at hand, so it is
        still sent; a client that waits for anything else is taken to have gone.
        """
        if self._flow.peer.protocol == "http" and (
            self.phase == FAST_PATH or (self.phase == HEAD and self.buffer)
        ):
            self._half_closed = True
            self.advance_soon()
            return True
        self._give_up()
        return False

    def abort(self) -> None:
        """End at once, whatever is not sent yet."""
        self._give_up()
        self._flow.abort()

    def pause_writing(self) -> None:
        """Note that the client does not read."""
        self._flow.pause_writing()

    def resume_writing(self) -> None:
        """Go on, for the client reads again."""
        self._flow.resume_writing()
        self.advance_soon()

    def connection_lost(self, error: Exception | None) -> None:
        """Notify all that work for the client that it has gone."""
        self._flow.lost(error)
        self._state.remove(self)
        if self._admitted is not None:
            self._state.admission.leave(self._admitted)
        self._give_up()
        if self._dispatcher.head is not None:
            self._state.delegate.on_close(self)
        self._dispatcher.release()

    def _give_up(self) -> None:
        """Neither write nor read any more: the client has gone, or is sent away."""
        self.phase = CLOSED
        self._dispatcher.abandon()

    # For the server.

    def check(self) -> None:
        """End the connection if its time is up."""
        state, limits = self._state, self._state.limits
        if self._flow.sending():
            if self._flow.is_stalled():
                self.abort()
            if self.phase >= CLOSING or self.phase == HEAD:
                self.since = state.now
        elif self.phase >= CLOSING:
            if state.expired(self.since, limits.linger_seconds):
                self.abort()
        elif self.phase == HEAD and not self.buffer:
            if self._is_idle_too_long():
                self.close()
        elif self.phase == HEAD and state.expired(self.since, limits.head_seconds):
            self._dispatcher.reject(RejectedRequest(408, "the request took too long"))
        elif self.phase == FAST_PATH and state.expired(self.since, limits.fast_path_seconds):
            self.abort()
        elif self.phase == BODY and self._dispatcher.is_body_late():
            self._dispatcher.reject(RejectedRequest(408, "the body took too long"))

    def _is_idle_too_long(self) -> bool:
        state = self._state
        if state.ending_since is not None:
            return state.expired(max(self.since, state.ending_since), state.quiet_seconds)
        limits = state.limits
        seconds = limits.idle_seconds if self._served else limits.head_seconds
        return state.expired(self.since, seconds)

    # Receiving.

    def advance(self, resume: Callable[[], None] | None = None) -> None:
        """Do all that can be done with what was received, after `resume`."""
        if self.phase >= CLOSING:
            return
        self._flow.corked = True
        try:
            if resume is not None:
                resume()
            while self.phase <= BODY and self.offset < len(self.buffer):
                if not (self._dispatcher.receive() if self.phase else self._begin()):
                    break
        except RejectedRequest as rejected:
            self._dispatcher.reject(rejected)
        except HTTPInputError as error:
            self._dispatcher.reject(RejectedRequest(400, str(error)))
        except (Exception, asyncio.CancelledError):
            log.exception("request failed")
            self._dispatcher.reject(RejectedRequest(500, "internal error"))
        self._flow.corked = False
        self._settle()

    def _settle(self) -> None:
        """Send the answers of this turn; keep only what is not looked at yet."""
        if self._half_closed and self.phase == HEAD and not self._flow.write_paused:
            self.close()
        if self.phase == CLOSING:
            self._end()
            return
        self._flow.flush()
        if self.offset:
            self.buffer = self.buffer[self.offset :]
            self._checked = max(0, self._checked - self.offset)
            self.offset = 0
        if len(self.buffer) > self._state.limits.waiting_bytes:
            self._flow.pause_reading()
        elif self._flow.reading_paused:
            self._flow.resume_reading()

    def _end(self) -> None:
        self._flow.shut(self._linger or self.offset < len(self.buffer))
        self.buffer = b""
        self.offset = 0

    def _begin(self) -> bool:
        """Begin a request if its whole head is there, and return whether it is.

        Raises RejectedRequest if the head cannot be accepted.
        """
        if self._flow.write_paused:
            return False
        buffer, state = self.buffer, self._state
        start = self.offset
        if buffer[start] == _CR and (empty_lines := _EMPTY_LINES.match(buffer, start)):
            start = self.offset = empty_lines.end()
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
            self.offset = end
            self._dispatcher.open(head)
        return True

    def _is_taken_whole(self, data: bytes) -> bool:
        """Return whether `data` is one request that the fast path takes. Nearly all hot requests
        arrive alone and whole, so they need none of what follows."""
        state = self._state
        fast_path = state.fast_path
        if fast_path is None or self._flow.write_paused or state.ending_since is not None:
            return False
        if len(data) > state.limits.head_bytes:
            return False
        end = data.find(_HEAD_END) + len(_HEAD_END)
        if end <= len(_HEAD_END) or end != len(data) or data[0] == _CR:
            return False
        self.since = state.now
        try:
            taken = self._offered(fast_path, data, 0, end)
        except Exception:
            log.exception("request failed")
            self.buffer = data
            self._dispatcher.reject(RejectedRequest(500, "internal error"))
            return True
        if taken:
            self._served = True
        else:
            self._declined = True
        return taken

    def _taken(self, fast_path: FastPath, start: int, end: int) -> bool:
        """Return whether the fast path takes the request at `start`."""
        if self._state.ending_since is not None or end - start > self._state.limits.head_bytes:
            return False
        taken = self._offered(fast_path, self.buffer, start, end)
        if taken:
            self.offset = end
        return taken

    def _offered(self, fast_path: FastPath, data: bytes, start: int, end: int) -> bool:
        """Offer a request to the fast path, and return whether it takes it.

        Raises what the fast path raises, unless it had answered: nothing may follow the answer.
        """
        self.phase = FAST_PATH
        try:
            taken = fast_path(self, data, start, end)
        except Exception:
            if self.phase == FAST_PATH:
                raise
            log.exception("request failed")
            self.close()
            return True
        if not taken:
            self.phase = HEAD
        return taken

    def begin_next(self) -> None:
        """Begin the next request, when the code that is running has come to its end."""
        self.phase = HEAD
        self.since = self._state.now
        if not self._flow.corked:
            self.advance_soon()

    def advance_soon(self) -> None:
        """Go on when the code that is running has come to its end, and not in its context."""
        if self.buffer or self._half_closed:
            self._state.loop.call_soon(self.advance, context=self._state.context.copy())

"""One connection of a client: asyncio's protocol on one side, Tornado's delegates on the other.

Requests are answered one at a time, in order; the buffer for later bytes is bounded. Each request
is offered to the fast path first. A connection that ends early reads on for a while, so that its
client can read the answer.
"""

import asyncio
from collections.abc import Callable
from typing import Final

import structlog

from tracker.http.dispatcher import Dispatcher
from tracker.http.flow_control import FlowControl
from tracker.http.head import check_partial, skip_empty_lines
from tracker.http.phase import BODY, CLOSED, CLOSING, FAST_PATH, HEAD, is_overdue
from tracker.http.rejection import RejectedRequest
from tracker.http.server_state import ServerState

log = structlog.get_logger(__name__)

_CR: Final = ord("\r")
_BLANK_LINE: Final = b"\r\n\r\n"


class Connection(asyncio.Protocol):
    """A connection. Its `phase` began at `since`, and `buffer` is consumed up to `offset`.

    `served` is true after the first head.
    """

    _flow: FlowControl
    _dispatcher: Dispatcher
    peer: str

    def __init__(self, state: ServerState, hand_over: Callable[[], str] | None = None) -> None:
        """`hand_over` is called once, and returns the address of an admitted connection."""
        self._state = state
        self.phase = HEAD
        self.since = state.now
        self.buffer = b""
        self.offset = 0
        self._hand_over = hand_over
        self._admitted: str | None = None
        self._checked = 0
        self._taken_to = 0
        self._declined = False
        self.served = False
        self._half_closed = False
        self._linger = False

    def is_closing(self) -> bool:
        return self.phase >= CLOSING

    def take_body(self, end: int) -> None:
        self._taken_to = end

    def answer(self, data: bytes, keep_alive: bool) -> None:
        if self.phase == FAST_PATH:
            self._flow.write(data)
            self.begin_next() if keep_alive else self.close()

    def close(self, linger: bool = False) -> None:
        """Send the written bytes, and end.

        With `linger`, or if unread bytes are left, the client first has time to read the answer.
        """
        if self.phase < CLOSING:
            self.phase = CLOSING
            self.since = self._state.now
            self._linger = linger
            if not self._flow.corked:
                self._end()

    # Called by asyncio.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begin, or end at once if there are too many connections."""
        self._flow = FlowControl(self._state, transport)
        self._dispatcher = Dispatcher(self, self._state, self._flow)
        self.peer = self._flow.peer.remote_ip
        if self._hand_over is not None:
            self._admitted = self._hand_over()
        elif self._state.admission.admit(self.peer):
            self._admitted = self.peer
        self._state.add(self)
        if self._admitted is None:
            self.abort()

    def data_received(self, data: bytes) -> None:
        if self.phase >= CLOSING:
            self._flow.discard(len(data))
            return
        if self.buffer:
            self.buffer += data
        elif self.phase == HEAD and self._offer_whole(data):
            return
        else:
            self.buffer = data
            # An empty line begins no request.
            if self.phase == HEAD and data.strip(b"\r\n"):
                self.since = self._state.now
        self.advance()

    def eof_received(self) -> bool:
        """Return whether a client that sends nothing more still gets an answer.

        Not if it waits for a handler, or speaks TLS: then it counts as disconnected.
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
        reset = self._dispatcher.endless
        self._give_up()
        self._flow.abort(reset)

    def pause_writing(self) -> None:
        self._flow.pause_writing()

    def resume_writing(self) -> None:
        self._flow.resume_writing()
        self.advance_soon()

    def connection_lost(self, error: Exception | None) -> None:
        self._flow.lost(error)
        self._state.remove(self)
        if self._admitted is not None:
            self._state.admission.release(self._admitted)
        self._give_up()
        self._dispatcher.release()

    def _give_up(self) -> None:
        self.phase = CLOSED
        self._dispatcher.abandon()

    # Called by the server, and by the dispatcher.

    def check(self) -> None:
        """End if the client takes nothing of its answer, or the phase has taken too long."""
        flow, phase = self._flow, self.phase
        if flow.has_unsent():
            if flow.is_stalled():
                self.abort()
            if phase >= CLOSING or phase == HEAD:
                self.since = self._state.now
        elif not is_overdue(self, self._state):
            return
        elif phase == HEAD and not self.buffer:
            self.close()
        elif phase <= BODY:
            what = "request" if phase == HEAD else "body"
            self._dispatcher.reject(RejectedRequest(408, f"the {what} took too long"))
        else:
            self.abort()

    def advance(self, resume: Callable[[], None] | None = None) -> None:
        """Call `resume`, then process the received bytes as far as possible."""
        if self.phase >= CLOSING:
            return
        self._flow.corked = True
        try:
            if resume is not None:
                resume()
            while self.phase <= BODY and self.offset < len(self.buffer):
                if not (self._begin() if self.phase == HEAD else self._dispatcher.receive()):
                    break
        except (Exception, asyncio.CancelledError) as error:
            self._dispatcher.fail(error)
        self._flow.corked = False
        self._finish_turn()

    def _finish_turn(self) -> None:
        """Send the answers of this turn, and drop the consumed bytes."""
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
        self._flow.close(self._linger or self.offset < len(self.buffer))
        self.buffer = b""
        self.offset = 0

    def _begin(self) -> bool:
        """Begin a request if its whole head has arrived. Raises RejectedRequest."""
        if self._flow.write_paused:
            return False
        buffer, state = self.buffer, self._state
        start = self.offset
        if buffer[start] == _CR:
            start = self.offset = skip_empty_lines(buffer, start)
        end = buffer.find(_BLANK_LINE, max(start, self._checked - 3)) + len(_BLANK_LINE)
        if end < len(_BLANK_LINE):
            check_partial(buffer, start, self._checked, state.limits)
            self._checked = len(buffer)
            return False
        self._checked = 0
        self.served = True
        declined, self._declined = self._declined, False
        self._taken_to = end
        if not declined and self._offer(buffer, start, end):
            self.offset = self._taken_to
        else:
            head = state.heads.read(buffer, start, end, state.limits)
            self.offset = end
            self._dispatcher.open(head)
        return True

    def _offer_whole(self, data: bytes) -> bool:
        """Offer `data` to the fast path if it is one request, as nearly all hot requests arrive.

        Return whether it is answered, so without the work of `advance`.
        """
        if self._flow.write_paused:
            return False
        end = data.find(_BLANK_LINE) + len(_BLANK_LINE)
        if end <= len(_BLANK_LINE) or end != len(data) or data[0] == _CR:
            return False
        self.since = self._state.now
        if self._offer(data, 0, end):
            self.served = True
            return True
        self._declined = True
        return False

    def _offer(self, data: bytes, start: int, end: int) -> bool:
        """Return whether the fast path takes the request, or fails."""
        state = self._state
        if state.fast_path is None or state.ending_since is not None:
            return False
        if end - start > state.limits.head_bytes:
            return False
        self.phase = FAST_PATH
        try:
            taken = state.fast_path(self, data, start, end)
        except Exception as error:
            if self.phase == FAST_PATH:
                self.buffer = data
                self._dispatcher.fail(error)
            else:  # Nothing may follow an answer.
                log.exception("request failed")
                self.close()
            return True
        if not taken:
            self.phase = HEAD
        return taken

    def begin_next(self) -> None:
        """Begin the next request: in this turn if `advance` is running, else in the next."""
        self.phase = HEAD
        self.since = self._state.now
        if not self._flow.corked:
            self.advance_soon()

    def advance_soon(self) -> None:
        """Call `advance` in the next turn of the event loop, in the context of the server."""
        if self.buffer or self._half_closed:
            self._state.loop.call_soon(self.advance, context=self._state.context.copy())

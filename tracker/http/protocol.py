"""One connection of a client: asyncio's protocol on one side, Tornado's delegates on the other.

Made by `server` for each connection. Requests are answered one at a time, in order; what comes
meanwhile waits in a bounded buffer, beyond which reading pauses. A request is offered to the lane
first. A connection that is ended early reads on for a while, so that the client gets its answer.
"""

import asyncio
import re
from collections.abc import Callable
from typing import Final

import structlog
from tornado.httputil import HTTPInputError

from tracker.http.delegation import BODY, CLOSING, HEAD, LANE, Delegation
from tracker.http.head import check_partial
from tracker.http.lane import Lane
from tracker.http.refusal import Refused
from tracker.http.shared import Shared

log = structlog.get_logger(__name__)

_EMPTY_LINES: Final = re.compile(rb"(?:\r\n)*")
_CR: Final = 13
_HEAD_END: Final = b"\r\n\r\n"


class HTTPProtocol(Delegation):
    """Feeds the delegate of `shared`; is a tracker.http.lane.LaneConnection for its lane."""

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

    def __init__(self, shared: Shared, hand_over: Callable[[], str] | None = None) -> None:
        """`hand_over` gives the address of a connection that was admitted before, once it is
        made."""
        super().__init__(shared)
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
        """The whole answer to what the lane has taken. Does nothing if the client has gone."""
        if self._phase == LANE:
            self.write(data)
            self._next() if keep_alive else self.close()

    def close(self, linger: bool = False) -> None:
        """Send what was written, and end; with `linger`, or if there is more than was read, only
        when the client has had time to read it.
        """
        if self._phase < CLOSING:
            self._phase = CLOSING
            self._since = self._shared.now
            self._linger = linger
            if not self._turn:
                self._end()

    # For asyncio.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        if self._hand_over is not None:
            self._admitted = self._hand_over()
        elif self._shared.admission.enter(self.peer):
            self._admitted = self.peer
        self._shared.add(self)
        if self._admitted is None:
            self.abort()

    def data_received(self, data: bytes) -> None:
        if self._phase >= CLOSING:
            self._drop(len(data))
            return
        if self._buffer:
            self._buffer += data
        elif self._phase == HEAD and self._lane_takes(data):
            return
        else:
            self._buffer = data
            # An empty line begins no request.
            if self._phase == HEAD and data.strip(b"\r\n"):
                self._since = self._shared.now
        self._advance()

    def _drop(self, size: int) -> None:
        """Count what comes after the last answer, and read no more of it beyond its limit."""
        self._dropped += size
        if self._dropped > self._shared.limits.linger_bytes:
            self.hold()

    def eof_received(self) -> bool:
        """The client will send nothing more. A lane's answer is at hand, so it still gets that;
        who waits for anything else is taken to have gone.
        """
        if self.context.protocol == "http" and (
            self._phase == LANE or (self._phase == HEAD and self._buffer)
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
        self._shared.remove(self)
        if self._admitted is not None:
            self._shared.admission.leave(self._admitted)
        self._go()
        if self._head is not None:
            self._shared.delegate.on_close(self)

    # For the server.

    def check(self) -> None:
        """End the connection if its time is up."""
        shared, limits = self._shared, self._shared.limits
        if self.sending():
            if self._phase >= CLOSING or self._phase == HEAD:
                self._since = shared.now
        elif self._phase >= CLOSING:
            if shared.expired(self._since, limits.linger_seconds):
                self.abort()
        elif self._phase == HEAD and not self._buffer:
            if self._is_idle_too_long():
                self.close()
        elif self._phase == HEAD and shared.expired(self._since, limits.head_seconds):
            self._refuse(Refused(408, "the request took too long"))
        elif self._phase == LANE and shared.expired(self._since, limits.lane_seconds):
            self.abort()
        elif self._phase == BODY and self._is_body_too_long():
            self._refuse(Refused(408, "the body took too long"))

    def _is_body_too_long(self) -> bool:
        exchange = self._exchange
        return exchange is not None and self._shared.expired(self._since, exchange.body_seconds)

    def _is_idle_too_long(self) -> bool:
        shared = self._shared
        if shared.ending_since is not None:
            return shared.expired(max(self._since, shared.ending_since), shared.quiet_seconds)
        limits = shared.limits
        seconds = limits.idle_seconds if self._served else limits.head_seconds
        return shared.expired(self._since, seconds)

    # Receiving.

    def _advance(self, resume: Callable[[], None] | None = None) -> None:
        """Do all that can be done with what was received, after `resume`."""
        if self._phase >= CLOSING:
            return
        self._turn = True
        try:
            if resume is not None:
                resume()
            while self._phase <= BODY and self._offset < len(self._buffer):
                if not (self._receive() if self._phase else self._begin()):
                    break
        except Refused as refused:
            self._refuse(refused)
        except HTTPInputError as error:
            self._refuse(Refused(400, str(error)))
        except (Exception, asyncio.CancelledError):
            log.exception("request failed")
            self._refuse(Refused(500, "internal error"))
        self._turn = False
        self._settle()

    def _settle(self) -> None:
        """Send the answers of this turn; keep only what is not looked at yet."""
        if self._half_closed and self._phase == HEAD and not self._stuck:
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
        if len(self._buffer) > self._shared.limits.waiting_bytes:
            self.hold()
        elif self._held:
            self.release()

    def _end(self) -> None:
        self.shut(self._linger or self._offset < len(self._buffer))
        self._buffer = b""
        self._offset = 0

    def _begin(self) -> bool:
        """Begin a request if its whole head is there, and return whether it is. Raises Refused."""
        if self._stuck:
            return False
        buffer, shared = self._buffer, self._shared
        start = self._offset
        if buffer[start] == _CR and (empty_lines := _EMPTY_LINES.match(buffer, start)):
            start = self._offset = empty_lines.end()
        end = buffer.find(b"\r\n\r\n", max(start, self._checked - 3)) + 4
        if end < 4:
            check_partial(buffer, start, self._checked, shared.limits)
            self._checked = len(buffer)
            return False
        self._checked = 0
        self._served = True
        declined, self._declined = self._declined, False
        if shared.lane is None or declined or not self._taken(shared.lane, start, end):
            head = shared.heads.read(buffer, start, end, shared.limits)
            self._offset = end
            self._open(head)
        return True

    def _lane_takes(self, data: bytes) -> bool:
        """Whether `data` is one request that the lane has taken: nearly all of the hot requests
        come alone and whole, and so need nothing of what follows."""
        shared = self._shared
        lane = shared.lane
        if lane is None or self._stuck or shared.ending_since is not None:
            return False
        if len(data) > shared.limits.head_bytes:
            return False
        end = data.find(_HEAD_END) + len(_HEAD_END)
        if end <= len(_HEAD_END) or end != len(data) or data[0] == _CR:
            return False
        self._since = shared.now
        try:
            taken = self._offered(lane, data, 0, end)
        except Exception:
            log.exception("request failed")
            self._buffer = data
            self._refuse(Refused(500, "internal error"))
            return True
        if taken:
            self._served = True
        else:
            self._declined = True
        return taken

    def _taken(self, lane: Lane, start: int, end: int) -> bool:
        """Whether the lane takes the request at `start`."""
        if self.ending or end - start > self._shared.limits.head_bytes:
            return False
        taken = self._offered(lane, self._buffer, start, end)
        if taken:
            self._offset = end
        return taken

    def _offered(self, lane: Lane, data: bytes, start: int, end: int) -> bool:
        """Whether the lane takes the request. Raises what it raises, unless it had answered: then
        nothing is to follow the answer."""
        self._phase = LANE
        try:
            taken = lane(self, data, start, end)
        except Exception:
            if self._phase == LANE:
                raise
            log.exception("request failed")
            self.close()
            return True
        if not taken:
            self._phase = HEAD
        return taken

    def _next(self) -> None:
        self._phase = HEAD
        self._since = self._shared.now
        if not self._turn:
            self._soon()

    def _soon(self) -> None:
        """Go on when the handler that is running has come to its end, and not in its context."""
        if self._buffer or self._half_closed:
            self._shared.loop.call_soon(self._advance, context=self._shared.context.copy())

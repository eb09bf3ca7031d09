"""One connection of a client: asyncio's protocol on one side, Tornado's delegates on the other.

Made by `server` for each connection. Requests are answered one at a time, in order; what comes
meanwhile waits in a bounded buffer, beyond which reading pauses. A request is offered to the lane
first. A connection that is ended early reads on for a while, so that the client gets its answer.
"""

import asyncio
import re
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any, Final

import structlog
from tornado.gen import convert_yielded
from tornado.httputil import HTTPInputError, HTTPMessageDelegate

from tracker.http.body import Body, ChunkedBody, FixedBody
from tracker.http.exchange import Exchange
from tracker.http.framing import CHUNKED
from tracker.http.head import Head, check_partial
from tracker.http.lane import Lane
from tracker.http.refusal import Refused, refusal
from tracker.http.shared import Shared
from tracker.http.wire import Wire

log = structlog.get_logger(__name__)

_EMPTY_LINES: Final = re.compile(rb"(?:\r\n)*")
_CR: Final = 13

# What a connection is about. What is received is looked at in the first two only.
_HEAD: Final = 0  # between requests, or in the head of one
_BODY: Final = 1
_PREPARING: Final = 2  # the handler is not ready for the body, or for more of it
_ANSWERING: Final = 3  # the request is received, its answer awaited
_LANE: Final = 4  # a lane has the request
_CLOSING: Final = 5  # what was written is being sent; what comes is dropped
_CLOSED: Final = 6


class HTTPProtocol(Wire):
    """Feeds the delegate of `shared`; is a tracker.http.lane.LaneConnection for its lane."""

    __slots__ = (
        "_body",
        "_buffer",
        "_checked",
        "_delegate",
        "_exchange",
        "_half_closed",
        "_head",
        "_linger",
        "_offset",
        "_phase",
        "_served",
        "_since",
    )

    def __init__(self, shared: Shared) -> None:
        super().__init__(shared)
        self._phase = _HEAD
        self._since = shared.now
        self._buffer = b""
        self._offset = 0
        self._checked = 0
        self._served = False
        self._half_closed = False
        self._linger = False
        self._head: Head | None = None
        self._body: Body | None = None
        self._exchange: Exchange | None = None
        self._delegate: HTTPMessageDelegate | None = None

    # For handlers and lanes.

    @property
    def peer(self) -> str:
        """The client's address, as text."""
        return self.context.remote_ip

    @property
    def ending(self) -> bool:
        """Whether no further request will be read."""
        return self._half_closed or self._shared.ending_since is not None

    def is_closing(self) -> bool:
        """Whether nothing can be written any more."""
        return self._phase >= _CLOSING

    def answer(self, data: bytes, keep_alive: bool) -> None:
        """The whole answer to what the lane has taken. Does nothing if the client has gone."""
        if self._phase == _LANE:
            self.write(data)
            self._next() if keep_alive else self.close()

    def answered(self, exchange: Exchange) -> None:
        """The answer of `exchange` is complete."""
        if exchange is not self._exchange:
            return
        delegate = self._delegate
        self._exchange = self._delegate = self._body = None
        if not exchange.awaited and delegate is not None:
            self._shared.loop.call_soon(_call, delegate.on_connection_close)
        if exchange.keep_alive and exchange.body_received:
            self._next()
        else:
            self.close(linger=not exchange.body_received)

    def break_off(self, exchange: Exchange) -> None:
        """End, after what was written: the answer of `exchange` will not be complete."""
        if exchange is self._exchange:
            self.close(linger=True)
            self._abandon()

    def close(self, linger: bool = False) -> None:
        """Send what was written, and end; with `linger`, or if there is more than was read, only
        when the client has had time to read it.
        """
        if self._phase < _CLOSING:
            self._phase = _CLOSING
            self._since = self._shared.now
            self._linger = linger
            if not self._turn:
                self._end()

    # For asyncio.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        self._shared.add(self)

    def data_received(self, data: bytes) -> None:
        if self._phase >= _CLOSING:
            return
        if self._buffer:
            self._buffer += data
        else:
            self._buffer = data
            if self._phase == _HEAD:
                self._since = self._shared.now
        self._advance()

    def eof_received(self) -> bool:
        """The client will send nothing more. A lane's answer is at hand, so it still gets that;
        who waits for anything else is taken to have gone.
        """
        if self._phase == _LANE and self.context.protocol == "http":
            self._half_closed = True
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
        self._go()
        if self._head is not None:
            self._shared.delegate.on_close(self)

    # For the server.

    def check(self) -> None:
        """End the connection if its time is up."""
        shared, limits = self._shared, self._shared.limits
        if self.sending():
            if self._phase >= _CLOSING or self._phase == _HEAD:
                self._since = shared.now
        elif self._phase >= _CLOSING:
            if shared.expired(self._since, limits.linger_seconds):
                self.abort()
        elif self._phase == _HEAD and not self._buffer:
            if self._is_idle_too_long():
                self.close()
        elif self._phase == _HEAD and shared.expired(self._since, limits.head_seconds):
            self._refuse(Refused(408, "the request took too long"))
        elif self._phase == _BODY and self._is_body_too_long():
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
        if self._phase >= _CLOSING:
            return
        self._turn = True
        try:
            if resume is not None:
                resume()
            while self._phase <= _BODY and self._offset < len(self._buffer):
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
        if self._half_closed and self._phase == _HEAD:
            self.close()
        if self._phase == _CLOSING:
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
        if shared.lane is None or not self._taken(shared.lane, start, end):
            self._offset = end
            self._open(shared.heads.read(buffer, start, end, shared.limits))
        return True

    def _taken(self, lane: Lane, start: int, end: int) -> bool:
        """Whether the lane takes the request at `start`."""
        if self.ending or end - start > self._shared.limits.head_bytes:
            return False
        self._phase = _LANE
        taken = lane(self, self._buffer, start)
        self._offset = start + taken
        if not taken:
            self._phase = _HEAD
        return taken > 0

    def _open(self, head: Head) -> None:
        """Raises Refused, HTTPInputError, and whatever the delegate raises."""
        limits = self._shared.limits
        exchange = Exchange(self, head, limits.body_bytes, limits.body_seconds)
        self._phase = _PREPARING
        self._head = head
        self._exchange = exchange
        self._delegate = self._shared.delegate.start_request(self, exchange)
        waiting = self._delegate.headers_received(head.start_line, head.headers)
        if waiting is None:
            self._prepared()
        else:
            self._await(waiting, self._prepared)

    def _prepared(self) -> None:
        """The handler is ready for the body. Raises Refused if that is too large."""
        head, exchange = self._head, self._exchange
        if head is None or exchange is None:
            return
        if head.body_length == 0:
            self._received(exchange)
            return
        if head.body_length > exchange.max_body_bytes:
            raise Refused(413, f"body: at most {exchange.max_body_bytes} bytes")
        chunked = head.body_length == CHUNKED
        self._body = (
            ChunkedBody(exchange.max_body_bytes) if chunked else FixedBody(head.body_length)
        )
        self._phase = _BODY
        self._since = self._shared.now
        if head.expects_continue and not exchange.begun:
            self.write(b"HTTP/1.1 100 Continue\r\n\r\n")

    def _receive(self) -> bool:
        """Give the handler what is there of the body. Whether to go on. Raises Refused."""
        before, body = self._offset, self._body
        if body is None or self._delegate is None:
            return False
        piece, self._offset = body.take(self._buffer, before)
        waiting = self._delegate.data_received(piece) if piece else None
        if waiting is None:
            self._delivered()
        else:
            self._await(waiting, self._delivered)
        if body.turn_over:
            self._soon()
        return self._offset > before and not body.turn_over

    def _delivered(self) -> None:
        if self._exchange is None or self._body is None:
            return
        if self._body.done:
            self._received(self._exchange)
        else:
            self._phase = _BODY

    def _received(self, exchange: Exchange) -> None:
        self._body = None
        exchange.body_received = exchange.awaited = True
        self._phase = _ANSWERING
        if self._delegate is not None:
            self._delegate.finish()

    def _await(self, waiting: Awaitable[Any], step: Callable[[], None]) -> None:
        """Take `step` when the handler is ready. Raises what it was not ready for."""
        future = convert_yielded(waiting)
        if future.done():
            future.result()
            step()
        else:
            self._phase = _PREPARING
            future.add_done_callback(partial(self._ready, self._exchange, step))

    def _ready(
        self, exchange: Exchange | None, step: Callable[[], None], future: asyncio.Future[Any]
    ) -> None:
        def resume() -> None:
            future.result()
            step()

        if self._exchange is exchange:
            self._advance(resume)
        elif not future.cancelled():
            future.exception()  # Nobody waits for it any more.

    # Between requests, and at the end.

    def _next(self) -> None:
        self._phase = _HEAD
        self._since = self._shared.now
        if not self._turn:
            self._soon()

    def _soon(self) -> None:
        """Go on when the handler that is running has come to its end, and not in its context."""
        if self._buffer or self._half_closed:
            self._shared.loop.call_soon(self._advance, context=self._shared.context.copy())

    def _refuse(self, refused: Refused) -> None:
        """Answer in place of a handler, if none has begun to, and end."""
        begun = self._exchange is not None and self._exchange.begun
        if self._phase < _CLOSING and not begun:
            head_only = self._is_head_request()
            self.write(refusal(refused, self._shared.render, head_only))
        self._abandon()
        self.close(linger=True)

    def _is_head_request(self) -> bool:
        if self._exchange is not None and self._head is not None:
            return self._head.start_line.method == "HEAD"
        return self._buffer.startswith(b"HEAD ", self._offset)

    def _go(self) -> None:
        """The client has gone, or is sent away: nothing is written or read any more."""
        self._phase = _CLOSED
        self._abandon()

    def _abandon(self) -> None:
        """Tell who works for the present request, once, that nobody waits for its answer."""
        exchange, delegate = self._exchange, self._delegate
        self._exchange = self._delegate = self._body = None
        if exchange is None:
            return
        callback = exchange.detach()
        if not exchange.awaited and delegate is not None:
            callback = delegate.on_connection_close
        if callback is not None:
            _call(callback)


def _call(callback: Callable[[], None]) -> None:
    try:
        callback()
    except Exception:
        log.exception("told of a closed connection, a handler failed")

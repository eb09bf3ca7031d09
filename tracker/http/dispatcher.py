"""The handler's side of a connection: feeds tornado.httputil's delegates, one request at a time.

Between `wire`, which sends, and `protocol`, which receives. Whoever works for a request is told
exactly once that it is received, or that its client has gone.
"""

import asyncio
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any, Final

import structlog
from tornado.gen import convert_yielded
from tornado.httputil import HTTPMessageDelegate

from tracker.http.body import Body, ChunkedBody, FixedBody
from tracker.http.exchange import Exchange
from tracker.http.flow_control import FlowControl
from tracker.http.framing import CHUNKED
from tracker.http.head import Head
from tracker.http.rejection import RejectedRequest, rejection
from tracker.http.request import ReceivedRequest
from tracker.http.server_state import ServerState

log = structlog.get_logger(__name__)

# What a connection is about. What is received is looked at in the first two only.
HEAD: Final = 0  # between requests, or in the head of one
BODY: Final = 1
PREPARING: Final = 2  # the handler is not ready for the body, or for more of it
ANSWERING: Final = 3  # the request is received, its answer awaited
FAST_PATH: Final = 4  # a lane has the request
CLOSING: Final = 5  # what was written is being sent; what comes is dropped
CLOSED: Final = 6


class Dispatcher(FlowControl):
    """Gives what is in `_buffer` from `_offset` on to the delegate of `state`."""

    __slots__ = (
        "_body",
        "_buffer",
        "_delegate",
        "_exchange",
        "_head",
        "_offset",
        "_phase",
        "_since",
    )

    def __init__(self, state: ServerState) -> None:
        super().__init__(state)
        self._phase = HEAD
        self._since = state.now
        self._buffer = b""
        self._offset = 0
        self._head: Head | None = None
        self._body: Body | None = None
        self._exchange: Exchange | None = None
        self._delegate: HTTPMessageDelegate | None = None

    # For the protocol to fill in.

    def close(self, linger: bool = False) -> None:
        raise NotImplementedError

    def _advance(self, resume: Callable[[], None] | None = None) -> None:
        raise NotImplementedError

    def _next(self) -> None:
        raise NotImplementedError

    def _soon(self) -> None:
        raise NotImplementedError

    # For handlers, through their exchange.

    @property
    def ending(self) -> bool:
        """Whether every answer is to end its connection."""
        return self._state.ending_since is not None

    def answered(self, exchange: Exchange) -> None:
        """The answer of `exchange` is complete."""
        if exchange is not self._exchange:
            return
        delegate = self._delegate
        self._exchange = self._delegate = self._body = None
        if not exchange.awaited and delegate is not None:
            self._state.loop.call_soon(_call, delegate.on_connection_close)
        if exchange.keep_alive and exchange.body_received:
            self._next()
        else:
            self.close(linger=not exchange.body_received)

    def break_off(self, exchange: Exchange) -> None:
        """End, after what was written: the answer of `exchange` will not be complete."""
        if exchange is self._exchange:
            self.close(linger=True)
            self._abandon()

    # Receiving. All of these raise what the delegate raises.

    def _open(self, head: Head) -> None:
        """Raises RejectedRequest, HTTPInputError, and whatever the delegate raises."""
        limits = self._state.limits
        exchange = Exchange(self, head, limits.body_bytes, limits.body_seconds)
        self._phase = PREPARING
        self._head = head
        self._exchange = exchange
        delegate = self._delegate = self._started(head, exchange)
        waiting = delegate.headers_received(head.start_line, head.headers)
        if waiting is None:
            self._prepared()
        else:
            self._await(waiting, self._prepared)

    def _started(self, head: Head, exchange: Exchange) -> HTTPMessageDelegate:
        router = self._state.router
        if router is not None:
            request = ReceivedRequest(head.start_line, head.headers, exchange, self)
            delegate = router.find_handler(request)
            if delegate is not None:
                return delegate
        return self._state.delegate.start_request(self, exchange)

    def _prepared(self) -> None:
        """The handler is ready for the body. Raises RejectedRequest if that is too large."""
        head, exchange = self._head, self._exchange
        if head is None or exchange is None:
            return
        if head.body_length == 0:
            self._received(exchange)
            return
        if head.body_length > exchange.max_body_bytes:
            raise RejectedRequest(413, f"body: at most {exchange.max_body_bytes} bytes")
        chunked = head.body_length == CHUNKED
        self._body = (
            ChunkedBody(exchange.max_body_bytes) if chunked else FixedBody(head.body_length)
        )
        self._phase = BODY
        self._since = self._state.now
        if head.expects_continue and not exchange.begun:
            self.write(b"HTTP/1.1 100 Continue\r\n\r\n")

    def _receive(self) -> bool:
        """Give the handler what is there of the body. Whether to go on. Raises RejectedRequest."""
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
            self._phase = BODY

    def _received(self, exchange: Exchange) -> None:
        self._body = None
        exchange.body_received = exchange.awaited = True
        self._phase = ANSWERING
        if self._delegate is not None:
            self._delegate.finish()

    def _await(self, waiting: Awaitable[Any], step: Callable[[], None]) -> None:
        """Take `step` when the handler is ready. Raises what it was not ready for."""
        future = convert_yielded(waiting)
        if future.done():
            future.result()
            step()
        else:
            self._phase = PREPARING
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

    # Instead of an answer.

    def _reject(self, rejected: RejectedRequest) -> None:
        """Answer in place of a handler, if none has begun to, and end."""
        begun = self._exchange is not None and self._exchange.begun
        if self._phase < CLOSING and not begun:
            head_only = self._is_head_request()
            state = self._state
            self.write(rejection(rejected, state.render, state.default_headers(), head_only))
        self._abandon()
        self.close(linger=True)

    def _is_head_request(self) -> bool:
        if self._exchange is not None and self._head is not None:
            return self._head.start_line.method == "HEAD"
        return self._buffer.startswith(b"HEAD ", self._offset)

    def _go(self) -> None:
        """The client has gone, or is sent away: nothing is written or read any more."""
        self._phase = CLOSED
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

"""The handler's side of a connection: tornado.httputil's delegates, one request at a time.

Guarantee: a delegate is notified exactly once: its request is complete, or its client is lost.
"""

import asyncio
from collections.abc import Awaitable, Callable
from functools import partial
from typing import TYPE_CHECKING, Any

import structlog
from tornado.gen import convert_yielded
from tornado.httputil import HTTPInputError, HTTPMessageDelegate

from tracker.http.body import Body, ChunkedBody, FixedBody
from tracker.http.exchange import Exchange
from tracker.http.flow_control import FlowControl
from tracker.http.head import CHUNKED, Head
from tracker.http.phase import ANSWERING, BODY, CLOSING, PREPARING
from tracker.http.rejection import RejectedRequest, rejection
from tracker.http.request import ReceivedRequest
from tracker.http.server_state import ServerState

if TYPE_CHECKING:
    from tracker.http.connection import Connection

log = structlog.get_logger(__name__)


class Dispatcher:
    """The link between one connection and its handlers. Each exchange answers through it."""

    def __init__(self, connection: "Connection", state: ServerState, flow: FlowControl) -> None:
        self._connection = connection
        self._state = state
        self._flow = flow
        self.head: Head | None = None
        self.exchange: Exchange | None = None
        self._body: Body | None = None
        self._delegate: HTTPMessageDelegate | None = None

    # Called by exchanges.

    def answered(self, exchange: Exchange) -> None:
        if exchange is not self.exchange:
            return
        delegate = self._delegate
        self.exchange = self._delegate = self._body = None
        if not exchange.awaited and delegate is not None:
            self._state.loop.call_soon(_call, delegate.on_connection_close)
        if exchange.keep_alive and exchange.body_received:
            self._connection.begin_next()
        else:
            self._connection.close(linger=not exchange.body_received)

    def break_off(self, exchange: Exchange) -> None:
        if exchange is self.exchange:
            self._connection.close(linger=True)
            self.abandon()

    def cut(self, exchange: Exchange) -> None:
        if exchange is self.exchange:
            self._connection.abort()

    @property
    def endless(self) -> bool:
        """Return whether only the end of the connection ends the current answer."""
        return self.exchange is not None and self.exchange.endless

    # Called by the connection. All of these raise the delegate's errors.

    def open(self, head: Head) -> None:
        """Begin a request: make its exchange, and give its head to a delegate.

        Raises RejectedRequest if its body is too large, HTTPInputError if the Host is malformed.
        """
        exchange = Exchange(self, self._state, self._flow, head)
        self._connection.phase = PREPARING
        self.head = head
        self.exchange = exchange
        request = ReceivedRequest(head.start_line, head.headers, exchange)
        delegate = self._state.application.find_handler(request)
        assert delegate is not None  # an Application has a handler for every path
        self._delegate = delegate
        waiting = delegate.headers_received(head.start_line, head.headers)
        if waiting is None:
            self._prepared()
        else:
            self._await(waiting, self._prepared)

    def _prepared(self) -> None:
        """Begin the body. Raises RejectedRequest if it is too large."""
        head, exchange = self.head, self.exchange
        if head is None or exchange is None:
            return
        if head.body_length == 0:
            self._received(exchange)
            return
        limit = self._state.limits.body_bytes
        if head.body_length > limit:
            raise RejectedRequest(413, f"body: at most {limit} bytes")
        is_chunked = head.body_length == CHUNKED
        self._body = ChunkedBody(limit) if is_chunked else FixedBody(head.body_length)
        self._connection.phase = BODY
        self._connection.since = self._state.now
        if head.expects_continue and not exchange.begun:
            self._flow.write(b"HTTP/1.1 100 Continue\r\n\r\n")

    def receive(self) -> bool:
        """Give the handler the next part of the body, and return whether there may be more."""
        connection, body = self._connection, self._body
        before = connection.offset
        if body is None or self._delegate is None:
            return False
        piece, connection.offset = body.take(connection.buffer, before)
        waiting = self._delegate.data_received(piece) if piece else None
        if waiting is None:
            self._delivered()
        else:
            self._await(waiting, self._delivered)
        if body.paused:
            connection.advance_soon()
        return connection.offset > before and not body.paused

    def _delivered(self) -> None:
        if self.exchange is None or self._body is None:
            return
        if self._body.done:
            self._received(self.exchange)
        else:
            self._connection.phase = BODY

    def _received(self, exchange: Exchange) -> None:
        self._body = None
        exchange.body_received = exchange.awaited = True
        self._connection.phase = ANSWERING
        if self._delegate is not None:
            self._delegate.finish()

    def _await(self, waiting: Awaitable[Any], step: Callable[[], None]) -> None:
        """Call `step` when the handler is ready. Raises the errors of its future."""
        future = convert_yielded(waiting)
        if future.done():
            future.result()
            step()
        else:
            self._connection.phase = PREPARING
            self._connection.since = self._state.now
            future.add_done_callback(partial(self._ready, self.exchange, step))

    def _ready(
        self, exchange: Exchange | None, step: Callable[[], None], future: asyncio.Future[Any]
    ) -> None:
        def resume() -> None:
            future.result()
            step()

        if self.exchange is exchange:
            self._connection.advance(resume)
        elif not future.cancelled():
            future.exception()  # Nobody awaits it any more.

    # In place of an answer.

    def fail(self, error: BaseException) -> None:
        """Reject the request that raised `error` while it was read or given to its handler."""
        if isinstance(error, RejectedRequest):
            self.reject(error)
        elif isinstance(error, HTTPInputError):
            self.reject(RejectedRequest(400, str(error)))
        else:
            log.error("request failed", exc_info=error)
            self.reject(RejectedRequest(500, "internal error"))

    def reject(self, rejected: RejectedRequest) -> None:
        """Answer in place of the handler, unless its answer has begun, and end the connection."""
        begun = self.exchange is not None and self.exchange.begun
        if self._connection.phase < CLOSING and not begun:
            head_only = self._is_head_request()
            state = self._state
            self._flow.write(rejection(rejected, state.render, state.default_headers(), head_only))
        self.abandon()
        self._connection.close(linger=True)

    def release(self) -> None:
        """Drop the reference to the connection, so that no garbage collector is needed for it."""
        del self._connection

    def _is_head_request(self) -> bool:
        if self.exchange is not None and self.head is not None:
            return self.head.start_line.method == "HEAD"
        return self._connection.buffer.startswith(b"HEAD ", self._connection.offset)

    def abandon(self) -> None:
        """Notify the handler of the current request, once, that its client has disconnected."""
        exchange, delegate = self.exchange, self._delegate
        self.exchange = self._delegate = self._body = None
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
        log.exception("a handler failed when its connection was closed")

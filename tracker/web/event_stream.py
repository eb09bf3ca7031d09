"""The answer with Server-Sent Events: a text for each event, for as long as the client listens.

See https://html.spec.whatwg.org/multipage/server-sent-events.html.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AbstractContextManager
from typing import Final, Literal, NamedTuple, Protocol, cast

from tornado.iostream import StreamClosedError
from tornado.web import RequestHandler

from tracker.http.exchange import Exchange
from tracker.loops import cancel_and_wait

RETRY_MS: Final = 3000
"""The delay after which a browser reconnects."""

END_SECONDS: Final = 0.5
"""The time for the last event. A client that has not read it by then is cut off."""


class StreamEvent(Protocol):
    """An event of a stream."""

    @property
    def text(self) -> bytes: ...


class OpenStream(Protocol):
    """The events of one stream, until it ends."""

    ended: asyncio.Event

    def __aiter__(self) -> AsyncIterator[StreamEvent]:
        """Return the iterator of events as they come."""

    def end(self, reason: Literal["access_ended"]) -> None:
        """End the stream with a last event that gives the reason."""


class EventStream(NamedTuple):
    """A stream that an endpoint answers with. Entering it may raise a TrackerError."""

    opened: AbstractContextManager[OpenStream]


class EventStreamAnswer:
    """The answer of one request with a stream."""

    def __init__(self, handler: RequestHandler, stream: EventStream) -> None:
        self._handler = handler
        self._stream = stream
        self._open: OpenStream | None = None
        self._disconnected = asyncio.Event()

    def on_disconnect(self) -> None:
        self._disconnected.set()

    def on_access_ended(self) -> None:
        if self._open is not None:
            self._open.end("access_ended")

    async def send(self) -> None:
        """Send events until the stream ends or the client disconnects. Raises as opening it."""
        with self._stream.opened as opened:
            self._open = opened
            self._handler.set_header("Content-Type", "text/event-stream")
            self._handler.set_header("Cache-Control", "no-store")
            # Otherwise proxies such as nginx buffer short answers.
            self._handler.set_header("X-Accel-Buffering", "no")
            writing = asyncio.create_task(self._write(opened))
            ended = [asyncio.create_task(one.wait()) for one in (opened.ended, self._disconnected)]
            try:
                either: list[asyncio.Task[object]] = [writing, *ended]
                await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
                if not self._disconnected.is_set():
                    await asyncio.wait([writing], timeout=END_SECONDS)
            finally:
                is_whole = writing.done() and not writing.exception()
                for task in (writing, *ended):
                    await cancel_and_wait(task)
        if not is_whole and not self._disconnected.is_set():
            cast("Exchange", self._handler.request.connection).cut()

    async def _write(self, opened: OpenStream) -> None:
        try:
            await self._put(f"retry: {RETRY_MS}\n\n".encode())
            if self._handler.request.method != "HEAD":
                async for event in opened:
                    await self._put(event.text)
            await self._handler.finish()
        except StreamClosedError:
            self._disconnected.set()

    async def _put(self, text: bytes) -> None:
        self._handler.write(text)
        # Waits while the client does not read.
        await self._handler.flush()

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
"""Time after which a browser connects again."""

END_SECONDS: Final = 0.5
"""Time for the last event. After it the client is not reading, and is cut off."""


class Event(Protocol):
    """An event of a stream."""

    @property
    def text(self) -> bytes: ...


class EventSource(Protocol):
    """The events of one stream, until it ends."""

    ended: asyncio.Event

    def __aiter__(self) -> AsyncIterator[Event]:
        """Return the iterator of events as they come."""

    def end(self, reason: Literal["access_ended"]) -> None:
        """End the stream with a last event that gives the reason."""


class EventStream(NamedTuple):
    """A stream that an endpoint answers with. Entering it may raise a TrackerError."""

    opened: AbstractContextManager[EventSource]


class EventStreamAnswer:
    """The answer of one request with a stream."""

    def __init__(self, handler: RequestHandler, stream: EventStream) -> None:
        self._handler = handler
        self._stream = stream
        self._live: EventSource | None = None
        self._gone = asyncio.Event()

    def leave(self) -> None:
        self._gone.set()

    def lose_access(self) -> None:
        if self._live is not None:
            self._live.end("access_ended")

    async def send(self) -> None:
        """Send events until the stream ends or its client goes. Raises the errors of opening it."""
        with self._stream.opened as live:
            self._live = live
            self._handler.set_header("Content-Type", "text/event-stream")
            self._handler.set_header("Cache-Control", "no-store")
            # Otherwise proxies such as nginx buffer short answers.
            self._handler.set_header("X-Accel-Buffering", "no")
            writing = asyncio.create_task(self._write(live))
            ended = [asyncio.create_task(one.wait()) for one in (live.ended, self._gone)]
            try:
                either: list[asyncio.Task[object]] = [writing, *ended]
                await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
                if not self._gone.is_set():
                    await asyncio.wait([writing], timeout=END_SECONDS)
            finally:
                is_whole = writing.done() and not writing.exception()
                for task in (writing, *ended):
                    await cancel_and_wait(task)
        if not is_whole and not self._gone.is_set():
            cast("Exchange", self._handler.request.connection).cut()

    async def _write(self, live: EventSource) -> None:
        try:
            await self._put(f"retry: {RETRY_MS}\n\n".encode())
            async for event in live:
                await self._put(event.text)
            await self._handler.finish()
        except StreamClosedError:
            self._gone.set()

    async def _put(self, text: bytes) -> None:
        self._handler.write(text)
        # Waits while the client does not read.
        await self._handler.flush()

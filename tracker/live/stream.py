"""The stream of one client: events in a queue of bounded length, and an end."""

import asyncio
from collections import deque
from collections.abc import AsyncIterator
from typing import Final, Literal, NamedTuple

import msgspec

EndReason = Literal["stopping", "access_ended", "too_slow"]

MAX_WAITING: Final = 100
"""Events that a client may be behind: ten seconds of a busy account."""


class LiveEvent(NamedTuple):
    """A named event, and its data, which becomes one line of JSON."""

    name: str
    data: msgspec.Struct


class End(msgspec.Struct, frozen=True):
    """Why a stream ends before its client leaves."""

    reason: EndReason


class LiveStream:
    """The stream of one client; iterating yields its events until it ends.

    `ended` is set at the end. The last event says why.
    """

    def __init__(self) -> None:
        self.ended = asyncio.Event()
        self._waiting: deque[LiveEvent] = deque()
        self._more = asyncio.Event()

    def put(self, event: LiveEvent) -> None:
        """Add an event. A client that is too far behind is ended instead."""
        if self.ended.is_set():
            return
        if len(self._waiting) >= MAX_WAITING:
            self.end("too_slow")
            return
        self._waiting.append(event)
        self._more.set()

    def end(self, reason: EndReason) -> None:
        """End the stream, after it has said why. What waits is dropped."""
        if self.ended.is_set():
            return
        self._waiting.clear()
        self._waiting.append(LiveEvent("end", End(reason)))
        self._more.set()
        self.ended.set()

    async def __aiter__(self) -> AsyncIterator[LiveEvent]:
        while True:
            while self._waiting:
                yield self._waiting.popleft()
            if self.ended.is_set():
                return
            self._more.clear()
            await self._more.wait()

"""The stream of one client, a queue of events with a limit, and the streams of an account."""

import asyncio
import math
from collections import deque
from collections.abc import AsyncIterator
from functools import cached_property
from typing import Final, Literal
from uuid import UUID

import msgspec

_ENCODER: Final = msgspec.json.Encoder(decimal_format="number")

EndReason = Literal["stopping", "access_ended", "too_slow"]

MAX_WAITING: Final = 100
"""Events that may wait for a client: ten seconds of a busy account."""

_STATE_SECONDS: Final = 15.0
"""The interval at which the state is sent without new rows. Its counts go down, and nothing else
would detect a silently lost connection."""


class LiveEvent:
    """A named event and its data. All streams of an account share its encoded text."""

    def __init__(self, name: str, data: msgspec.Struct) -> None:
        self.name = name
        self.data = data

    @cached_property
    def text(self) -> bytes:
        """Return the encoded event. JSON has no line ends, so the data is one line."""
        return b"event: %b\ndata: %b\n\n" % (self.name.encode(), _ENCODER.encode(self.data))


class StreamEnd(msgspec.Struct, frozen=True):
    """Why the server ends a stream."""

    reason: EndReason


class LiveStream:
    """The stream of one client. Iteration yields its events; the last has the reason of the end."""

    def __init__(self) -> None:
        self.ended = asyncio.Event()
        self._waiting: deque[LiveEvent] = deque()
        self._more = asyncio.Event()

    def put(self, event: LiveEvent) -> None:
        """Add an event. If too many wait for the client, end the stream instead."""
        if self.ended.is_set():
            return
        if len(self._waiting) >= MAX_WAITING:
            self.end("too_slow")
            return
        self._waiting.append(event)
        self._more.set()

    def end(self, reason: EndReason) -> None:
        """Drop the waiting events, and end the stream with its reason."""
        if self.ended.is_set():
            return
        self._waiting.clear()
        self._waiting.append(LiveEvent("end", StreamEnd(reason)))
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


class AccountStreams:
    """The streams of an account.

    `is_followed`: new arrivals are sent. `state` is sent first to a new stream. It is not counted
    again before `count_at`.
    """

    def __init__(self, account_id: UUID) -> None:
        self.id = account_id
        self.streams: list[LiveStream] = []
        self.is_followed = False
        self.state: LiveEvent | None = None
        self.state_sent_at = -math.inf
        self.count_at = 0.0
        self.is_counting = False

    def needs_state(self, at: float) -> bool:
        return at >= self.count_at and at - self.state_sent_at >= _STATE_SECONDS

    def request_state(self) -> None:
        """Send the state as soon as it may be counted."""
        self.state_sent_at = -math.inf

    def send(self, event: LiveEvent) -> None:
        for stream in self.streams:
            stream.put(event)

"""What must hold for a connection whatever is sent on it, however it is cut, whenever it ends."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Sequence
from typing import Any

from tests.http.exchange_record import (
    LIMITS,
    Seen,
    Transport,
    answers_of,
    recording_application,
    render,
    turns,
)
from tracker.http.protocol import HTTPProtocol
from tracker.http.shared import Shared


@contextlib.asynccontextmanager
async def _nothing_left_behind() -> AsyncIterator[None]:
    """Fails for an exception that nobody caught, and for a task that goes on."""
    loop = asyncio.get_running_loop()
    uncaught: list[dict[str, Any]] = []
    before, handler = asyncio.all_tasks(), loop.get_exception_handler()
    loop.set_exception_handler(lambda _, context: uncaught.append(context))
    try:
        yield
        await turns(10)
    finally:
        loop.set_exception_handler(handler)
    assert not uncaught, uncaught
    assert asyncio.all_tasks() <= before


async def came_of(parts: Sequence[bytes], lost: bool = False) -> tuple[list[Seen], bool]:
    """What the handlers saw and whether the connection was kept, of `parts` that come one by one.

    With `lost` the client goes right after the last, and takes no answers.
    """
    async with _nothing_left_behind():
        application, seen = recording_application()
        protocol = HTTPProtocol(Shared(application, render, LIMITS, None))
        transport = Transport()
        protocol.connection_made(transport)
        for part in parts:
            protocol.data_received(part)
            if not lost:
                await turns()
        if not lost:
            await turns(20 + 2 * len(b"".join(parts)) // 16)
            _check(transport, seen)
        kept = not transport.ended
        protocol.connection_lost(None)
    return seen, kept


def _check(transport: Transport, seen: list[Seen]) -> None:
    """Each request has the answer that is its own; a refusal is the last, and ends."""
    methods = [one.method for one in seen]
    # A 405 is Tornado's own, for a method that no handler sees: its answer may be to HEAD's like.
    unseen = b"HTTP/1.1 405 " in transport.written
    answers = [] if unseen else answers_of(transport.written, methods)
    own = [one for one in answers if one[0] == 200]
    if not unseen:
        assert [body for _, body in own] == [
            b"" if one.method == "HEAD" else one.target.encode() for one in seen
        ]
        assert all(status in (100, 200) for status, _ in answers[:-1])
    if answers and answers[-1][0] >= 400:
        assert transport.ended

"""Invariants of a connection, whatever bytes arrive, however they are cut, whenever it ends."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Sequence

from tests.http.exchange_record import (
    LIMITS,
    Seen,
    Transport,
    answers_of,
    recording_application,
    render,
    turns,
)
from tests.uncaught import uncaught_errors
from tracker.http.connection import Connection
from tracker.http.fast_path import FastPathConnection, PlainHeadParser
from tracker.http.head import HeadReader
from tracker.http.limits import Limits
from tracker.http.server_state import ServerState

NAMES = ("user-agent", "accept", "x-request-id")
"""Headers that a fast path may read."""


def values_of(values: list[str]) -> list[str]:
    """Return the values of a header unchanged, as the header that a fast path keeps."""
    return values


class PlainFastPath:
    """A fast path that answers plain requests as the application does, at once or a turn later."""

    def __init__(self, seen: list[Seen]) -> None:
        self._heads = PlainHeadParser(NAMES, values_of)
        self._seen = seen

    def __call__(self, connection: FastPathConnection, data: bytes, start: int, end: int) -> bool:
        head = self._heads.read(data, start, end)
        # A plain head may be longer than the tests' limit of targets, unlike the service's.
        if head is None or len(head.path) + len(head.query) >= LIMITS.target_bytes:
            return False
        target = data[start:end].split(b" ", 2)[1]
        self._seen.append(Seen(head.method, target.decode(), head.host, b""))
        body = b"" if head.method == "HEAD" else target
        answer = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%b" % (len(target), body)
        if len(self._seen) % 2:
            connection.answer(answer, True)
        else:
            asyncio.get_running_loop().call_soon(connection.answer, answer, True)
        return True


def check_plain(raw: bytes) -> None:
    """Check that the parser accepts and reads alike what is read as plain, also the second time."""
    end = raw.find(b"\r\n\r\n") + 4
    heads = PlainHeadParser(NAMES, values_of)
    plain = heads.read(raw, 0, end) if end > 4 else None
    if plain is None:
        return
    assert heads.read(raw, 0, end) == plain
    head = HeadReader().read(raw, 0, end, Limits())
    method, target, version = head.start_line
    assert (plain.method, version) == (method, "HTTP/1.1")
    assert (plain.path, plain.query) == (target.partition("?")[0], target.partition("?")[2])
    assert plain.host == head.headers["Host"]
    assert plain.header == [head.headers.get(name, "") for name in NAMES]
    assert (head.body_length, head.keep_alive, head.expects_continue) == (0, True, False)


@contextlib.asynccontextmanager
async def _nothing_left_behind() -> AsyncIterator[None]:
    """Fail on an uncaught exception, and on a task that goes on."""
    before = asyncio.all_tasks()
    with uncaught_errors() as uncaught:
        yield
        await turns(10)
    assert not uncaught, uncaught
    assert asyncio.all_tasks() <= before


async def requests_seen(
    parts: Sequence[bytes], lost: bool = False, with_fast_path: bool = False
) -> tuple[list[Seen], bool]:
    """Return the requests that handlers saw, and whether the connection was kept.

    `parts` arrive one after the other. With `lost` the client goes right after the last and reads
    no answers. With `with_fast_path` plain requests take the fast path.
    """
    async with _nothing_left_behind():
        application, seen = recording_application()
        state = ServerState(
            application, render, LIMITS, PlainFastPath(seen) if with_fast_path else None
        )
        protocol = Connection(state)
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
        if not lost:
            await _check_end(state, protocol, transport)
        protocol.connection_lost(None)
    return seen, kept


def _check(transport: Transport, seen: list[Seen]) -> None:
    """Check that each request has its own answer, and that a rejection ends the connection."""
    methods = [one.method for one in seen]
    # Tornado answers 405 itself, for methods that no handler sees, perhaps without a body.
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


async def _check_end(state: ServerState, protocol: Connection, transport: Transport) -> None:
    """Check that a connection ends in time. No handler is slow, so it only waits for its client."""
    state.now += 1000
    protocol.check()
    await turns()
    assert transport.ended, "the connection hangs"

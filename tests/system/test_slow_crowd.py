"""A crowd of clients that send a byte now and then: the service sends them away, and meanwhile
answers everybody else."""

import asyncio
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import cast

import pytest

from config.settings import Settings
from tests.factories import create_link
from tests.open_files import room_for
from tests.system.hurried import LINGER_SECONDS, SECONDS
from tests.system.service import Service, environment, running
from tracker.ids import new_id
from tracker.service.services import Services

CROWD = 2000
EVERY = 0.25
LATE = 4.0
"""Seconds by which a busy machine may be late."""

MOST_SECONDS = (SECONDS + LINGER_SECONDS) * 1.5
"""For which a client is kept: the server looks every quarter of the shortest time."""

HEAD = b"GET /c/known HTTP/1.1\r\nHost: localhost\r\n"
POST = b"POST /api/event HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5000\r\n\r\n"
FEW = 20
"""Files that the service opens for itself: more connections to its stores."""

SILENT = (b"", b"")
MANNERS = (SILENT, (b"", HEAD), (HEAD, b"X-Slow: "), (POST, b"{"), (b"G", b""))
"""What a client sends at first, and then goes on with: byte by byte, the last again and again."""


class SlowClient(asyncio.Protocol):
    """Every other one of those that go on does so when it is asked to go. `ended` is how many
    seconds after it came it was cut."""

    def __init__(self, number: int) -> None:
        first, self._next = MANNERS[number % len(MANNERS)]
        self._first = first
        self._stays = number % 2 == 0 and bool(self._next)
        self._began = time.monotonic()
        self._transport: asyncio.Transport | None = None
        self.came = b""
        self.ended: asyncio.Future[float] = asyncio.get_running_loop().create_future()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        # Those of uvloop are one without being declared so.
        self._transport = cast(asyncio.Transport, transport)
        self._transport.write(self._first)

    def data_received(self, data: bytes) -> None:
        self.came += data

    def eof_received(self) -> bool:
        return self._stays

    def connection_lost(self, error: Exception | None) -> None:
        self._transport = None
        if not self.ended.done():
            self.ended.set_result(time.monotonic() - self._began)

    def send(self) -> None:
        """One byte."""
        if self._transport is not None and self._next:
            self._transport.write(self._next[:1])
            self._next = self._next[1:] or self._next

    def cut(self) -> None:
        if self._transport is not None:
            self._transport.abort()


@pytest.fixture
def hurried(settings: Settings) -> Iterator[Service]:
    with (
        room_for(CROWD + 500),
        running(environment(settings), program=("-m", "tests.system.hurried")) as process,
    ):
        yield process


async def test_a_slow_crowd_is_sent_away_and_keeps_nobody_else_waiting(
    services: Services, hurried: Service
) -> None:
    await create_link(services, new_id(), "known")
    files = open_files(hurried)
    async with slow_crowd(hurried) as crowd:
        waits = await asyncio.to_thread(ordinary, hurried, time.monotonic() + SECONDS)
        async with asyncio.timeout(MOST_SECONDS + LATE):
            lasted = await asyncio.gather(*(client.ended for client in crowd))
    assert max(waits) < LATE
    assert min(lasted) >= SECONDS * 0.9
    assert max(lasted) < MOST_SECONDS + LATE
    check_answers(crowd)
    await until_files(hurried, files + FEW)


@asynccontextmanager
async def slow_crowd(service: Service) -> AsyncIterator[list[SlowClient]]:
    loop = asyncio.get_running_loop()
    crowd: list[SlowClient] = []

    def another() -> SlowClient:
        crowd.append(SlowClient(len(crowd)))
        return crowd[-1]

    sending = loop.create_task(keep_sending(crowd))
    try:
        for _ in range(CROWD):
            await loop.create_connection(another, "127.0.0.1", service.port)
        yield crowd
    finally:
        sending.cancel()
        for client in crowd:
            client.cut()


async def keep_sending(crowd: list[SlowClient]) -> None:
    while True:
        await asyncio.sleep(EVERY)
        for client in crowd:
            client.send()


def ordinary(service: Service, until: float) -> list[float]:
    """How many seconds each of some requests took that all were answered well."""
    waits = []
    with service.client() as kept:
        while time.monotonic() < until:
            began = time.monotonic()
            assert kept("GET", "/c/known").status == 302
            assert service.get("/healthz").status == 200
            waits.append(time.monotonic() - began)
            time.sleep(0.02)
    return waits


def check_answers(crowd: list[SlowClient]) -> None:
    """Those that began are told."""
    for number, client in enumerate(crowd):
        told = client.came.startswith(b"HTTP/1.1 408 ")
        assert told if MANNERS[number % len(MANNERS)] != SILENT else client.came == b""


def open_files(service: Service) -> int:
    return len(list(Path(f"/proc/{service.process.pid}/fd").iterdir()))


async def until_files(service: Service, most: int) -> None:
    """None of the crowd's connections is left. Raises TimeoutError."""
    async with asyncio.timeout(LATE):
        while open_files(service) > most:
            await asyncio.sleep(0.05)

"""Many slow clients, which send a byte now and then: the service disconnects them, and answers
everybody else in time."""

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
from tests.system.impatient import HEAD_AND_BODY_SECONDS
from tests.system.service import Service, environment, running
from tests.waiting import PATIENCE_SECONDS, eventually
from tracker.ids import new_id
from tracker.service.services import Services

CROWD = 2000
BYTE_INTERVAL_SECONDS = 0.25

HEAD = b"GET /c/known HTTP/1.1\r\nHost: localhost\r\n"
POST = b"POST /api/event HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5000\r\n\r\n"
OWN_FILES = 20
"""Files that the service opens meanwhile for itself: connections to its stores."""

SILENT = (b"", b"")
MANNERS = (SILENT, (HEAD[:1], HEAD[1:]), (HEAD, b"X-Slow: "), (POST, b"{"), (b"G", b""))
"""The bytes that a client sends at once, and those that follow one by one, the last repeatedly."""


class SlowClient(asyncio.Protocol):
    """A slow client. Every other one keeps sending after the server has closed its side.

    `ended` is the time from its connection to its end, in seconds.
    """

    def __init__(self, number: int) -> None:
        first, self._next = MANNERS[number % len(MANNERS)]
        self._first = first
        self._stays = number % 2 == 0 and bool(self._next)
        self._began = time.monotonic()
        self._transport: asyncio.Transport | None = None
        self.received = b""
        self.ended: asyncio.Future[float] = asyncio.get_running_loop().create_future()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        # uvloop's transports are not declared as asyncio.Transport.
        self._transport = cast(asyncio.Transport, transport)
        self._transport.write(self._first)

    def data_received(self, data: bytes) -> None:
        self.received += data

    def eof_received(self) -> bool:
        return self._stays

    def connection_lost(self, error: Exception | None) -> None:
        self._transport = None
        if not self.ended.done():
            self.ended.set_result(time.monotonic() - self._began)

    def send(self) -> None:
        """Send the next byte."""
        if self._transport is not None and self._next:
            self._transport.write(self._next[:1])
            self._next = self._next[1:] or self._next

    def cut(self) -> None:
        if self._transport is not None:
            self._transport.abort()


@pytest.fixture
def impatient(settings: Settings) -> Iterator[Service]:
    with (
        room_for(CROWD + 500),
        running(environment(settings), program=("-m", "tests.system.impatient")) as process,
    ):
        yield process


async def test_a_crowd_of_slow_clients_is_disconnected_and_delays_nobody_else(
    services: Services, impatient: Service
) -> None:
    await create_link(services, new_id(), "known")
    files = open_files(impatient)
    async with slow_crowd(impatient) as crowd:
        await asyncio.to_thread(ordinary, impatient, time.monotonic() + HEAD_AND_BODY_SECONDS)
        async with asyncio.timeout(PATIENCE_SECONDS):
            lasted = await asyncio.gather(*(client.ended for client in crowd))
    assert min(lasted) >= HEAD_AND_BODY_SECONDS * 0.9
    check_answers(crowd)
    await until_files(impatient, files + OWN_FILES)


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
        await asyncio.sleep(BYTE_INTERVAL_SECONDS)
        for client in crowd:
            client.send()


def ordinary(service: Service, until: float) -> None:
    """Send requests as an ordinary client `until` then; all are answered."""
    with service.client() as kept:
        while time.monotonic() < until:
            assert kept("GET", "/c/known").status == 302
            assert service.get("/healthz").status == 200
            time.sleep(0.02)


def check_answers(crowd: list[SlowClient]) -> None:
    """Check that every client that began a request got a 408."""
    for number, client in enumerate(crowd):
        rejected = client.received.startswith(b"HTTP/1.1 408 ")
        assert rejected if MANNERS[number % len(MANNERS)] != SILENT else client.received == b""


def open_files(service: Service) -> int:
    return len(list(Path(f"/proc/{service.process.pid}/fd").iterdir()))


async def until_files(service: Service, limit: int) -> None:
    """Wait until none of the crowd's connections is left. Raises TimeoutError if some stay."""
    await eventually(lambda: open_files(service) <= limit)

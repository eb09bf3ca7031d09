"""The load client: keep-alive connections, one request under way on each, latencies in an array.

Where wrk is not, it takes its place: a request costs it a small part of what it costs the service.
It also does what wrk cannot: look into the answers. Unlike wrk it has to be given the processor in
time: requests of a `Paced` load are sent up to a millisecond late.
"""

import asyncio
import re
import ssl
import time
from array import array
from collections import Counter, deque
from collections.abc import Sequence
from contextlib import suppress
from itertools import cycle
from typing import Any, Final, Protocol

from lab.load.outcome import Outcome, outcome
from lab.load.schedule import Schedule

ANSWER_SECONDS: Final = 10.0
"""How long the last answers are waited for."""

OPEN_SECONDS: Final = 10.0
_TICK: Final = 0.001
_REOPEN: Final = 0.1
_LENGTH: Final = re.compile(rb"\r\ncontent-length: *(\d+)", re.IGNORECASE)
_END: Final = b"\r\n\r\n"


class Traffic(Protocol):
    """What is sent, and what is thought of the answers."""

    def next(self) -> bytes:
        """A whole request."""

    def is_expected(self, request: bytes, answer: bytes) -> bool:
        """`answer` is whole, from the status line to the end of the body."""


class Load:
    """Answers on `connections` to 127.0.0.1, which come from `sources` in turn (addresses of this
    machine). A load runs once."""

    def __init__(
        self,
        port: int,
        traffic: Traffic,
        connections: int,
        sources: Sequence[str] = (),
        tls: ssl.SSLContext | None = None,
    ) -> None:
        self._port = port
        self._traffic = traffic
        self._count = connections
        self._sources = cycle([(source, 0) for source in sources] or [None])
        self._tls = tls
        self._schedule: Schedule
        self._idle: deque[_Connection] = deque()
        self._open: set[_Connection] = set()
        self._reopening: set[asyncio.Task[None]] = set()
        self._ending = False
        self.latencies = array("d")
        self.errors: Counter[str] = Counter()
        self._under_way = 0
        self._all_answered = asyncio.Event()
        self._all_lost = asyncio.Event()

    async def run(self, schedule: Schedule) -> Outcome:
        """Until the schedule is over and every request has its answer, or ANSWER_SECONDS later.

        Raises OSError or TimeoutError if the service cannot be reached at the start.
        """
        self._schedule = schedule
        async with asyncio.timeout(OPEN_SECONDS):
            await asyncio.gather(*(self._connect() for _ in range(self._count)))
        began = time.perf_counter()
        try:
            while not schedule.is_over(time.perf_counter()):
                self._feed()
                await asyncio.sleep(_TICK)
            await self._last_answers()
        finally:
            seconds = time.perf_counter() - began
            if schedule.unsent:
                self.errors["not sent in time"] += schedule.unsent
            await self._close()
        return outcome(self.latencies, seconds, dict(self.errors))

    def connected(self, connection: "_Connection") -> None:
        self._open.add(connection)
        self._idle.append(connection)

    def answered(
        self, connection: "_Connection", request: bytes, since: float, answer: bytes
    ) -> None:
        now = time.perf_counter()
        self._end_one()
        if self._traffic.is_expected(request, answer):
            self.latencies.append(now - since)
        else:
            self.errors[f"status {answer[9:12].decode('latin-1')}"] += 1
        if not self._send(connection, now):
            self._idle.append(connection)

    def lost(self, connection: "_Connection", is_under_way: bool) -> None:
        self._open.discard(connection)
        if not self._open:
            self._all_lost.set()
        if is_under_way:
            self._end_one()
            self.errors["not answered" if self._ending else "cut off"] += 1
        else:
            self._idle.remove(connection)
        if not self._ending:
            task = asyncio.get_running_loop().create_task(self._connect_again())
            self._reopening.add(task)
            task.add_done_callback(self._reopening.discard)

    def _feed(self) -> None:
        now = time.perf_counter()
        while self._idle and self._send(self._idle[0], now):
            self._idle.popleft()

    def _send(self, connection: "_Connection", now: float) -> bool:
        """Whether a request was due."""
        since = self._schedule.due(now)
        if since is None:
            return False
        self._under_way += 1
        connection.send(self._traffic.next(), since)
        return True

    async def _connect(self) -> None:
        await asyncio.get_running_loop().create_connection(
            lambda: _Connection(self),
            "127.0.0.1",
            self._port,
            local_addr=next(self._sources),
            ssl=self._tls,
        )

    async def _connect_again(self) -> None:
        while not self._ending:
            await asyncio.sleep(_REOPEN)
            try:
                await self._connect()
                break
            except OSError:
                self.errors["refused"] += 1

    async def _last_answers(self) -> None:
        if self._under_way:
            self._all_answered.clear()
            with suppress(TimeoutError):
                async with asyncio.timeout(ANSWER_SECONDS):
                    await self._all_answered.wait()

    def _end_one(self) -> None:
        self._under_way -= 1
        if not self._under_way:
            self._all_answered.set()

    async def _close(self) -> None:
        self._ending = True
        for task in self._reopening:
            task.cancel()
        for connection in tuple(self._open):
            connection.abort()
        if self._open:
            self._all_lost.clear()
            await self._all_lost.wait()


class _Connection(asyncio.Protocol):
    def __init__(self, load: Load) -> None:
        self._load = load
        self._transport: Any = None
        self._request: bytes | None = None
        self._since = 0.0
        self._received = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport
        self._load.connected(self)

    def send(self, request: bytes, since: float) -> None:
        self._request, self._since = request, since
        self._transport.write(request)

    def data_received(self, data: bytes) -> None:
        received = self._received + data if self._received else data
        whole = _whole(received)
        if whole is None or len(received) < whole:
            self._received = received
            return
        if self._request is None or len(received) > whole:
            self._load.errors["answer to no request"] += 1
            self.abort()
            return
        self._received = b""
        request, self._request = self._request, None
        self._load.answered(self, request, self._since, received)

    def connection_lost(self, error: Exception | None) -> None:
        self._load.lost(self, self._request is not None)

    def abort(self) -> None:
        self._transport.abort()


def _whole(received: bytes) -> int | None:
    """How many bytes the answer has that begins with `received`; None: not known yet."""
    end = received.find(_END)
    if end < 0:
        return None
    length = _LENGTH.search(received, 0, end + 2)
    return end + len(_END) + (int(length[1]) if length else 0)

"""The load client: keep-alive connections with one request in flight each, and their latencies."""

import asyncio
import ssl
import time
from array import array
from collections import Counter, deque
from collections.abc import Sequence
from contextlib import suppress
from itertools import cycle
from typing import Any, Final, Protocol

import msgspec

from lab.requests import message_length

NOT_SENT: Final = "not sent in time"
"""The kind of error of requests that a schedule could not send."""

ANSWER_SECONDS: Final = 10.0
"""The longest wait for the last answers of a load."""

OPEN_SECONDS: Final = 10.0
CONNECTIONS: Final = 64
_TICK_SECONDS: Final = 0.001
_REOPEN_SECONDS: Final = 0.1


class Traffic(Protocol):
    """A source of requests, which says whether their answers are right."""

    def next(self) -> bytes:
        """Return the next request, whole."""

    def is_expected(self, request: bytes, answer: bytes) -> bool:
        """Return whether `answer`, from its status line to the end of its body, is right."""

    def cut(self, request: bytes) -> None:
        """Note that `request` was sent and will have no answer."""
        return


class Schedule(Protocol):
    """The times at which requests are due; the caller passes the time."""

    def due(self, now: float) -> float | None:
        """Take the next request and return when it was due; None if it is not yet due."""

    def is_over(self, now: float) -> bool:
        """Return whether no further request will be due."""

    @property
    def unsent(self) -> int:
        """Return the number of requests that were not taken in time."""


class Outcome(msgspec.Struct, kw_only=True):
    """The expected answers of one load, their latencies in seconds, and its errors by kind."""

    requests: int
    seconds: float
    p50: float
    p99: float
    errors: dict[str, int]

    @property
    def rate(self) -> float:
        return self.requests / self.seconds if self.seconds else 0.0

    @property
    def unsent(self) -> int:
        return self.errors.get(NOT_SENT, 0)


class Load:
    """A load on one port that runs once; its connections come in turn from `sources`."""

    def __init__(
        self,
        port: int,
        traffic: Traffic,
        connections: int = CONNECTIONS,
        sources: Sequence[str] = (),
        tls: ssl.SSLContext | None = None,
        answer_seconds: float | None = None,
    ) -> None:
        self._port = port
        self._traffic = traffic
        self._count = connections
        self._sources = cycle([(source, 0) for source in sources] or [None])
        self._tls = tls
        self._answer_seconds = answer_seconds or ANSWER_SECONDS
        self._schedule: Schedule
        self._idle: deque[_Connection] = deque()
        self._open: set[_Connection] = set()
        self._reopening: set[asyncio.Task[None]] = set()
        self._ending = False
        self.latencies = array("d")
        self.errors: Counter[str] = Counter()
        self._in_flight = 0
        self._all_answered = asyncio.Event()
        self._all_lost = asyncio.Event()

    async def run(self, schedule: Schedule) -> Outcome:
        """Send until the schedule is over, wait for the last answers, and return the outcome."""
        self._schedule = schedule
        async with asyncio.timeout(OPEN_SECONDS):
            await asyncio.gather(*(self._connect() for _ in range(self._count)))
        began = time.perf_counter()
        try:
            while not schedule.is_over(time.perf_counter()):
                self._feed()
                await asyncio.sleep(_TICK_SECONDS)
            await self._last_answers()
        finally:
            seconds = time.perf_counter() - began
            if schedule.unsent:
                self.errors[NOT_SENT] += schedule.unsent
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

    def lost(self, connection: "_Connection", request: bytes | None) -> None:
        """Count a connection's end, with the request in flight on it, and open another one."""
        self._open.discard(connection)
        if not self._open:
            self._all_lost.set()
        if request is not None:
            self._end_one()
            self._traffic.cut(request)
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
        since = self._schedule.due(now)
        if since is None:
            return False
        self._in_flight += 1
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
            await asyncio.sleep(_REOPEN_SECONDS)
            try:
                await self._connect()
                break
            except OSError:
                self.errors["refused"] += 1

    async def _last_answers(self) -> None:
        if self._in_flight:
            self._all_answered.clear()
            with suppress(TimeoutError):
                async with asyncio.timeout(self._answer_seconds):
                    await self._all_answered.wait()

    def _end_one(self) -> None:
        self._in_flight -= 1
        if not self._in_flight:
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
    """A keep-alive connection of a load."""

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
        whole = message_length(received)
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
        self._load.lost(self, self._request)

    def abort(self) -> None:
        self._transport.abort()


def outcome(latencies: "array[float]", seconds: float, errors: dict[str, int]) -> Outcome:
    ordered = sorted(latencies)
    return Outcome(
        requests=len(ordered),
        seconds=seconds,
        p50=percentile(ordered, 0.5),
        p99=percentile(ordered, 0.99),
        errors=errors,
    )


def percentile(ordered: Sequence[float], part: float) -> float:
    """Return the least figure that `part` of `ordered` does not exceed; 0.0 if it is empty."""
    if not ordered:
        return 0.0
    rank = -int(-part * len(ordered) // 1)
    return ordered[max(0, rank - 1)]

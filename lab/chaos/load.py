"""The clients: bounded in number and rate, and never sending a request twice.

A connection that breaks is opened anew; what was under way on it is written down as cut.
"""

import asyncio
import re
import time
from typing import Any, Final, NamedTuple

import orjson

from lab.chaos.ledger import Ledger, Wait
from lab.chaos.requests import Request, Requests
from lab.chaos.scene import Scene
from lab.load.answers import click_id_of

CONNECTIONS: Final = 32
ANSWER_SECONDS: Final = 60.0
_PAUSE: Final = 0.1
_BEHIND: Final = 0.5
"""Seconds by which the load may run behind its rate and make up for it."""

_LENGTH: Final = re.compile(rb"\r\ncontent-length: (\d+)", re.IGNORECASE)
_LOST: Final = (OSError, EOFError)


class Refused(Exception):
    """The service does not listen, so nothing was sent."""


class Answer(NamedTuple):
    status: int
    head: bytes
    body: bytes


class Connection:
    """One that is kept open, and opened when there is something to send."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def send(self, data: bytes) -> Answer:
        """Raises Refused, or one of _LOST if there is no whole answer."""
        if self._streams is None or self._streams[0].at_eof():
            await self._open()
        assert self._streams is not None
        reader, writer = self._streams
        try:
            async with asyncio.timeout(ANSWER_SECONDS):
                writer.write(data)
                return await _answer(reader)
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        if self._streams is not None:
            self._streams[1].close()
            self._streams = None

    async def _open(self) -> None:
        self.close()
        try:
            self._streams = await asyncio.open_connection("127.0.0.1", self._port)
        except OSError:
            raise Refused from None


async def _answer(reader: asyncio.StreamReader) -> Answer:
    head = await reader.readuntil(b"\r\n\r\n")
    length = _LENGTH.search(head)
    body = await reader.readexactly(int(length[1])) if length else b""
    return Answer(int(head[9:12]), head, body)


class Load:
    """`rate` is requests a second, if the service lets it."""

    def __init__(self, scene: Scene, port: int, ledger: Ledger, seed: int, rate: float) -> None:
        self._port = port
        self._ledger = ledger
        self._requests = Requests(scene, seed, ledger.newest)
        self._rate = rate
        self._queue: asyncio.Queue[Request | None] = asyncio.Queue(CONNECTIONS)

    async def run(self, stop: asyncio.Event) -> None:
        """Until `stop` is set and every request is answered or cut."""
        async with asyncio.TaskGroup() as group:
            for _ in range(CONNECTIONS):
                group.create_task(self._client())
            await self._produce(stop)
            for _ in range(CONNECTIONS):
                await self._queue.put(None)

    async def _produce(self, stop: asyncio.Event) -> None:
        due = time.monotonic()
        while not stop.is_set():
            for request in self._requests.next():
                await self._queue.put(request)
                due += 1 / self._rate
            now = time.monotonic()
            due = max(due, now - _BEHIND)
            await asyncio.sleep(max(0.0, due - now))

    async def _client(self) -> None:
        connection = Connection(self._port)
        try:
            while (request := await self._queue.get()) is not None:
                await self._send(connection, request)
        finally:
            connection.close()

    async def _send(self, connection: Connection, request: Request) -> None:
        began = time.monotonic()
        try:
            answer = await connection.send(request.data)
        except Refused:
            self._ledger.refused += 1
            await asyncio.sleep(_PAUSE)
        except _LOST:
            self._ledger.cut.add(request.number)
        else:
            self._ledger.waits.append(Wait(began, time.monotonic() - began))
            self._write_down(request, answer)

    def _write_down(self, request: Request, answer: Answer) -> None:
        if request.is_click and answer.status == 302 and (click_id := click_id_of(answer.head)):
            self._ledger.click(request, click_id)
        elif not request.is_click and answer.status == 200:
            event: dict[str, Any] = orjson.loads(answer.body)
            self._ledger.event(request, event["eventId"], event["clickStatus"])
        else:
            self._ledger.other(request, answer.status)

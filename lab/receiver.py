"""The receiver of webhooks: reads each request whole and has it answered as a run needs it."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from typing import Any, Final, NamedTuple

from lab.requests import message_length

ACCEPTED: Final = b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
BUSY: Final = b"HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
GONE: Final = b"HTTP/1.1 410 Gone\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"


class Message(NamedTuple):
    """A webhook request; the names of `headers` are in lower case."""

    path: str
    headers: dict[str, str]
    body: bytes


Respond = Callable[[Message, asyncio.WriteTransport], Awaitable[None]]
"""Answers a message; the connection is closed when it returns."""

# uvloop raises RuntimeError for writing to a connection that is closed.
_CLOSED_ERRORS: Final = (OSError, RuntimeError)


@asynccontextmanager
async def receiving(
    respond: Respond, hosts: Sequence[str] = ("127.0.0.1",), port: int = 0
) -> AsyncIterator[str]:
    """Listen on `hosts` and yield the URL of the first. Several hosts need a `port`."""
    responding: set[asyncio.Task[None]] = set()
    loop = asyncio.get_running_loop()
    server = await loop.create_server(lambda: _Connection(respond, responding), hosts, port)
    try:
        yield f"http://{hosts[0]}:{server.sockets[0].getsockname()[1]}"
    finally:
        server.close()
        for task in tuple(responding):
            task.cancel()


def answering(answer: bytes) -> Respond:

    async def respond(message: Message, transport: asyncio.WriteTransport) -> None:
        transport.write(answer)

    return respond


class _Connection(asyncio.Protocol):
    """One request on one connection."""

    def __init__(self, respond: Respond, responding: set[asyncio.Task[None]]) -> None:
        self._respond = respond
        self._responding = responding
        self._transport: Any = None
        self._received = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        self._received += data
        length = message_length(self._received)
        if length is not None and len(self._received) >= length:
            task = asyncio.get_running_loop().create_task(self._answer(_message(self._received)))
            self._responding.add(task)
            task.add_done_callback(self._responding.discard)

    async def _answer(self, message: Message) -> None:
        try:
            with suppress(*_CLOSED_ERRORS):
                await self._respond(message, self._transport)
        finally:
            self._transport.close()


def _message(received: bytes) -> Message:
    head, _, body = received.partition(b"\r\n\r\n")
    first, *lines = head.decode("latin-1").split("\r\n")
    fields = (line.partition(":") for line in lines)
    headers = {name.lower(): value.strip() for name, _, value in fields}
    return Message(first.split(" ")[1], headers, body)

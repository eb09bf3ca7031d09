"""A client of `/api/live`, and the loop of a process that tells it."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any

import orjson

from tests.waiting import PATIENCE_SECONDS
from tracker.loops import cancel_and_wait
from tracker.service.services import Services


class Watcher:
    """The reader of one stream."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    async def head(self) -> bytes:
        """Return the head of the answer."""
        return await asyncio.wait_for(self._reader.readuntil(b"\r\n\r\n"), PATIENCE_SECONDS)

    async def next(self, name: str) -> Any:
        """Return the data of the next event of this name."""
        async with asyncio.timeout(PATIENCE_SECONDS):
            while True:
                text = await self._reader.readuntil(b"\n\n")
                lines = text.decode().strip().split("\n")
                if lines[0] == f"event: {name}":
                    return orjson.loads(lines[1].removeprefix("data: "))

    async def rest(self) -> bytes:
        """Return what comes until the connection ends."""
        return await asyncio.wait_for(self._reader.read(), PATIENCE_SECONDS)


@asynccontextmanager
async def guarded(services: Services) -> AsyncIterator[None]:
    """Run the loop that ends answers with the access that opened them."""
    loop = asyncio.create_task(services.access.open_answers.guard())
    try:
        yield
    finally:
        await cancel_and_wait(loop)


@asynccontextmanager
async def telling(services: Services) -> AsyncIterator[None]:
    """Run the loop that tells streams what lands."""
    loop = asyncio.create_task(services.live.live.tick())
    try:
        yield
    finally:
        await cancel_and_wait(loop)


@asynccontextmanager
async def connected(port: int, account_id: object, *fields: str) -> AsyncIterator[Watcher]:
    """Yield the reader of a stream. HTTP/1.0 has no chunks, which makes events easy to read."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    lines = [
        f"GET /api/live?accountId={account_id} HTTP/1.0",
        "Host: tracker.test",
        *fields,
    ]
    writer.write("\r\n".join([*lines, "", ""]).encode())
    try:
        yield Watcher(reader, writer)
    finally:
        writer.close()


@asynccontextmanager
async def begun(stream: AbstractAsyncContextManager[Watcher]) -> AsyncIterator[Watcher]:
    """Yield the reader of a stream that has begun: what lands from now on is told."""
    async with stream as watcher:
        head = await watcher.head()
        assert b" 200 " in head, head
        await watcher.next("state")
        yield watcher

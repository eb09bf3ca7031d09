"""A small HTTP server for tests of clients; each test decides its answers."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from uuid import UUID

CLICK_ID = UUID(int=7)
REDIRECT = (
    "HTTP/1.1 302 Found\r\nContent-Length: 0\r\n"
    f"Location: https://shop.test/?a=1&click_id={CLICK_ID}\r\n\r\n"
).encode()
BUSY = b"HTTP/1.1 503 Service Unavailable\r\nContent-Length: 2\r\n\r\n{}"

Answer = Callable[[bytes, asyncio.StreamWriter], Awaitable[None]]


@asynccontextmanager
async def answering(answer: Answer) -> AsyncIterator[int]:
    """Yield the port of a server. `answer` gets the head of each request."""

    serving: set[asyncio.Task[None] | None] = set()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        serving.add(asyncio.current_task())
        try:
            while head := await reader.readuntil(b"\r\n\r\n"):
                if head.startswith(b"POST"):
                    length = head.rpartition(b"Content-Length: ")[2].partition(b"\r\n")[0]
                    await reader.readexactly(int(length))
                await answer(head, writer)
        except (EOFError, OSError):
            return
        finally:
            writer.transport.abort()

    listener = await asyncio.start_server(serve, "127.0.0.1", 0)
    try:
        yield listener.sockets[0].getsockname()[1]
    finally:
        listener.close()
        await asyncio.gather(*(task for task in serving if task is not None))

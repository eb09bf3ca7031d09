"""Receivers of webhooks that do harm, on this machine."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from typing import Final

# uvloop raises RuntimeError for writing to a connection that is closed.
_ENDS: Final = (OSError, RuntimeError, asyncio.IncompleteReadError, asyncio.CancelledError)

Answer = Callable[[asyncio.StreamWriter], Awaitable[None]]


def trickling() -> AbstractAsyncContextManager[str]:
    """Answer each request with chunks of one byte, without end; yield the URL."""
    return _receiving(_trickle)


def gone() -> AbstractAsyncContextManager[str]:
    """Answer each request with 410; yield the URL."""
    return _receiving(_refuse)


async def _trickle(writer: asyncio.StreamWriter) -> None:
    writer.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
    while not writer.transport.is_closing():
        for _ in range(100):
            writer.write(b"1\r\nx\r\n")
            await asyncio.sleep(0)
        await writer.drain()


async def _refuse(writer: asyncio.StreamWriter) -> None:
    writer.write(b"HTTP/1.1 410 Gone\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
    await writer.drain()


@contextlib.asynccontextmanager
async def _receiving(answer: Answer) -> AsyncIterator[str]:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(*_ENDS):
            await reader.readuntil(b"\r\n\r\n")
            await answer(writer)
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    try:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/hook"
    finally:
        server.close()

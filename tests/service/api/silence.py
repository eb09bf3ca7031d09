"""Stores that do not answer."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

DEAD = "127.0.0.1:1"


@asynccontextmanager
async def silence() -> AsyncIterator[str]:
    """Yield the address of a server that accepts connections and never answers."""
    stop = asyncio.Event()

    async def wait(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await stop.wait()
        writer.close()

    server = await asyncio.start_server(wait, "127.0.0.1", 0)
    try:
        yield f"127.0.0.1:{server.sockets[0].getsockname()[1]}"
    finally:
        stop.set()
        server.close()
        await server.wait_closed()

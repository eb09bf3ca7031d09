"""A relay to a real server. A test may cut it at a message, before or after that arrives."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from urllib.parse import unquote, urlsplit


class Relay:
    """A relay that passes on received bytes, in pieces of at most one message, until it is cut."""

    def __init__(self, target: int | str) -> None:
        self._target = target
        self._mark: bytes | None = None
        self._arrives = False
        self._times: int | None = None
        self._writers: set[asyncio.StreamWriter] = set()
        self._is_cut = False
        self.was_cut = asyncio.Event()
        self._answering = asyncio.Event()
        self._answering.set()
        self.holds = asyncio.Event()
        self.port = 0

    def cut_at(self, mark: bytes, arrives: bool, times: int | None = None) -> None:
        """Cut the relay at the next message with `mark` in it, whose answer is lost.

        `arrives` decides whether the server gets the message. Afterwards connections are refused.
        With `times`, that many messages are cut, and connections are accepted.
        """
        self._mark, self._arrives, self._times = mark, arrives, times

    def mend(self) -> None:
        self._mark, self._is_cut = None, False

    def lead_to(self, target: int) -> None:
        """Lead new connections to this port, as when a name changes; existing ones stay."""
        self._target = target

    def hold_answers(self) -> None:
        """Pass on requests, but no answers until `answer_again`; `holds` is set by the first."""
        self._answering.clear()
        self.holds.clear()

    def answer_again(self) -> None:
        self._answering.set()

    async def accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self._is_cut:
            writer.close()
            return
        server, to_server = await _connection(self._target)
        self._writers |= {writer, to_server}
        answers = asyncio.create_task(self._answers(server, writer))
        try:
            while message := await reader.read(1 << 20):
                if self._mark is not None and self._mark in message:
                    await self._cut(message, to_server, answers)
                    return
                to_server.write(message)
        except OSError:
            pass
        finally:
            answers.cancel()
            self._close({writer, to_server})

    def close(self) -> None:
        self._close(set(self._writers))

    async def _answers(self, server: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while answer := await server.read(1 << 20):
                self.holds.set()
                await self._answering.wait()
                writer.write(answer)
        except OSError:
            pass
        finally:
            writer.close()

    async def _cut(
        self, message: bytes, to_server: asyncio.StreamWriter, answers: asyncio.Task[None]
    ) -> None:
        answers.cancel()
        if self._times is None:
            self._is_cut = True
        else:
            self._times -= 1
            self._mark = self._mark if self._times else None
        if self._arrives:
            to_server.write(message)
            await to_server.drain()
        if self._is_cut:
            self.close()
        self.was_cut.set()

    def _close(self, writers: set[asyncio.StreamWriter]) -> None:
        for writer in writers:
            writer.close()
        self._writers -= writers


async def _connection(target: int | str) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    if isinstance(target, int):
        return await asyncio.open_connection("127.0.0.1", target)
    parts = urlsplit(target)
    path = unquote(parts.path if parts.scheme == "unix" else parts.netloc)
    if path.startswith("/"):
        return await asyncio.open_unix_connection(path)
    return await asyncio.open_connection(parts.hostname, parts.port)


@asynccontextmanager
async def relay(target: int | str) -> AsyncIterator[Relay]:
    """Yield a relay to a port of this machine, or to the store with an address."""
    way = Relay(target)
    server = await asyncio.start_server(way.accept, "127.0.0.1", 0)
    way.port = server.sockets[0].getsockname()[1]
    try:
        yield way
    finally:
        server.close()
        way.close()

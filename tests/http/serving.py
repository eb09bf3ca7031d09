"""A server on a free port, and a client that sends raw bytes."""

import asyncio
import re
import socket
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, NamedTuple

from tornado.netutil import bind_sockets
from tornado.web import Application, RequestHandler

from tests.http.exchange_record import render
from tests.waiting import PATIENCE_SECONDS
from tracker.http.fast_path import FastPath
from tracker.http.limits import Admission, Limits
from tracker.http.server import Server


def application(*handlers: tuple[str, type[RequestHandler]], **settings: Any) -> Application:
    return Application(list(handlers), log_function=lambda handler: None, **settings)


@asynccontextmanager
async def serving(
    served: Application,
    limits: Limits | None = None,
    fast_path: FastPath | None = None,
    tls: ssl.SSLContext | None = None,
    admission: Admission | None = None,
) -> AsyncIterator[tuple[Server, int]]:
    """Run a server, and yield it with its port."""
    sockets = bind_sockets(0, "127.0.0.1")
    server = Server(served, render, limits, fast_path, admission=admission)
    await server.listen(sockets, tls)
    try:
        yield server, sockets[0].getsockname()[1]
    finally:
        server.stop()
        await server.finish(0, 0)


class Answer(NamedTuple):
    """An answer: `lines` are those of the head, status line first; `body` has no framing."""

    status: int
    lines: list[str]
    body: bytes

    def all_of(self, name: str) -> list[str]:
        fields = (line.partition(": ") for line in self.lines[1:])
        return [value for key, _, value in fields if key == name]


class Client:
    """A client with one connection. Reads do not wait for ever."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self.writer = writer

    def send(self, raw: bytes) -> None:
        self.writer.write(raw)

    async def answer(self, head_only: bool = False) -> Answer:
        """Return the next answer. Raises IncompleteReadError if the connection ends before it."""
        async with asyncio.timeout(PATIENCE_SECONDS):
            head = (await self._reader.readuntil(b"\r\n\r\n"))[:-4].decode("latin-1")
            answer = Answer(int(head[9:12]), head.split("\r\n"), b"")
            if head_only or answer.status in (204, 304) or answer.status < 200:
                return answer
            return answer._replace(body=await self._body(answer))

    async def _body(self, answer: Answer) -> bytes:
        if answer.all_of("Transfer-Encoding") == ["chunked"]:
            return await self._chunks()
        if lengths := answer.all_of("Content-Length"):
            return await self._reader.readexactly(int(lengths[0]))
        return await self._reader.read()

    async def _chunks(self) -> bytes:
        body = b""
        while size := int(await self._reader.readuntil(b"\r\n"), 16):
            body += await self._reader.readexactly(size)
            assert await self._reader.readexactly(2) == b"\r\n"
        assert await self._reader.readexactly(2) == b"\r\n"
        return body

    async def read(self, count: int) -> bytes:
        async with asyncio.timeout(PATIENCE_SECONDS):
            return await self._reader.readexactly(count)

    async def rest(self) -> bytes:
        """Return the bytes until the server ends the connection."""
        async with asyncio.timeout(PATIENCE_SECONDS):
            try:
                return await self._reader.read()
            except ConnectionResetError:
                return b""

    def cut(self) -> None:
        """Cut the connection."""
        self.writer.transport.abort()


@asynccontextmanager
async def client_of(
    port: int, tls: ssl.SSLContext | None = None, receive_bytes: int | None = None
) -> AsyncIterator[Client]:
    """Yield a client; the kernel takes `receive_bytes` of what it does not read."""
    sock = socket.socket()
    sock.setblocking(False)
    if receive_bytes is not None:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_bytes)
    await asyncio.get_running_loop().sock_connect(sock, ("127.0.0.1", port))
    reader, writer = await asyncio.open_connection(
        sock=sock, ssl=tls, server_hostname="localhost" if tls else None, limit=1024
    )
    try:
        yield Client(reader, writer)
    finally:
        writer.transport.abort()


def get(path: str = "/", fields: str = "", method: str = "GET", version: str = "1.1") -> bytes:
    return f"{method} {path} HTTP/{version}\r\nHost: localhost\r\n{fields}\r\n".encode()


def post(body: bytes, path: str = "/", fields: str = "") -> bytes:
    head = f"POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Length: {len(body)}\r\n{fields}\r\n"
    return head.encode() + body


DATE = re.compile(r"[A-Z][a-z]{2}, \d{2} [A-Z][a-z]{2} \d{4} \d{2}:\d{2}:\d{2} GMT")

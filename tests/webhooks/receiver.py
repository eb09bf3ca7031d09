"""A receiver of webhooks, a real server on loopback: verifies what arrives, fails on command."""

import asyncio
import contextlib
import socket
import ssl
import struct
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from typing import NamedTuple

from standardwebhooks import Webhook, WebhookVerificationError
from tornado.http1connection import HTTP1Connection
from tornado.httpserver import HTTPServer
from tornado.httputil import HTTPServerRequest
from tornado.iostream import IOStream, StreamClosedError
from tornado.netutil import bind_sockets
from tornado.web import Application, RequestHandler

SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"


class Received(NamedTuple):
    """A received request; `error` is the library's objection to its signature, if any."""

    method: str
    path: str
    query: str
    headers: Mapping[str, str]
    body: bytes
    error: str


class Handler(RequestHandler):
    def initialize(self, receiver: "Receiver") -> None:
        self.receiver = receiver

    async def handle(self) -> None:
        received = self.receiver.take(self.request)
        if received.error:
            self.set_status(401)
            self.finish(received.error)
        else:
            await self.receiver.behaviour(self)

    get = post = put = patch = handle

    def taken_over(self) -> IOStream:
        """Return the connection, which the caller now writes to."""
        connection = self.request.connection
        assert isinstance(connection, HTTP1Connection)
        self._finished = True
        return connection.detach()


Behaviour = Callable[[Handler], Awaitable[None]]


class Receiver:
    """A receiver: `behaviour` answers what is signed with `secret`, a 401 anything else."""

    def __init__(self, secret: str, address: tuple[str, int], scheme: str) -> None:
        self.secret = secret
        self.behaviour: Behaviour = answer()
        self.received: list[Received] = []
        self.written = 0
        """Bytes of endless answers."""
        self.left = asyncio.Event()
        """Set when somebody has left who was kept hanging."""
        self.host, self.port = address
        self.url = f"{scheme}://{self.host}:{self.port}"

    def take(self, request: HTTPServerRequest) -> Received:
        signed = request.query.encode() if request.method == "GET" else request.body
        try:
            # The library knows its headers by any spelling.
            Webhook(self.secret).verify(signed, dict(request.headers), json_parse=False)
            error = ""
        except WebhookVerificationError as refused:
            error = str(refused)
        received = Received(
            request.method or "",
            request.path,
            request.query,
            {name.lower(): value for name, value in request.headers.items()},
            request.body,
            error,
        )
        self.received.append(received)
        return received


def answer(code: int = 200, body: bytes = b"", **headers: str) -> Behaviour:
    """Return a behaviour that answers so. Underscores in names of headers stand for hyphens."""

    async def behave(handler: Handler) -> None:
        handler.set_status(code)
        for name, value in headers.items():
            handler.set_header(name.replace("_", "-"), value)
        handler.finish(body)

    return behave


def raw(*pieces: bytes) -> Behaviour:
    """Return a behaviour that writes `pieces` and closes the connection in the normal way."""

    async def behave(handler: Handler) -> None:
        stream = handler.taken_over()
        with contextlib.suppress(StreamClosedError):
            for piece in pieces:
                await stream.write(piece)
        stream.close()

    return behave


def endless(head: bytes, piece: bytes, pause: float = 0) -> Behaviour:
    """Return a behaviour that writes `head`, then `piece` until the client disconnects."""

    async def behave(handler: Handler) -> None:
        stream = handler.taken_over()
        with contextlib.suppress(StreamClosedError):
            await stream.write(head)
            while True:
                await stream.write(piece)
                handler.receiver.written += len(piece)
                await asyncio.sleep(pause)

    return behave


def held(head: bytes) -> Behaviour:
    """Return a behaviour that writes `head`, and nothing more until the client disconnects."""

    async def behave(handler: Handler) -> None:
        stream = handler.taken_over()
        with contextlib.suppress(StreamClosedError):
            await stream.write(head)
            await stream.read_until_close()

    return behave


async def hang(handler: Handler) -> None:
    """Send nothing until the client disconnects."""
    with contextlib.suppress(StreamClosedError):
        await handler.taken_over().read_until_close()
    handler.receiver.left.set()


async def reset(handler: Handler) -> None:
    """Reset the connection instead of closing it."""
    stream = handler.taken_over()
    stream.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    stream.close()


def redirect(url: str, code: int = 302) -> Behaviour:
    return answer(code, Location=url)


@contextlib.asynccontextmanager
async def receiving(
    secret: str = SECRET, host: str = "127.0.0.1", tls: ssl.SSLContext | None = None
) -> AsyncIterator[Receiver]:
    """Yield a receiver that listens until the end of the context."""
    sockets = bind_sockets(0, host)
    receiver = Receiver(
        secret, (host, sockets[0].getsockname()[1]), "http" if tls is None else "https"
    )
    application = Application([(r".*", Handler, {"receiver": receiver})], log_function=_nothing)
    server = HTTPServer(application, ssl_options=tls)
    server.add_sockets(sockets)
    try:
        yield receiver
    finally:
        server.stop()
        await server.close_all_connections()


def _nothing(handler: RequestHandler) -> None:
    """Log nothing: a receiver's requests do not belong in the log of a test."""

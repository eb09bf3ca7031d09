"""Listening sockets, the connections on them, and their end: one a process.

    server = Server(application, render)
    await server.listen(sockets)
    ...
    server.stop()
    await server.finish(seconds=8, quiet=0.3)

One periodic sweep ends the connections whose time is up; there are no timers of single requests.
"""

import asyncio
import contextlib
import socket
import ssl
from collections.abc import Sequence
from typing import Final

from tornado.httputil import HTTPServerConnectionDelegate

from tracker.http.lane import Lane
from tracker.http.limits import Limits
from tracker.http.protocol import HTTPProtocol
from tracker.http.refusal import Render
from tracker.http.shared import Shared

_BACKLOG: Final = 1024


class Server:
    """Answers HTTP/1.1 with what `delegate` says, such as a tornado.web.Application.

    `render` makes the body of refusals that reach no handler. To be made on the running loop, which
    it keeps busy until `finish`.
    """

    def __init__(
        self,
        delegate: HTTPServerConnectionDelegate,
        render: Render,
        limits: Limits | None = None,
        lane: Lane | None = None,
    ) -> None:
        self._shared = Shared(delegate, render, limits or Limits(), lane)
        self._listening: list[asyncio.Server] = []
        self._sweeping = self._shared.loop.call_later(self._shared.sweep_seconds, self._sweep)

    @property
    def connections(self) -> int:
        """How many are open."""
        return len(self._shared.connections)

    async def listen(
        self, sockets: Sequence[socket.socket], tls: ssl.SSLContext | None = None
    ) -> None:
        """Accept connections on bound sockets, with TLS if a context is given."""
        limits = self._shared.limits
        for one in sockets:
            listening = await self._shared.loop.create_server(
                self._connection,
                sock=one,
                backlog=_BACKLOG,
                ssl=tls,
                ssl_handshake_timeout=limits.head_seconds if tls else None,
                ssl_shutdown_timeout=limits.linger_seconds if tls else None,
            )
            self._listening.append(listening)

    def stop(self) -> None:
        """Accept no more connections; those that are open go on."""
        for listening in self._listening:
            listening.close()
        self._listening.clear()

    async def finish(self, seconds: float, quiet: float) -> None:
        """Let what is in flight end, for at most `seconds`; then cut what is left.

        From now on every answer ends its connection, and one on which nothing has come for `quiet`
        seconds is closed.
        """
        shared = self._shared
        shared.now = shared.ending_since = shared.loop.time()
        shared.quiet_seconds = quiet
        shared.sweep_seconds = min(shared.sweep_seconds, max(quiet, 0.04) / 4)
        self._sweeping.cancel()
        self._sweep()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await shared.empty.wait()
        for connection in tuple(shared.connections):
            connection.abort()
        await shared.empty.wait()
        self._sweeping.cancel()

    def _connection(self) -> HTTPProtocol:
        return HTTPProtocol(self._shared)

    def _sweep(self) -> None:
        shared = self._shared
        shared.now = shared.loop.time()
        for connection in tuple(shared.connections):
            connection.check()
        self._sweeping = shared.loop.call_later(shared.sweep_seconds, self._sweep)

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

from tracker.http.admission import Admission
from tracker.http.date import OwnFields
from tracker.http.lane import Lane
from tracker.http.limits import Limits
from tracker.http.protocol import HTTPProtocol
from tracker.http.refusal import Render
from tracker.http.shared import Shared
from tracker.http.tls_listener import TLSListener
from tracker.loops import record_failure

_BACKLOG: Final = 1024


class Server:
    """Answers HTTP/1.1 with what `delegate` says, such as a tornado.web.Application.

    `render` makes the body of refusals that reach no handler; `own_fields` are those of every
    answer, but for a lane's, which has its own. `admission` bounds the connections, instead of the
    limit. To be made on the running loop, which it keeps busy until `finish`.
    """

    def __init__(
        self,
        delegate: HTTPServerConnectionDelegate,
        render: Render,
        limits: Limits | None = None,
        lane: Lane | None = None,
        own_fields: OwnFields | None = None,
        admission: Admission | None = None,
    ) -> None:
        limits = limits or Limits()
        self._shared = Shared(delegate, render, limits, lane, own_fields, admission)
        self._listening: list[asyncio.Server | TLSListener] = []
        self._sweeping = self._shared.loop.call_later(self._shared.sweep_seconds, self._sweep)

    @property
    def connections(self) -> int:
        """How many are open."""
        return len(self._shared.connections)

    async def listen(
        self, sockets: Sequence[socket.socket], tls: ssl.SSLContext | None = None
    ) -> None:
        """Accept connections on bound sockets, with TLS if a context is given."""
        loop = self._shared.loop
        for one in sockets:
            if tls is None:
                plain = await loop.create_server(self._connection, sock=one, backlog=_BACKLOG)
                self._listening.append(plain)
            else:
                one.setblocking(False)
                one.listen(_BACKLOG)
                self._listening.append(TLSListener(self._shared, one, tls))

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
            try:
                connection.check()
            except Exception as error:  # or one connection would end the watch over all
                record_failure("sweep", error)
                connection.abort()
        self._sweeping = shared.loop.call_later(shared.sweep_seconds, self._sweep)

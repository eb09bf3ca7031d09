"""The HTTP server: listening sockets, the connections on them, and their end.

One periodic sweep ends the connections whose time is up; single requests have no timers.
"""

import asyncio
import contextlib
import socket
import ssl
from collections.abc import Sequence
from functools import partial
from typing import Final

from tornado.routing import Router

from tracker.http.connection import Connection
from tracker.http.default_headers import DefaultHeaders
from tracker.http.fast_path import FastPath
from tracker.http.limits import Admission, Limits
from tracker.http.rejection import Render
from tracker.http.server_state import ServerState
from tracker.http.tls import TLSListener
from tracker.loops import record_failure

_BACKLOG: Final = 1024


class Server:
    """An HTTP/1.1 server for a router with a handler for every path, such as an Application.

    `render` makes the body of rejections. `admission` limits connections, instead of `limits`. Make
    a server on the running loop, where it sweeps until `finish`.
    """

    def __init__(
        self,
        application: Router,
        render: Render,
        limits: Limits | None = None,
        fast_path: FastPath | None = None,
        default_headers: DefaultHeaders | None = None,
        admission: Admission | None = None,
    ) -> None:
        limits = limits or Limits()
        self._state = ServerState(
            application, render, limits, fast_path, default_headers, admission
        )
        self._listening: list[asyncio.Server | TLSListener] = []
        self._sweeping = self._state.loop.call_later(self._state.sweep_seconds, self._sweep)

    @property
    def connections(self) -> int:
        return len(self._state.connections)

    async def listen(
        self, sockets: Sequence[socket.socket], tls: ssl.SSLContext | None = None
    ) -> None:
        """Accept connections on bound sockets, with TLS if a context is given."""
        loop = self._state.loop
        for one in sockets:
            if tls is None:
                accept = partial(Connection, self._state)
                plain = await loop.create_server(accept, sock=one, backlog=_BACKLOG)
                self._listening.append(plain)
            else:
                one.setblocking(False)
                one.listen(_BACKLOG)
                self._listening.append(TLSListener(self._state, one, tls))

    def stop(self) -> None:
        """Accept no more connections; open ones continue."""
        for listening in self._listening:
            listening.close()
        self._listening.clear()

    async def finish(self, seconds: float, quiet: float) -> None:
        """Wait at most `seconds` for requests in flight, then cut the other connections.

        From now on every answer ends its connection. A connection without a byte for `quiet`
        seconds is closed.
        """
        state = self._state
        state.now = state.ending_since = state.loop.time()
        state.quiet_seconds = quiet
        state.sweep_seconds = min(state.sweep_seconds, max(quiet, 0.04) / 4)
        self._sweeping.cancel()
        self._sweep()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await state.empty.wait()
        for connection in tuple(state.connections):
            connection.abort()
        await state.empty.wait()
        self._sweeping.cancel()

    def _sweep(self) -> None:
        state = self._state
        state.now = state.loop.time()
        for connection in tuple(state.connections):
            try:
                connection.check()
            except Exception as error:  # or one connection would end the sweep of all
                record_failure("sweep", error)
                connection.abort()
        self._sweeping = state.loop.call_later(state.sweep_seconds, self._sweep)

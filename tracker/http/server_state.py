"""The state that all connections of a server share. Made by `server`, read by each connection."""

import asyncio
import contextvars
from typing import Protocol

from tornado.routing import Router

from tracker.http.default_headers import DefaultHeaders
from tracker.http.discarding import DiscardQueue
from tracker.http.fast_path import FastPath
from tracker.http.head import HeadReader
from tracker.http.limits import Admission, Limits
from tracker.http.rejection import Render


class ServerConnection(Protocol):
    """A connection for the sweeps of its server."""

    def check(self) -> None:
        """End the connection if its time is up."""

    def abort(self) -> None: ...


class ServerState:
    """The state of one server. Make it on the running loop.

    `now` is the event loop's time at the last sweep, in seconds. Asking it at every request would
    cost more.
    """

    def __init__(
        self,
        application: Router,
        render: Render,
        limits: Limits,
        fast_path: FastPath | None,
        default_headers: DefaultHeaders | None = None,
        admission: Admission | None = None,
    ) -> None:
        self.application = application
        self.render = render
        self.limits = limits
        self.admission = admission or Admission(limits.connections)
        self.fast_path = fast_path
        self.default_headers = default_headers or DefaultHeaders()
        self.loop = asyncio.get_running_loop()
        self.discarding = DiscardQueue(self.loop, self.admission.counted_as)
        self.now = self.loop.time()
        self.sweep_seconds = limits.sweep_seconds
        self.ending_since: float | None = None
        self.quiet_seconds = 0.0
        self.connections: set[ServerConnection] = set()
        self.empty = asyncio.Event()
        self.empty.set()
        self.context = contextvars.copy_context()
        self.heads = HeadReader()
        self.writable: asyncio.Future[None] = self.loop.create_future()
        self.writable.set_result(None)

    def expired(self, since: float, seconds: float) -> bool:
        """Return whether `seconds` have surely passed since `since`, which may be a sweep old."""
        return self.now - since > seconds + self.sweep_seconds

    def add(self, connection: ServerConnection) -> None:
        self.connections.add(connection)
        self.empty.clear()

    def remove(self, connection: ServerConnection) -> None:
        self.connections.discard(connection)
        if not self.connections:
            self.empty.set()

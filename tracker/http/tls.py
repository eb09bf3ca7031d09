"""TLS: certificates, and accepting connections that are counted before their handshake.

asyncio reports no connection before its handshake. The caller decides when to reload certificates.
"""

import asyncio
import socket
import ssl
from functools import partial
from pathlib import Path
from typing import Final

import structlog

from tracker.http.connection import Connection
from tracker.http.server_state import ServerState

log = structlog.get_logger(__name__)

_MAX_ACCEPTS_PER_TURN: Final = 64
"""Connections that are accepted before other tasks get their turn."""

_ACCEPT_PAUSE_SECONDS: Final = 1.0
"""The pause after the system could not accept a connection for want of files or memory."""

_MIN_HANDSHAKE_SECONDS: Final = 0.01
"""The shortest time limit of a handshake: asyncio accepts no 0."""


class TLSListener:
    """A listening socket, bound and non-blocking, that accepts connections until `close`."""

    def __init__(self, state: ServerState, listening: socket.socket, tls: ssl.SSLContext) -> None:
        self._state = state
        self._listening = listening
        self._tls = tls
        self._pause: asyncio.TimerHandle | None = None
        self._listen()

    def close(self) -> None:
        """Stop accepting; handshakes in progress continue."""
        if self._pause is not None:
            self._pause.cancel()
        self._state.loop.remove_reader(self._listening.fileno())
        self._listening.close()

    def _listen(self) -> None:
        self._state.loop.add_reader(self._listening.fileno(), self._accept)

    def _accept(self) -> None:
        for _ in range(_MAX_ACCEPTS_PER_TURN):
            try:
                accepted, address = self._listening.accept()
            except (BlockingIOError, InterruptedError, ConnectionAbortedError):
                return
            except OSError as error:
                log.warning("connections cannot be accepted", error=str(error))
                self._state.loop.remove_reader(self._listening.fileno())
                self._pause = self._state.loop.call_later(_ACCEPT_PAUSE_SECONDS, self._listen)
                return
            if self._state.admission.admit(address[0]):
                Handshake(self._state, accepted, address[0], self._tls)
            else:
                accepted.close()


class Handshake:
    """A connection, already counted, during its handshake."""

    def __init__(
        self, state: ServerState, accepted: socket.socket, peer: str, tls: ssl.SSLContext
    ) -> None:
        accepted.setblocking(False)
        self._state = state
        self._peer = peer
        self._made = False
        state.add(self)
        self._task = state.loop.create_task(self._shake_hands(accepted, tls))
        self._task.add_done_callback(self._done)

    def check(self) -> None:
        """Do nothing: the event loop limits a handshake's time."""

    def abort(self) -> None:
        self._task.cancel()

    async def _shake_hands(self, accepted: socket.socket, tls: ssl.SSLContext) -> None:
        limits, loop = self._state.limits, self._state.loop
        ends = loop.time() + limits.head_seconds
        try:
            if not await self._has_begun(accepted, limits.head_seconds):
                return
            await loop.connect_accepted_socket(
                partial(Connection, self._state, self._hand_over),
                accepted,
                ssl=tls,
                ssl_handshake_timeout=max(_MIN_HANDSHAKE_SECONDS, ends - loop.time()),
                ssl_shutdown_timeout=limits.linger_seconds,
            )
        except OSError:
            pass  # The client's fault: no TLS, too slow, or disconnected.
        finally:
            if not self._made:
                accepted.close()

    async def _has_begun(self, accepted: socket.socket, seconds: float) -> bool:
        """Wait for the client's first byte: a TLS connection takes 50 KB.

        Raises TimeoutError after `seconds`, OSError if the client has cut the connection.
        """
        loop = self._state.loop
        readable = loop.create_future()
        loop.add_reader(accepted.fileno(), _resolve, readable)
        try:
            async with asyncio.timeout(seconds):
                await readable
        finally:
            loop.remove_reader(accepted.fileno())
        return bool(accepted.recv(1, socket.MSG_PEEK))

    def _hand_over(self) -> str:
        """Return the peer's address, and let the connection count for itself from now on."""
        self._made = True
        self._state.connections.discard(self)
        return self._peer

    def _done(self, task: "asyncio.Task[None]") -> None:
        if not self._made:
            self._state.admission.release(self._peer)
            self._state.remove(self)
        if not task.cancelled() and task.exception() is not None:
            log.error("a handshake failed", exc_info=task.exception())


def _resolve(readable: "asyncio.Future[None]") -> None:
    if not readable.done():
        readable.set_result(None)


def server_context(certificate: Path, key: Path) -> ssl.SSLContext:
    """Return a context for TLS 1.2 or later, from PEM files of a certificate chain and its key.

    The key has no passphrase. Raises OSError if a file cannot be read, and its subclass
    ssl.SSLError if they do not fit.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.set_alpn_protocols(["http/1.1"])
    _load(context, certificate, key)
    return context


def reload_certificate(context: ssl.SSLContext, certificate: Path, key: Path) -> None:
    """Load the files for connections to come. If it raises OSError, nothing has changed."""
    server_context(certificate, key)
    _load(context, certificate, key)


def _load(context: ssl.SSLContext, certificate: Path, key: Path) -> None:
    # Without a passphrase here OpenSSL would ask for one on the terminal, and wait.
    context.load_cert_chain(certificate, key, password="")

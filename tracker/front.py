"""How a process answers HTTP: the application and the lanes on one front, with TLS if it is set.

What no handler sees (not HTTP, too large, too slow) is answered in the one shape of errors too.
"""

import asyncio
import contextlib
import resource
import signal
import socket
import ssl
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Final

import msgspec
import orjson
import structlog

from config.settings import Settings
from tracker.api.handler import JSON
from tracker.api.lanes import Lanes
from tracker.app import make_app
from tracker.http.limits import Limits
from tracker.http.server import Server
from tracker.http.tls import reload_certificate, server_context
from tracker.metrics import requests
from tracker.services import Services

log = structlog.get_logger(__name__)

IN_FLIGHT_SECONDS: Final = 8.0
"""How long a stop waits for requests that are being answered."""

LIMITS: Final = Limits(target_bytes=56 * 1024, head_bytes=64 * 1024)
"""The longest target that is documented is that of an event whose metadata are in the query: 16 KiB
of UTF-8, each byte of which may be three when it is percent-encoded."""

QUIET_SECONDS: Final = 0.3
"""How long nothing may have come on a connection that is kept open before a stop closes it: what a
client had sent by then is answered, and told that the connection ends."""


KEPT_FILES: Final = 256
"""Of those the process may have open: for its stores and its spool, which a crowd of connections
must not keep from working."""


class UnusableCertificate(Exception):
    """TLS_CERT and TLS_KEY cannot be read, or do not fit. The message is for the operator."""


def check_certificate(settings: Settings) -> None:
    """Raises UnusableCertificate, before anything else is begun."""
    if settings.tls_cert:
        _context(settings)


@contextlib.asynccontextmanager
async def answering(services: Services, sockets: Sequence[socket.socket]) -> AsyncIterator[None]:
    """Answer requests on bound sockets; on leaving, accept no more, finish what is in flight and
    make durable what was begun. With TLS, a SIGHUP from now on has the certificate read again.
    Raises UnusableCertificate."""
    tls = _reloaded(services.settings) if services.settings.tls_cert else None
    await services.start()
    server = make_server(services)
    await server.listen(sockets, tls)
    try:
        yield
    finally:
        server.stop()
        await server.finish(IN_FLIGHT_SECONDS, QUIET_SECONDS)
        await services.stop()


def make_server(services: Services) -> Server:
    """What answers requests, on sockets that it is yet to be given. To be made on the running
    loop."""
    limits = msgspec.structs.replace(LIMITS, connections=_most_connections())
    return Server(make_app(services), render_refusal, limits, Lanes(services))


def _most_connections() -> int:
    """As many as the process may have open files, which it asks to be as many as allowed."""
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    with contextlib.suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    files = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    if files == resource.RLIM_INFINITY:
        return LIMITS.connections
    return min(LIMITS.connections, max(1, files - KEPT_FILES))


def render_refusal(status: int, reason: str) -> tuple[str, bytes]:
    """Content-Type and body for a request that no handler sees, which is counted."""
    requests("refused", "other", status).inc()
    return JSON, orjson.dumps({"error": reason})


def _context(settings: Settings) -> ssl.SSLContext:
    try:
        return server_context(Path(settings.tls_cert), Path(settings.tls_key))
    except OSError as error:
        raise UnusableCertificate(_told(settings, error)) from None


def _reloaded(settings: Settings) -> ssl.SSLContext:
    """On SIGHUP its certificate is read again, for the connections to come."""

    def reload() -> None:
        try:
            reload_certificate(context, Path(settings.tls_cert), Path(settings.tls_key))
        except OSError as error:
            log.error("certificate not read again; the old one stays", error=_told(settings, error))
        else:
            log.info("certificate read again")

    # Before it is read, so that no change goes unseen; and until the process ends.
    asyncio.get_running_loop().add_signal_handler(signal.SIGHUP, reload)
    context = _context(settings)
    return context


def _told(settings: Settings, error: OSError) -> str:
    """In one line, with the variable and the rule."""
    for name, path in (("TLS_CERT", settings.tls_cert), ("TLS_KEY", settings.tls_key)):
        try:
            Path(path).read_bytes()
        except OSError as unreadable:
            return f"{name}={path!r}: must be a file that can be read: {unreadable.strerror}"
    return (
        f"TLS_CERT={settings.tls_cert!r}, TLS_KEY={settings.tls_key!r}: must be PEM files of a "
        f"certificate and its key, without a passphrase: {error.strerror or error}"
    )

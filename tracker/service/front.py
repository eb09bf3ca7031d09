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

import orjson
import structlog
from tornado.httputil import HTTPServerConnectionDelegate

from config.settings import Settings
from tracker.access.client_address import ClientAddress
from tracker.api.handler import JSON
from tracker.api.lanes import Lanes
from tracker.http.admission import Admission
from tracker.http.date import OwnFields
from tracker.http.limits import Limits
from tracker.http.server import Server
from tracker.http.tls import reload_certificate, server_context
from tracker.limits.network import is_loopback, network_of
from tracker.metrics import requests
from tracker.service.app import make_app
from tracker.service.services import Services

log = structlog.get_logger(__name__)

IN_FLIGHT_SECONDS: Final = 8.0
"""How long a stop waits for requests that are being answered."""

LIMITS: Final = Limits(target_bytes=56 * 1024, head_bytes=64 * 1024)
"""A target may be longer than the query of an event, so that the event's handler refuses that: with
the headers that let a page of any origin read why."""

OPERATORS_LIMITS: Final = Limits(connections=100, body_bytes=64 * 1024)
OPERATORS_SECONDS: Final = 1.0
"""How long a stop waits for what operators have asked, once visitors have been answered."""

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


@contextlib.asynccontextmanager
async def answering_operators(
    application: HTTPServerConnectionDelegate, sockets: Sequence[socket.socket]
) -> AsyncIterator[None]:
    """Answer requests on a port of their own, without TLS and lanes; nothing without sockets."""
    if not sockets:
        yield
        return
    server = Server(application, render_refusal, OPERATORS_LIMITS)
    await server.listen(sockets)
    try:
        yield
    finally:
        server.stop()
        await server.finish(OPERATORS_SECONDS, 0)


def make_server(services: Services) -> Server:
    """What answers requests, on sockets that it is yet to be given. To be made on the running
    loop."""
    own_fields = OwnFields(Strict_Transport_Security=services.settings.hsts)
    admission = bounds_of_connections(services.settings, services.client_address)
    lanes = Lanes(services)
    return Server(make_app(services), render_refusal, LIMITS, lanes, own_fields, admission)


def bounds_of_connections(settings: Settings, client_address: ClientAddress) -> Admission:
    """Return the bounds of connections. However few files there are, one address has half."""
    limit = _most_connections()
    for_each = min(settings.connections_per_address, max(1, limit // 2))
    excepts_loopback = settings.env == "development"

    def counted_as(peer: str) -> str:
        if client_address.is_proxy(peer) or (excepts_loopback and is_loopback(peer)):
            return ""
        return network_of(peer, settings.rate_limit_ipv6_prefix)

    return Admission(limit, for_each, counted_as)


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

"""The HTTP side of a process: application and fast path on one server, with TLS if it is set.

A request that reaches no handler (not HTTP, too large, too slow) gets an error of the usual shape.
"""

import asyncio
import contextlib
import signal
import socket
import ssl
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Final

import orjson
import structlog
from tornado.routing import Router

from config.settings import Settings
from tracker.access.client_address import ClientAddress
from tracker.http.default_headers import DefaultHeaders
from tracker.http.limits import Admission, Limits
from tracker.http.server import Server
from tracker.http.tls import reload_certificate, server_context
from tracker.limits.network import is_loopback, network_of
from tracker.limits.open_files import max_open_files
from tracker.metrics import requests
from tracker.service.app import make_app
from tracker.service.background import serving
from tracker.service.hot_page_clicks import AllHotRequests
from tracker.service.services import Services
from tracker.web.handler import JSON

log = structlog.get_logger(__name__)

IN_FLIGHT_SECONDS: Final = 8.0
"""How long a stop waits for requests in flight."""

EXPORTS_SECONDS: Final = 4.0
"""A stop waits less for exports. A slow reader's would take the time of all."""

LIMITS: Final = Limits(target_bytes=56 * 1024, head_bytes=64 * 1024)
"""Longer than an event's query, so that the handler rejects the query. Pages of any origin can read
the handler's error, but not the server's."""

OPERATORS_LIMITS: Final = Limits(connections=100, body_bytes=64 * 1024)
OPERATORS_IN_FLIGHT_SECONDS: Final = 1.0
"""A stop waits for operators' requests after visitors'."""

QUIET_SECONDS: Final = 0.3
"""A kept connection must be silent this long before a stop closes it. Earlier requests are
answered, with `Connection: close`."""

RESERVED_FILES: Final = 256
"""Connections may not use these open files, because the stores and the spool need some too."""


class UnusableCertificate(Exception):
    """The error of an unusable certificate or key. The message is for the operator."""


def check_certificate(settings: Settings) -> None:
    """Raises UnusableCertificate if certificate and key cannot be used."""
    if settings.tls_cert:
        _context(settings)


@contextlib.asynccontextmanager
async def serve_requests(
    services: Services, sockets: Sequence[socket.socket]
) -> AsyncIterator[None]:
    """Answer requests on bound sockets. With TLS, a SIGHUP reloads the certificate.

    On exit, stop accepting, finish the requests in flight, and make every append durable.
    """
    tls = _reloading_context(services.settings) if services.settings.tls_cert else None
    async with serving(services):
        server = make_server(services)
        await server.listen(sockets, tls)
        try:
            yield
        finally:
            server.stop()
            services.live.live.stop()
            await asyncio.gather(
                services.web.exports.finish(EXPORTS_SECONDS),
                server.finish(IN_FLIGHT_SECONDS, QUIET_SECONDS),
            )


@contextlib.asynccontextmanager
async def serve_operators(
    application: Router, sockets: Sequence[socket.socket]
) -> AsyncIterator[None]:
    """Answer operators' requests, without TLS or a fast path; do nothing without sockets."""
    if not sockets:
        yield
        return
    server = Server(application, render_rejection, OPERATORS_LIMITS)
    await server.listen(sockets)
    try:
        yield
    finally:
        server.stop()
        await server.finish(OPERATORS_IN_FLIGHT_SECONDS, 0)


def make_server(services: Services) -> Server:
    """Return the server of public requests, without sockets yet. Needs a running loop."""
    default_headers = DefaultHeaders(Strict_Transport_Security=services.settings.hsts)
    admission = make_admission(services.settings, services.access.client_address)
    fast_path = AllHotRequests(services)
    return Server(
        make_app(services), render_rejection, LIMITS, fast_path, default_headers, admission
    )


def make_admission(settings: Settings, client_address: ClientAddress) -> Admission:
    """Limit connections. One address may have at most half of all."""
    limit = min(LIMITS.connections, max(1, max_open_files() - RESERVED_FILES))
    per_address = min(settings.connections_per_address, max(1, limit // 2))
    excepts_loopback = settings.env == "development"

    def counted_as(peer: str) -> str:
        if client_address.is_proxy(peer) or (excepts_loopback and is_loopback(peer)):
            return ""
        return network_of(peer, settings.rate_limit_ipv6_prefix)

    return Admission(limit, per_address, counted_as)


def render_rejection(status: int, reason: str) -> tuple[str, bytes]:
    """Count a request that reaches no handler; return Content-Type and body of its answer."""
    requests("refused", "other", status).inc()
    return JSON, orjson.dumps({"error": reason})


def _context(settings: Settings) -> ssl.SSLContext:
    try:
        return server_context(Path(settings.tls_cert), Path(settings.tls_key))
    except OSError as error:
        raise UnusableCertificate(_explain(settings, error)) from None


def _reloading_context(settings: Settings) -> ssl.SSLContext:
    """Return a TLS context that reloads its certificate on SIGHUP, for connections to come."""

    def reload() -> None:
        try:
            reload_certificate(context, Path(settings.tls_cert), Path(settings.tls_key))
        except OSError as error:
            log.error(
                "certificate cannot be reloaded; the old one stays in use",
                error=_explain(settings, error),
            )
        else:
            log.info("certificate reloaded")

    # Added before the first read, so that no change is missed, and kept until the process ends.
    asyncio.get_running_loop().add_signal_handler(signal.SIGHUP, reload)
    context = _context(settings)
    return context


def _explain(settings: Settings, error: OSError) -> str:
    """Name the variable and its rule in one line."""
    for name, path in (("TLS_CERT", settings.tls_cert), ("TLS_KEY", settings.tls_key)):
        try:
            Path(path).read_bytes()
        except OSError as unreadable:
            return f"{name}={path!r}: must be a file that can be read: {unreadable.strerror}"
    return (
        f"TLS_CERT={settings.tls_cert!r}, TLS_KEY={settings.tls_key!r}: must be PEM files of a "
        f"certificate and its key, without a passphrase: {error.strerror or error}"
    )

"""The Tornado applications: one for the public, two for ports that only operators use."""

from collections.abc import Mapping
from functools import partial
from typing import Any, Final

from tornado.httputil import HTTPMessageDelegate, HTTPServerRequest
from tornado.web import Application, RequestHandler

from tracker.clicks.api import click
from tracker.console.pages import console_routes
from tracker.errors import TrackerError
from tracker.links.domain import ServedName
from tracker.mcp.handler import mcp_routes
from tracker.metrics import show_failures
from tracker.public_url import is_everywhere
from tracker.service.api.routes import (
    DECLARED_ENDPOINTS,
    ENDPOINTS,
    VISITORS_ENDPOINTS,
    Endpoints,
    Route,
    description,
    routes,
)
from tracker.service.background import drain_loops
from tracker.service.late_delegate import LateDelegate
from tracker.service.services import Services
from tracker.web.handler import UnknownPath, log_request
from tracker.web.incoming_body import BodyCollector, BodyMemory, IncomingBody

MAX_BODIES_BYTES: Final = 32 * 1024 * 1024
"""Room for 32 of the longest bodies, or for 1,000 bodies before their requests are checked, which
take the connections of two addresses."""

OPERATORS_MAX_BODIES_BYTES: Final = 1024 * 1024
"""No endpoint for operators takes a body."""


class TrackerApplication(Application):
    """A Tornado application that gives each handler its body as the argument `incoming`."""

    def __init__(self, services: Services, own_routes: list[Route], memory: BodyMemory) -> None:
        self._memory = memory
        super().__init__(
            own_routes,
            default_handler_class=UnknownPath,
            default_handler_args={"process": services},
            log_function=log_request,
            description=partial(description, services.public_url.url),
            drain_loops=drain_loops(services),
        )

    # Tornado documents the result as any HTTPMessageDelegate, but annotates a private class.
    def get_handler_delegate(  # type: ignore[override]
        self,
        request: HTTPServerRequest,
        target_class: type[RequestHandler],
        target_kwargs: Mapping[str, Any] | None = None,
        path_args: list[bytes] | None = None,
        path_kwargs: dict[str, bytes] | None = None,
    ) -> HTTPMessageDelegate:
        """Collect the body before the handler runs."""
        incoming = IncomingBody(request.headers, self._memory)
        arguments = {**(target_kwargs or {}), "incoming": incoming}
        inner = super().get_handler_delegate(
            request, target_class, arguments, path_args, path_kwargs
        )
        return BodyCollector(inner, incoming)


class PublicApplication(TrackerApplication):
    """The application of the public port. Of a proven custom domain, nearly all paths are links'.

    Guarantee: it has neither API nor console, while any store can tell whose the host is.
    """

    def __init__(self, services: Services, own_routes: list[Route], memory: BodyMemory) -> None:
        super().__init__(services, own_routes, memory)
        methods = tuple(one.method for one in click.ENDPOINTS if one.handler is click.ClickSlug)
        self._path_arguments = {"process": services, "route": click.ANY_PATH, "methods": methods}
        self._services = services
        show_failures(click.ANY_PATH, methods)

    def find_handler(  # type: ignore[override]
        self, request: HTTPServerRequest, **kwargs: Any
    ) -> HTTPMessageDelegate:
        host = self._services.clicks.paths.host(request.host)
        if not host or is_everywhere(request.path):
            return super().find_handler(request, **kwargs)
        if known := self._services.links.domains.peek(host):
            return self._handler_on(request, known.value)
        return LateDelegate(partial(self._handler_at, request, host))

    async def _handler_at(self, request: HTTPServerRequest, host: str) -> HTTPMessageDelegate:
        forwarded_for = (request.headers.get("X-Forwarded-For", ""),)
        client = self._services.access.client_address.find(request.remote_ip or "", forwarded_for)
        try:
            domain = await self._services.links.domains.by_name(host, client)
        except TrackerError:  # The service's own paths depend on no store.
            return self.default_router.find_handler(request) or self._path_handler(request)
        return self._handler_on(request, domain)

    def _handler_on(
        self, request: HTTPServerRequest, domain: ServedName | None
    ) -> HTTPMessageDelegate:
        is_proven = domain is not None and domain.verified
        return self._path_handler(request) if is_proven else super().find_handler(request)

    def _path_handler(self, request: HTTPServerRequest) -> HTTPMessageDelegate:
        return self.get_handler_delegate(request, click.ClickPath, self._path_arguments)


def make_app(services: Services, bodies_bytes: int = MAX_BODIES_BYTES) -> Application:
    """Make the public application, without the paths of INTERNAL_PORT if that is set."""
    endpoints = VISITORS_ENDPOINTS if services.settings.internal_port else ENDPOINTS
    shared = {"process": services}
    own_routes = [*console_routes(shared), *routes(endpoints, shared)]
    own_routes += mcp_routes(shared, DECLARED_ENDPOINTS)
    return PublicApplication(services, own_routes, BodyMemory(bodies_bytes))


def operators_app(services: Services, endpoints: Endpoints) -> Application:
    own_routes = routes(endpoints, {"process": services})
    return TrackerApplication(services, own_routes, BodyMemory(OPERATORS_MAX_BODIES_BYTES))

"""The route table: every path and what answers it."""

import re
from collections.abc import Collection, Mapping
from functools import cache
from itertools import groupby
from typing import Any

import msgspec
from tornado.web import RequestHandler

from tracker.api import (
    account,
    deliveries,
    domains,
    event_configs,
    keys,
    openapi,
    reports,
    short_links,
    tags,
    webhooks,
)
from tracker.api.click import ClickQuery, ClickSlug
from tracker.api.documentation import Docs, DocsAsset, Front, OpenApi
from tracker.api.endpoint import Endpoint
from tracker.api.event import EventHandler
from tracker.api.health import Healthz, Readyz
from tracker.api.metrics import Metrics
from tracker.api.protected import ProtectedHandler
from tracker.api.tls_ask import TlsAsk

ENDPOINTS: tuple[Endpoint, ...] = (
    *short_links.ENDPOINTS,
    *tags.ENDPOINTS,
    *domains.ENDPOINTS,
    *event_configs.ENDPOINTS,
    *webhooks.ENDPOINTS,
    *deliveries.ENDPOINTS,
    *keys.ENDPOINTS,
    *account.ENDPOINTS,
    *reports.ENDPOINTS,
)
"""Those that need a key. Of paths that match alike the first answers."""

PUBLIC: tuple[tuple[str, type[RequestHandler]], ...] = (
    ("/c/{slug}", ClickSlug),
    ("/api/click", ClickQuery),
    ("/api/event", EventHandler),
    ("/internal/tls-ask", TlsAsk),
    ("/healthz", Healthz),
    ("/livez", Healthz),
    ("/readyz", Readyz),
    ("/metrics", Metrics),
    ("/openapi.json", OpenApi),
    ("/docs", Docs),
    ("/docs/{file}", DocsAsset),
)
"""Those that need none; a name in braces stands for the rest of the path."""

TRIAL: tuple[tuple[str, type[RequestHandler]], ...] = (("/", Front),)
"""Those that are not there in production."""

HEALTH = ("/healthz", "/livez", "/readyz")
INTERNAL = ("/internal/tls-ask", "/metrics", "/openapi.json", "/docs", "/docs/{file}", "/")
"""Paths for operators, which may have a port of their own (INTERNAL_PORT)."""

Route = tuple[str, type[RequestHandler], dict[str, Any]]


def routes(given: Mapping[str, Any], without: Collection[str] = ()) -> list[Route]:
    """Return all routes but those of the paths `without`, as Tornado takes them; every handler is
    initialized with `given`."""
    public = routes_of(given, [path for path, _ in PUBLIC + TRIAL if path not in without])
    ordered = sorted(ENDPOINTS, key=lambda endpoint: endpoint.pattern)
    protected = [
        (pattern, ProtectedHandler, {**given, "endpoints": {one.method: one for one in alike}})
        for pattern, alike in groupby(ordered, key=lambda endpoint: endpoint.pattern)
    ]
    # A literal path before one with an id in its place.
    return public + sorted(protected, key=lambda route: "(" in route[0])


def routes_of(given: Mapping[str, Any], paths: Collection[str]) -> list[Route]:
    """Return the routes of `paths`, all of which need no key."""
    in_production = given["services"].settings.env == "production"
    return [
        (_pattern(path), handler, {**given, "route": path})
        for path, handler in (PUBLIC if in_production else PUBLIC + TRIAL)
        if path in paths
    ]


@cache
def description(base_url: str) -> bytes:
    """Return the OpenAPI document of the service at `base_url`, as JSON."""
    return msgspec.json.encode(openapi.document(ENDPOINTS, base_url))


def _pattern(path: str) -> str:
    return re.sub(r"\{\w+\}", ".*", path.replace(".", r"\."))

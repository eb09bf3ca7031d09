"""The route table: every path and what answers it."""

import re
from collections.abc import Mapping
from functools import cache
from itertools import groupby
from typing import Any

import msgspec
from tornado.web import RequestHandler

from tracker.api import (
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
from tracker.api.documentation import Docs, DocsAsset, OpenApi
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
    *reports.ENDPOINTS,
)
"""Those that need a key. Of paths that match alike the first answers."""

PUBLIC: tuple[tuple[str, type[RequestHandler]], ...] = (
    ("/c/{slug}", ClickSlug),
    ("/api/click", ClickQuery),
    ("/api/event", EventHandler),
    ("/internal/tls-ask", TlsAsk),
    ("/healthz", Healthz),
    ("/readyz", Readyz),
    ("/metrics", Metrics),
    ("/openapi.json", OpenApi),
    ("/docs", Docs),
    ("/docs/{file}", DocsAsset),
)
"""Those that need none; a name in braces stands for the rest of the path."""


def routes(given: Mapping[str, Any]) -> list[tuple[str, type[RequestHandler], dict[str, Any]]]:
    """As Tornado takes them; every handler is initialized with `given`."""
    public = [(_pattern(path), handler, {**given, "route": path}) for path, handler in PUBLIC]
    ordered = sorted(ENDPOINTS, key=lambda endpoint: endpoint.pattern)
    protected = [
        (pattern, ProtectedHandler, {**given, "endpoints": {one.method: one for one in alike}})
        for pattern, alike in groupby(ordered, key=lambda endpoint: endpoint.pattern)
    ]
    # A literal path before one with an id in its place.
    return public + sorted(protected, key=lambda route: "(" in route[0])


@cache
def description() -> bytes:
    """The OpenAPI document, as JSON."""
    return msgspec.json.encode(openapi.document(ENDPOINTS))


def _pattern(path: str) -> str:
    return re.sub(r"\{\w+\}", ".*", path.replace(".", r"\."))

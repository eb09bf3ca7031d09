"""The endpoint table: every method and path, and what answers it."""

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

import msgspec
from tornado.web import RequestHandler

from tracker.api import (
    account,
    audit,
    click,
    clicks,
    conversion_delays,
    conversions,
    deliveries,
    documentation,
    domains,
    event,
    event_configs,
    health,
    invitations,
    join,
    keys,
    live,
    members,
    metrics,
    own_sessions,
    password_resets,
    qr_codes,
    report_overview,
    report_values,
    reports,
    second_factor,
    session,
    shared,
    shares,
    short_link_changes,
    short_links,
    slugs,
    tags,
    tls_ask,
    views,
    webhook_statistics,
    webhook_templates,
    webhooks,
)
from tracker.api.endpoint import Endpoint, PublicEndpoint
from tracker.api.openapi.document import document
from tracker.api.protected import ProtectedHandler
from tracker.metrics import expect_failures

Endpoints = tuple[Endpoint | PublicEndpoint, ...]

KEYED_ENDPOINTS: tuple[Endpoint, ...] = (
    *short_links.ENDPOINTS,
    *short_link_changes.ENDPOINTS,
    *slugs.ENDPOINTS,
    *qr_codes.ENDPOINTS,
    *tags.ENDPOINTS,
    *domains.ENDPOINTS,
    *event_configs.ENDPOINTS,
    *clicks.ENDPOINTS,
    *conversions.ENDPOINTS,
    *conversion_delays.ENDPOINTS,
    *webhooks.ENDPOINTS,
    *webhook_templates.ENDPOINTS,
    *webhook_statistics.ENDPOINTS,
    *deliveries.ENDPOINTS,
    *keys.ENDPOINTS,
    *account.ENDPOINTS,
    *audit.ENDPOINTS,
    *members.ENDPOINTS,
    *invitations.ENDPOINTS,
    *password_resets.ENDPOINTS,
    *reports.ENDPOINTS,
    *report_overview.ENDPOINTS,
    *report_values.ENDPOINTS,
    *live.ENDPOINTS,
    *shares.ENDPOINTS,
    *views.ENDPOINTS,
)
"""The endpoints that need an API key."""

PEOPLES_ENDPOINTS: tuple[Endpoint, ...] = (
    *session.ENDPOINTS,
    *own_sessions.ENDPOINTS,
    *second_factor.ENDPOINTS,
)
"""The endpoints that need the session of a person, and no scope."""

VISITORS_ENDPOINTS: Endpoints = (
    *KEYED_ENDPOINTS,
    *PEOPLES_ENDPOINTS,
    *session.SIGN_IN_ENDPOINTS,
    *join.ENDPOINTS,
    *shared.ENDPOINTS,
    *click.ENDPOINTS,
    *event.ENDPOINTS,
    *health.ENDPOINTS,
)
"""The endpoints that are on the public port in any case."""

_OPERATORS_ENDPOINTS = (*metrics.ENDPOINTS, *tls_ask.ENDPOINTS, *documentation.ENDPOINTS)

ENDPOINTS: Endpoints = (*VISITORS_ENDPOINTS, *_OPERATORS_ENDPOINTS)
"""The whole table, in the order in which it is described."""

INTERNAL_ENDPOINTS: Endpoints = (*_OPERATORS_ENDPOINTS, *health.ENDPOINTS)
"""The endpoints of the operators' own port (INTERNAL_PORT). Balancers ask for health on both."""

MONITORING_ENDPOINTS: Endpoints = (*metrics.ENDPOINTS, *health.ENDPOINTS)
"""The endpoints of a drain (METRICS_PORT)."""

Route = tuple[str, type[RequestHandler], dict[str, Any]]


def routes(endpoints: Endpoints, shared: Mapping[str, Any]) -> list[Route]:
    """Return the routes of `endpoints`, one a path, as Tornado takes them.

    `shared` are the arguments that every handler gets. The first matching route answers, so public
    paths come first, and literal paths come before those with an id in their place.
    """
    public: dict[str, list[PublicEndpoint]] = {}
    keyed: dict[str, dict[str, Endpoint]] = {}
    in_production = shared["services"].settings.env == "production"
    for one in endpoints:
        if isinstance(one, Endpoint):
            keyed.setdefault(one.pattern, {})[one.method] = one
        elif one.in_production or not in_production:
            public.setdefault(one.pattern, []).append(one)
        expect_failures(one.path, [one.method])
    return [
        *(_public_route(pattern, rows, shared) for pattern, rows in public.items()),
        *(
            (pattern, ProtectedHandler, {**shared, "endpoints": keyed[pattern]})
            for pattern in sorted(keyed, key=lambda pattern: "(" in pattern)
        ),
    ]


def _public_route(pattern: str, rows: Sequence[PublicEndpoint], shared: Mapping[str, Any]) -> Route:
    methods = tuple(one.method for one in rows)
    return pattern, rows[0].handler, {**shared, "route": rows[0].path, "methods": methods}


@cache
def description(base_url: str) -> bytes:
    """Return the OpenAPI document of the service at `base_url`, as JSON."""
    return msgspec.json.encode(document(ENDPOINTS, base_url))

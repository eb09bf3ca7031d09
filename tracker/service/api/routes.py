"""The endpoint table: every method and path, and its handler."""

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

import msgspec
from tornado.web import RequestHandler

from tracker.accounts.api import (
    account,
    audit,
    invitations,
    join,
    keys,
    members,
    second_factor,
    self_service,
    session,
)
from tracker.alerts.api import alerts
from tracker.clicks.api import click, decide, page_click, page_script
from tracker.conversions.api import consent, event, event_configs, unknown_words
from tracker.conversions.api.event_schema import EVENT_SCHEMAS
from tracker.costs.api import costs
from tracker.feeds.api import (
    ad_exports,
    clicks,
    conversion_delays,
    conversion_warnings,
    conversions,
    corrections,
    find,
    refused_postbacks,
    testing,
)
from tracker.imports.api import cut_over, imports
from tracker.links.api import (
    domains,
    qr_codes,
    rule_changes,
    short_link_bulk,
    short_link_changes,
    short_links,
    slugs,
    tags,
    tls_ask,
    unknown_paths,
    well_known,
)
from tracker.links.utm_templates import api as utm_templates
from tracker.live import api as live
from tracker.metrics import show_failures
from tracker.reports.api import experiments, link_figures, overview, reports, values
from tracker.service.api import health, metrics
from tracker.sharing.api import shared, shared_details, shares, views
from tracker.uploads.api import uploads
from tracker.web.endpoint import Endpoint, HandledEndpoint, Public
from tracker.web.endpoint_handler import EndpointHandler, PublicHandler
from tracker.web.openapi import documentation
from tracker.web.openapi.document import document
from tracker.web.protected import ProtectedHandler
from tracker.webhooks.api import deliveries, samples, statistics, templates, webhooks
from tracker.webhooks.api.payload_schema import payload_descriptions

_TAGS = {
    "Short links": "Links that are opened at `/c/{slug}`, and their destinations.",
    "Utm templates": "Named sets of UTM values, for the form of a link.",
    "Tags": "Labels of links, to filter lists and reports by.",
    "Domains": "Hostnames of the account that serve its links, proven by DNS.",
    "Event configs": "Kinds of conversions and what they pay; each has a postback key.",
    "Imports": "Links from other services: checked, imported, and taken back.",
    "Webhooks": "Receivers of conversions, and the deliveries to them.",
    "Alerts": "Figures that webhooks are told of when they are low, high or halved.",
    "Summaries": "Figures of weeks and months that webhooks are told.",
    "Account": "The account of the key, and its rules against forged conversions.",
    "Members": "The people of the account, and their roles.",
    "Invitations": "Links with which people join the account.",
    "Password resets": "Links with which members set a new password.",
    "Session": "Signing in to the console, and who is signed in.",
    "Audit": "What was changed in the account, by whom and when.",
    "Sessions": "The browsers in which a person is signed in.",
    "Keys": "The API keys of the account.",
    "Reports": "Sums of clicks, visitors, conversions and money.",
    "Costs": "What clicks of a period have cost.",
    "Shares": "Public links to reports.",
    "Views": "Reports that the account keeps by name.",
    "Clicks": "Opening short links: for visitors, without a key.",
    "Live": "New clicks and conversions, as Server-Sent Events.",
    "Conversions": "Recording conversions, without a key, and the account's log of them.",
    "Refused postbacks": "Rejected requests to report a conversion, with the reasons.",
    "Operations": "Requests of operators, balancers and proxies; not for the public.",
}

Endpoints = tuple[Endpoint | HandledEndpoint, ...]

_DECLARING = (
    *(
        short_links,
        short_link_bulk,
        short_link_changes,
        rule_changes,
        slugs,
        qr_codes,
        tags,
        utm_templates,
        domains,
        unknown_paths,
        event_configs,
        unknown_words,
        testing,
        decide,
    ),
    *(clicks, conversions, corrections, conversion_delays, conversion_warnings),
    *(refused_postbacks, ad_exports, find),
    *(webhooks, templates, statistics, deliveries, samples, alerts),
    *(imports, cut_over, uploads),
    *(keys, account, audit, members, invitations),
    *(reports, overview, values, link_figures, experiments, costs, live, shares, views),
    *(session, self_service, second_factor, join, shared, shared_details),
)
"""The modules whose endpoints are functions."""

DECLARED_ENDPOINTS: tuple[Endpoint, ...] = tuple(
    row for module in _DECLARING for row in module.endpoint.rows
)

VISITORS_ENDPOINTS: Endpoints = (
    *DECLARED_ENDPOINTS,
    *click.ENDPOINTS,
    *page_script.ENDPOINTS,
    *page_click.ENDPOINTS,
    *event.ENDPOINTS,
    *consent.ENDPOINTS,
    *well_known.ENDPOINTS,
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
    """Return Tornado's routes, one a path. `shared` are the arguments that every handler gets.

    The first match answers. So paths with a handler of their own come first, then the most literal.
    """
    own: dict[str, list[HandledEndpoint]] = {}
    declared: dict[str, dict[str, Endpoint]] = {}
    in_production = shared["process"].web.is_production
    for one in endpoints:
        if isinstance(one, Endpoint):
            declared.setdefault(one.pattern, {})[one.method] = one
        elif one.in_production or not in_production:
            own.setdefault(one.pattern, []).append(one)
        show_failures(one.path, [one.method])
    return [
        *(_own_route(pattern, rows, shared) for pattern, rows in own.items()),
        *(
            (pattern, _handler_of(declared[pattern]), {**shared, "endpoints": declared[pattern]})
            for pattern in sorted(declared, key=lambda pattern: -len(pattern.partition("(")[0]))
        ),
    ]


def _own_route(pattern: str, rows: Sequence[HandledEndpoint], shared: Mapping[str, Any]) -> Route:
    methods = tuple(one.method for one in rows)
    return pattern, rows[0].handler, {**shared, "route": rows[0].path, "methods": methods}


def _handler_of(endpoints: Mapping[str, Endpoint]) -> type[EndpointHandler]:
    [is_public] = {isinstance(one.access, Public) for one in endpoints.values()}
    return PublicHandler if is_public else ProtectedHandler


@cache
def description(base_url: str) -> bytes:
    """Return the OpenAPI document of the service at `base_url`, as JSON."""
    schemas = {**EVENT_SCHEMAS, **page_click.PAGE_SCHEMAS}
    return msgspec.json.encode(
        document(ENDPOINTS, base_url, _TAGS, schemas, payload_descriptions())
    )

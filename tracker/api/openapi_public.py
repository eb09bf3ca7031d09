"""The operations that need no API key, as OpenAPI describes them.

What opens a short link is read by hand, byte for byte (`clicks/redirect`), so it is told here by
hand too.
"""

from collections.abc import Mapping

from tracker.api.documentation import ASSETS
from tracker.api.openapi_event import EVENT
from tracker.api.openapi_parts import (
    TEXT,
    Described,
    PublicOperation,
    constants,
    header,
    json_content,
    public_answer,
    public_error,
    query,
    without_content,
)
from tracker.links.link import SLUG

EXAMPLE_SLUG = "spring"
HTML = "text/html"

_CLICKS = "Clicks"
_OPERATIONS = "Operations"

_NO_STORE = constants(Cache_Control="no-store", X_Robots_Tag="noindex")
_LOCATION = header(
    "the destination with its own query, then the parameters that are passed on, then click_id, "
    "a new UUID (not with HEAD)",
    TEXT | {"format": "uri-reference"},
)


def _refused(status: int, meaning: str = "", example: str = "") -> Described:
    """Of a short link: a page where `Accept` prefers one."""
    return public_error(status, meaning, example, (HTML,), _NO_STORE)


_OPENED = {
    302: public_answer(
        "To the destination. The click is durable.", headers={"Location": _LOCATION} | _NO_STORE
    ),
    400: _refused(400, "The slug is missing.", "s: required: the slug of a short link"),
    404: _refused(404, "No such link, or it is not active."),
    429: _refused(
        429,
        "The address has asked for too many links that do not exist, and too many such addresses "
        "wait. Links in use are never refused so.",
        "too many unknown names from this address",
    ),
    500: _refused(500),
    503: _refused(503),
}
_METHODS = {
    204: public_answer(
        "As `Allow` says.",
        headers=constants(Allow="GET, HEAD, OPTIONS", Cache_Control="no-store"),
    )
}
_SLUG = TEXT | {"pattern": f"^{SLUG.pattern}$", "examples": [EXAMPLE_SLUG]}
_DOMAIN = query(
    "d", TEXT | {"maxLength": 253}, "custom domain of the link; default: the host, if it is one"
)
_PASSED_ON: Described = {
    **query(
        "parameters",
        {"type": "object", "additionalProperties": TEXT},
        "any others: passed on to the destination, byte for byte",
    ),
    "style": "form",
    "explode": True,
    "example": {"utm_source": "newsletter"},
}


def _opening(
    path: str, name: str, slug: Described, answers: Mapping[int, Described]
) -> tuple[PublicOperation, ...]:
    get = PublicOperation(
        "GET",
        path,
        f"open{name}",
        _CLICKS,
        "Record a click and redirect to the destination",
        answers,
        (slug, _DOMAIN, _PASSED_ON),
    )
    head = get._replace(
        method="HEAD",
        id=f"peekAt{name}",
        summary="The same redirect; nothing is recorded",
        answers=without_content(answers),
    )
    options = get._replace(
        method="OPTIONS",
        id=f"optionsOf{name}",
        summary="The methods of a short link",
        answers=_METHODS,
        parameters=(slug | {"schema": TEXT},) if slug["in"] == "path" else (),
    )
    return get, head, options


def _asking(
    path: str,
    name: str,
    summary: str,
    answers: Mapping[int, Described],
    *parameters: Described,
) -> tuple[PublicOperation, ...]:
    """GET and HEAD of what machines and operators ask."""
    get = PublicOperation("GET", path, name, _OPERATIONS, summary, answers, parameters)
    head = get._replace(
        method="HEAD",
        id=f"{name}Head",
        summary=f"{summary}; headers only",
        answers=without_content(answers),
    )
    return get, head


def _said(name: str, value: Described, **others: Described) -> Described:
    """An answer of one field, and of `others` that may be left out."""
    schema = {"type": "object", "properties": {name: value, **others}, "required": [name]}
    return public_answer("Yes.", json_content(schema))


def _text(meaning: str, *media_types: str) -> Described:
    return public_answer(meaning, {one: {"schema": TEXT} for one in media_types})


PUBLIC_OPERATIONS: tuple[PublicOperation, ...] = (
    *_opening(
        "/c/{slug}",
        "ShortLink",
        {"name": "slug", "in": "path", "required": True, "schema": _SLUG},
        {status: answer for status, answer in _OPENED.items() if status != 400},
    ),
    *_opening("/api/click", "Click", query("s", _SLUG, "slug of the link", True), _OPENED),
    *EVENT,
    *_asking(
        "/healthz", "isAlive", "Is the process alive", {200: _said("status", {"const": "ok"})}
    ),
    *_asking("/livez", "isLive", "The same as /healthz", {200: _said("status", {"const": "ok"})}),
    *_asking(
        "/readyz",
        "isReady",
        "Is anything degraded, and are visitors and postbacks served all the same",
        {
            200: _said(
                "status",
                {"enum": ["ready", "degraded"]},
                degraded={
                    "type": "object",
                    "description": "what is wrong, by part: redis, mongodb, spool, indexes, "
                    "event_ids, loops",
                    "additionalProperties": TEXT,
                },
                spool_bytes={
                    "type": "integer",
                    "description": "what waits on disk for Redis, if anything does",
                },
            ),
            503: public_error(
                503,
                "Visitors or postbacks cannot be served. The message names every part that is "
                "degraded, and what waits on disk for Redis.",
                "visitors and postbacks cannot be served; redis: no answer; spool: no space left",
            ),
        },
    ),
    *_asking(
        "/metrics",
        "getMetrics",
        "Counters and gauges for Prometheus",
        {200: _text("Text format 0.0.4.", "text/plain")},
    ),
    *_asking(
        "/internal/tls-ask",
        "askForCertificate",
        "May a proxy fetch a certificate for a host (on-demand TLS)",
        {
            200: _said("ok", {"const": True}),
            400: public_error(
                400, example="domain: required: the host a certificate is wanted for"
            ),
            404: public_error(404, "No.", "domain: not a verified custom domain"),
            500: public_error(500),
            503: public_error(503),
        },
        query(
            "domain",
            TEXT | {"minLength": 1, "examples": ["go.example.com"]},
            "the host",
            required=True,
        ),
    ),
    *_asking(
        "/openapi.json",
        "getDescription",
        "This document",
        {200: public_answer("OpenAPI 3.1.", json_content({"type": "object"}))},
    ),
    *_asking("/docs", "getDocs", "This document, for reading", {200: _text("A page.", HTML)}),
    *_asking(
        "/docs/{file}",
        "getDocsFile",
        "What the page consists of",
        {
            200: _text("The file.", "text/javascript", "text/css"),
            404: public_error(404, "No such file.", "no such file"),
        },
        {"name": "file", "in": "path", "required": True, "schema": TEXT | {"enum": list(ASSETS)}},
    ),
)

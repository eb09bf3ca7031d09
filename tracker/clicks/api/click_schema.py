"""The OpenAPI parts of `/c/<slug>` and `/api/click`. Their requests are parsed by hand."""

from collections.abc import Mapping

from tracker.ids import SLUG
from tracker.links.hostnames import MAX_HOSTNAME_CHARACTERS
from tracker.web.openapi_parts import (
    TEXT,
    OpenApiPart,
    constants,
    header,
    public_answer,
    public_error,
    query,
)

EXAMPLE_SLUG = "spring"
HTML = "text/html"

_NO_STORE = constants(Cache_Control="no-store", X_Robots_Tag="noindex")
_LOCATION = header(
    "the destination with its own query, then the parameters that are passed on, then click_id, "
    "a new UUID (not with HEAD)",
    TEXT | {"format": "uri-reference"},
)


def _error(status: int, meaning: str = "", example: str = "") -> OpenApiPart:
    return public_error(status, meaning, example, (HTML,), _NO_STORE)


REDIRECT_ANSWERS = {
    302: public_answer(
        "Redirects to the destination. The click is durable.",
        headers={"Location": _LOCATION} | _NO_STORE,
    ),
    400: _error(400, "The slug is missing.", "s: required: the slug of a short link"),
    401: _error(401, "The link asks for a password.", "password: this link asks for one"),
    404: _error(404, "No such link, or it is not active."),
    429: _error(
        429,
        "The address has requested too many links that do not exist, and too many such addresses "
        "wait. Requests for links in use are never refused like this, but for their passwords.",
        "too many unknown names from this address",
    ),
    500: _error(500),
    503: _error(503),
}
_WITHOUT_PASSWORD = _error(
    405, "The link has no password.", "method not allowed; allowed: GET, HEAD, OPTIONS"
)
_FORM = {"type": "object", "properties": {"password": TEXT}, "required": ["password"]}
PASSWORD_FORM: OpenApiPart = {
    "content": {
        "application/x-www-form-urlencoded": {"schema": _FORM, "example": {"password": "sale 26"}}
    }
}
OPTIONS_ANSWERS = {
    204: public_answer(
        "`Allow` names the methods.",
        headers=constants(Allow="GET, HEAD, OPTIONS, POST", Cache_Control="no-store"),
    )
}
_SLUG = TEXT | {"pattern": f"^{SLUG.pattern}$", "examples": [EXAMPLE_SLUG]}
SLUG_IN_PATH: OpenApiPart = {"name": "slug", "in": "path", "required": True, "schema": _SLUG}
SLUG_IN_QUERY = query("s", _SLUG, "slug of the link", True)
DOMAIN_PARAMETER = query(
    "d",
    TEXT | {"maxLength": MAX_HOSTNAME_CHARACTERS},
    "custom domain of the link; default: the host, if it is one",
)
PASSED_ON_PARAMETERS: OpenApiPart = {
    **query(
        "parameters",
        {"type": "object", "additionalProperties": TEXT},
        "all others: passed on to the destination, byte for byte",
    ),
    "style": "form",
    "explode": True,
    "example": {"utm_source": "newsletter"},
}


def form_answers(answers: Mapping[int, OpenApiPart]) -> dict[int, OpenApiPart]:
    """Return the answers to a form with a password, from those to a visit."""
    of_visit = {303 if status == 302 else status: one for status, one in answers.items()}
    return {**of_visit, 405: _WITHOUT_PASSWORD}

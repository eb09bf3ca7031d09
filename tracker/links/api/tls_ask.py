"""`/internal/tls-ask`: whether a proxy may fetch a certificate for a host (Caddy's on-demand TLS).

Only proven domains may have one: strangers' names would cause endless requests.
"""

from tracker.errors import NotFound, Required
from tracker.links.hostnames import canonical_hostname
from tracker.syntax.url import parameter
from tracker.web.handler import Handler
from tracker.web.openapi_parts import TEXT, public_error, query
from tracker.web.operator_routes import operator_routes, single_field_response


class TlsAsk(Handler):
    """Answers 200 if the host in the query may have a certificate."""

    room = "links"

    async def get(self) -> None:
        """Raises BadRequest without a host, NotFound unless it is proven."""
        host = parameter(self.request.query, "domain")
        if not host:
            raise Required("domain: required: the host a certificate is wanted for")
        name = canonical_hostname(host)
        domain = await self.services.domains.by_name(name, self.client_address()) if name else None
        if domain is None or not domain.verified:
            raise NotFound("domain: not a verified custom domain")
        self.answer({"ok": True})

    head = get


ENDPOINTS = operator_routes(
    "/internal/tls-ask",
    TlsAsk,
    "askForCertificate",
    "May a proxy fetch a certificate for a host (on-demand TLS)",
    {
        200: single_field_response("ok", {"const": True}),
        400: public_error(400, example="domain: required: the host a certificate is wanted for"),
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
)

"""`/internal/tls-ask`: whether a proxy may fetch a certificate for a host.

What Caddy calls on-demand TLS: the proxy asks before it does. Only verified custom domains may have
one, so that a name pointed at the service does not make it ask for certificates without end.
"""

from tracker.api.handler import Handler
from tracker.errors import BadRequest, NotFound
from tracker.links.hostnames import canonical_hostname
from tracker.syntax.query import parameter


class TlsAsk(Handler):
    methods = ("GET", "HEAD")

    async def get(self) -> None:
        asked = parameter(self.request.query, "domain")
        if not asked:
            raise BadRequest("domain: required: the host a certificate is wanted for")
        name = canonical_hostname(asked)
        domain = await self.services.domains.by_name(name, self.client_address()) if name else None
        if domain is None or not domain.is_proven:
            raise NotFound("domain: not a verified custom domain")
        self.answer({"ok": True})

    head = get

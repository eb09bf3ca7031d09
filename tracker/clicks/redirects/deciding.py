"""Where the visitors of a link with rules or a split go, and what they bring for that. Pure."""

from collections.abc import Mapping
from typing import Final

from tracker.clicks.bots import bot_reason
from tracker.clicks.enrich import Enrichment
from tracker.clicks.sources import referrer_host
from tracker.clicks.visit import MAX_QUERY_CHARACTERS, ClientHeaders, Visit
from tracker.links.link import CachedLink
from tracker.links.rules.decider import Decider, Decision, decider_of
from tracker.links.rules.visitor import Visitor
from tracker.syntax.url import parameter

VARIANT: Final = "variant"
"""The parameter with which owners try a variant. Such a click is a test."""


class RequestVisitor(Visitor):
    """The visitor of a request. `raw_query` and `at` are None if they are not known."""

    _dimensions: Mapping[str, str] | None = None
    _referrer_host: str | None = None

    def __init__(
        self,
        enrichment: Enrichment,
        address: str,
        headers: ClientHeaders,
        raw_query: str | None,
        at: int | None,
    ) -> None:
        if raw_query is not None and len(raw_query) > MAX_QUERY_CHARACTERS:
            raw_query = raw_query[:MAX_QUERY_CHARACTERS].rpartition("&")[0]
        self.address = address
        self.user_agent = headers.user_agent
        self.raw_query = raw_query
        self.at = at
        self._enrichment = enrichment
        self._headers = headers

    def accept_language(self) -> str:
        return self._headers.languages

    def dimensions(self) -> Mapping[str, str]:
        if self._dimensions is None:
            country = self._headers.edge_country
            self._dimensions = self._enrichment.values(self.address, country, self.user_agent)
        return self._dimensions

    def referrer_host(self) -> str | None:
        if self._referrer_host is None:
            self._referrer_host = referrer_host(self._headers.referrer)
        return self._referrer_host

    def draws(self) -> bool:
        return bot_reason(self.user_agent, self._headers.purpose) is None


def decide(
    enrichment: Enrichment, visit: Visit, link: CachedLink, deciding: bytes, at: int
) -> tuple[Decision, bool]:
    """Return the decision for a visit, and whether it is a test of a variant."""
    visitor = RequestVisitor(enrichment, visit.address, visit.headers, visit.query, at)
    return decision_of(decider_of(deciding, link.destination_url), visitor, visit.query)


def decision_of(decider: Decider, visitor: RequestVisitor, query: str) -> tuple[Decision, bool]:
    """Return the decision of a compiled link, and whether the query asks for a variant."""
    if VARIANT in query:
        found = decider.variant(parameter(query, VARIANT))
        if found is not None:
            return found, True
    return decider.decide(visitor), False

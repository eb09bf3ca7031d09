"""Where the visitors of a link with rules or a split go, and what they bring for that. Pure."""

from typing import Final

from tracker.clicks.bots import bot_reason
from tracker.clicks.enrich import Enrichment
from tracker.clicks.sources import referrer_host
from tracker.clicks.visit import MAX_QUERY_CHARACTERS, Visit
from tracker.links.link import CachedLink
from tracker.links.rules.decider import Decision, decider_of
from tracker.links.rules.visitor import Visitor
from tracker.syntax.url import parameter

VARIANT: Final = "variant"
"""The parameter with which owners try a variant. Such a click is a test."""


def decide(
    enrichment: Enrichment, visit: Visit, link: CachedLink, deciding: bytes, at: int
) -> tuple[Decision, bool]:
    """Return the decision for a visit, and whether it is a test of a variant."""
    decider = decider_of(deciding, link.destination_url)
    asked = parameter(visit.query, VARIANT)
    if asked and (found := decider.variant(asked)) is not None:
        return found, True
    return decider.decide(_visitor(enrichment, visit, at)), False


def _visitor(enrichment: Enrichment, visit: Visit, at: int) -> Visitor:
    address, headers = visit.address, visit.headers
    agent = headers.user_agent
    return Visitor(
        dimensions=lambda: enrichment.values(address, headers.edge_country, agent),
        referrer_host=lambda: referrer_host(headers.referrer),
        draws=lambda: bot_reason(agent, headers.purpose) is None,
        languages=headers.languages,
        query=visit.query[:MAX_QUERY_CHARACTERS],
        address=address,
        user_agent=agent,
        at=at,
    )

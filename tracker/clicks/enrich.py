"""What is derived from a click: device, browser, system, country, bot reason; then its document."""

from functools import lru_cache
from typing import Any

from tracker.clicks.bots import bot_reason
from tracker.clicks.click import Click
from tracker.clicks.country import Countries
from tracker.clicks.dimensions import EnrichedVisit, values_of
from tracker.clicks.user_agent import describe
from tracker.clock import moment
from tracker.db.documents import StoredId


class Enrichment:
    """Used by the drain for every click, and by a redirect whose destination asks for a value."""

    def __init__(self, countries: Countries, store_ip: bool) -> None:
        self._countries = countries
        self._store_ip = store_ip

    def visit(self, click: Click) -> EnrichedVisit:
        """Return what the dimensions are derived from."""
        country = self._countries.of(click.address, click.edge_country)
        return EnrichedVisit(country, describe(click.user_agent))

    def document(self, click: Click) -> dict[str, Any]:
        """The click as MongoDB keeps it, with its ids as `StoredId`s: without the visitor's
        address, unless the operator asks.

        Whether it is the visitor's first is not told by the click alone: `unique` is False.
        """
        document = {
            "_id": StoredId(click.id),
            "account_id": _id_of_many(click.account_id),
            "link_id": _id_of_many(click.link_id),
            "at": moment(click.at),
            "domain_name": click.domain_name,
            **values_of(self.visit(click)),
            "bot": bot_reason(click.user_agent, click.purpose),
            "unique": False,
            "referrer": click.referrer,
            "user_agent": click.user_agent,
            "query": click.query,
        }
        if self._store_ip:
            document["address"] = click.address
        return document


_id_of_many = lru_cache(maxsize=10_000)(StoredId)
"""Of an account or a link, of which many clicks are."""

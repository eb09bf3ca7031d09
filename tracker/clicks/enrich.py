"""Enrichment: the values derived from a click, and its document in MongoDB."""

from functools import lru_cache
from typing import Final, cast

from tracker.clicks.bots import bot_reason
from tracker.clicks.click import Click
from tracker.clicks.country import Countries
from tracker.clicks.dimensions import EnrichedVisit, values_of
from tracker.clicks.document import ClickDocument
from tracker.clicks.user_agent import describe
from tracker.clock import moment
from tracker.db.documents import StoredId

CACHED_IDS: Final = 10_000
"""Ids of accounts and links that stay converted in memory."""


class Enrichment:
    """The derivation of a click's values.

    Used by the drain for every click, and by a redirect whose destination asks for a value.
    """

    def __init__(self, countries: Countries, store_ip: bool) -> None:
        self._countries = countries
        self._store_ip = store_ip

    def visit(self, click: Click) -> EnrichedVisit:
        """Return the country and agent of a click, from which its dimensions are derived."""
        country = self._countries.of(click.address, click.edge_country)
        return EnrichedVisit(country, describe(click.user_agent))

    def document(self, click: Click) -> ClickDocument:
        """Return the click's document, with its ids as `StoredId`s.

        It has the visitor's address only if the operator wants it stored. `unique` is False: one
        click alone does not say whether it is the first of its visitor.
        """
        document = {
            "_id": StoredId(click.id),
            "account_id": _shared_id(click.account_id),
            "link_id": _shared_id(click.link_id),
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
        return cast(ClickDocument, document)  # the dimensions' names come from their table


_shared_id = lru_cache(maxsize=CACHED_IDS)(StoredId)
"""The id of an account or a link, which many clicks share."""

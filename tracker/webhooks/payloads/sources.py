"""The documents of payloads, which the sender loads for the deliveries it has claimed."""

import asyncio
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, NamedTuple
from uuid import UUID

from tracker.conversions.consent import consents_of
from tracker.conversions.corrections.changes import RESTATED
from tracker.stores.mongodb.database import MongoDB
from tracker.webhooks.delivery import Delivery
from tracker.webhooks.macros import Unfillable
from tracker.webhooks.payloads.values import MacroValues, of_click, values_of

Rows = Mapping[Any, Mapping[str, Any]]
"""Documents by id."""


class PayloadSources(NamedTuple):
    """The documents of payloads. `base_host` is the host of links without their own domain."""

    conversions: Rows
    clicks: Rows
    links: Rows
    event_configs: Rows
    tags: Rows
    accounts: Rows
    consents: Mapping[bytes, str]
    base_host: str

    def values(self, delivery: Delivery) -> MacroValues:
        """Return the macros' values, with status and money as the delivery tells them.

        Raises Unfillable if the conversion is no longer stored.
        """
        stored = self.conversions.get(delivery.event_id)
        if stored is None:
            raise Unfillable("the event is no longer stored")
        told = {} if delivery.state is None else {**dict.fromkeys(RESTATED), **delivery.state}
        conversion = {**stored, **told, "previous": delivery.previous, "reason": delivery.reason}
        if conversion.get("currency") is None:
            account = self.accounts.get(conversion["account_id"], {})
            conversion["currency"] = account.get("currency")
        return self._values(conversion)

    def values_of_click(self, click: Mapping[str, Any]) -> MacroValues:
        """Return the values of a click that is told of alone, as a conversion without any."""
        nothing = dict.fromkeys(("metadata", "event_config_id", "value", "payout"))
        owned = {"click_id": click["_id"], "account_id": click["account_id"], "at": click["at"]}
        return of_click(self._values({**nothing, **owned, "_id": 0}))

    def _values(self, conversion: dict[str, Any]) -> MacroValues:
        click_id = conversion["click_id"]
        click = self.clicks.get(click_id)
        is_own = click is None or click["account_id"] == conversion["account_id"]
        if click_id is not None and is_own and "consent" not in conversion:
            conversion["consent"] = self.consents.get(click_id.bytes)
        link = self.links.get((click or conversion).get("link_id"))
        ids = link["tags"] if link else ()
        tags = [self.tags[one]["name"] for one in ids if one in self.tags]
        config = self.event_configs.get(conversion["event_config_id"])
        return values_of(conversion, click, link, config, tags, self.base_host)


class PayloadLoader:
    """Loads the documents of many payloads at once."""

    def __init__(self, mongodb: MongoDB, base_host: str) -> None:
        self._mongodb = mongodb
        self._database = mongodb.database
        self._base_host = base_host

    async def load(
        self, event_ids: Collection[int], clicks_alone: Collection[UUID] = ()
    ) -> PayloadSources:
        conversions = await self._read("events", event_ids)
        click_ids = _ids(conversions.values(), "click_id").union(clicks_alone)
        clicks, consents, configs, accounts = await asyncio.gather(
            self._read("clicks", click_ids),
            consents_of(self._mongodb.reads, [one.bytes for one in click_ids]),
            self._read("event_configs", _ids(conversions.values(), "event_config_id")),
            self._read("accounts", _ids(conversions.values(), "account_id"), ["currency"]),
        )
        known = [*conversions.values(), *clicks.values()]
        links = await self._read("links", _ids(known, "link_id"))
        tags = await self._read("tags", {tag for link in links.values() for tag in link["tags"]})
        return PayloadSources(
            conversions, clicks, links, configs, tags, accounts, consents, self._base_host
        )

    async def _read(
        self, collection: str, ids: Collection[Any], fields: Sequence[str] | None = None
    ) -> Rows:
        if not ids:
            return {}
        rows = self._database[collection].find({"_id": {"$in": list(ids)}}, fields)
        return {row["_id"]: row async for row in rows}


def _ids(rows: Iterable[Mapping[str, Any]], name: str) -> set[UUID]:
    return {row[name] for row in rows if row.get(name) is not None}

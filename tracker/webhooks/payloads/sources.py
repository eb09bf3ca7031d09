"""The stored documents of events, which the sender loads for the deliveries it has claimed."""

import asyncio
from collections.abc import Collection, Iterable, Mapping
from typing import Any, NamedTuple
from uuid import UUID

from tracker.stores.mongodb.database import MongoDB
from tracker.webhooks.payloads.values import Values, values_of

Rows = Mapping[Any, Mapping[str, Any]]
"""Documents by id."""


class NoPayload(Exception):
    """The reason why a payload cannot be made, for the owner of the webhook."""


class PayloadSources(NamedTuple):
    """The documents of payloads. `base_host` is the host of links without their own domain."""

    events: Rows
    clicks: Rows
    links: Rows
    event_configs: Rows
    tags: Rows
    base_host: str

    def values(self, event_id: int) -> Values:
        """Return the values of an event's macros. Raises NoPayload if it is no longer stored."""
        event = self.events.get(event_id)
        if event is None:
            raise NoPayload("the event is no longer stored")
        click = self.clicks.get(event["click_id"])
        link = self.links.get((click or event).get("link_id"))
        ids = link["tags"] if link else ()
        tags = [self.tags[one]["name"] for one in ids if one in self.tags]
        config = self.event_configs.get(event["event_config_id"])
        return values_of(event, click, link, config, tags, self.base_host)


class PayloadLoader:
    """A loader of the documents of many payloads at once."""

    def __init__(self, mongodb: MongoDB, base_host: str) -> None:
        self._database = mongodb.database
        self._base_host = base_host

    async def load(self, event_ids: Collection[int]) -> PayloadSources:
        events = await self._read("events", event_ids)
        clicks, configs = await asyncio.gather(
            self._read("clicks", _ids(events.values(), "click_id")),
            self._read("event_configs", _ids(events.values(), "event_config_id")),
        )
        known = [*events.values(), *clicks.values()]
        links = await self._read("links", _ids(known, "link_id"))
        tags = await self._read("tags", {tag for link in links.values() for tag in link["tags"]})
        return PayloadSources(events, clicks, links, configs, tags, self._base_host)

    async def _read(self, collection: str, ids: Collection[Any]) -> Rows:
        if not ids:
            return {}
        rows = self._database[collection].find({"_id": {"$in": list(ids)}})
        return {row["_id"]: row async for row in rows}


def _ids(rows: Iterable[Mapping[str, Any]], name: str) -> set[UUID]:
    return {row[name] for row in rows if row.get(name) is not None}

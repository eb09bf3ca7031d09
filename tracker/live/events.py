"""The events that people get: what landed with the names of links, and the state of an account."""

from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

import msgspec

from tracker.clock import iso
from tracker.db.connect import Database
from tracker.live.landed import ClickRow, ClickValues, ConversionRow, ConversionValues, Landed
from tracker.live.recent import MINUTES, Recent
from tracker.live.stream import LiveEvent


class LiveLink(msgspec.Struct, frozen=True, kw_only=True):
    """The link of a click."""

    id: UUID
    internal_name: str
    slug: str


class LiveEventConfig(msgspec.Struct, frozen=True, kw_only=True):
    """The event configuration of a conversion."""

    id: UUID
    name: str


class LiveClick(ClickValues, frozen=True, kw_only=True):
    """A click, as it is shown."""

    at: str
    link: LiveLink | None


class LiveConversion(ConversionValues, frozen=True, kw_only=True):
    """A conversion, as it is shown."""

    event_id: str
    at: str
    link: LiveLink | None
    event_config: LiveEventConfig | None


class LiveClicks(msgspec.Struct, frozen=True, kw_only=True):
    """Clicks that landed: how many, how many of them bots', and the last of them."""

    count: int
    bots: int
    rows: Sequence[LiveClick]


class LiveConversions(msgspec.Struct, frozen=True, kw_only=True):
    """Conversions that landed: how many, and the last of them."""

    count: int
    rows: Sequence[LiveConversion]


class LiveState(msgspec.Struct, frozen=True, kw_only=True):
    """The clicks of people and of bots, and the conversions, of the last minutes.

    `behind_seconds` is the age of the oldest click or event that is not stored yet; 0 if all are on
    their way.
    """

    clicks: int
    bots: int
    conversions: int
    minutes: int
    behind_seconds: int = msgspec.field(name="behindSeconds")


def state_event(counts: Recent, behind_seconds: int) -> LiveEvent:
    """Return the event of a state."""
    state = LiveState(
        clicks=counts.clicks,
        bots=counts.bots,
        conversions=counts.conversions,
        minutes=MINUTES,
        behind_seconds=behind_seconds,
    )
    return LiveEvent("state", state)


async def events_of(database: Database, landed: Landed, own_host: str) -> list[LiveEvent]:
    """Return the events of what landed; `own_host` is the domain of links without one.

    Raises PyMongoError if MongoDB does not answer.
    """
    links = await _links(database, landed)
    configs = await _event_configs(database, landed)
    events = []
    if landed.clicks:
        rows = [_click(row, links, own_host) for row in landed.click_rows]
        shown = LiveClicks(count=landed.clicks, bots=landed.bots, rows=rows)
        events.append(LiveEvent("clicks", shown))
    if landed.conversions:
        converted = [_conversion(row, links, configs) for row in landed.conversion_rows]
        events.append(
            LiveEvent("conversions", LiveConversions(count=landed.conversions, rows=converted))
        )
    return events


async def _links(database: Database, landed: Landed) -> Mapping[UUID, LiveLink]:
    ids = {row.link_id for row in landed.click_rows}
    ids |= {row.link_id for row in landed.conversion_rows if row.link_id is not None}
    found = await _named(database, "links", landed.account_id, ids, ["internal_name", "slug"])
    return {
        key: LiveLink(id=key, internal_name=row["internal_name"], slug=row["slug"])
        for key, row in found.items()
    }


async def _event_configs(database: Database, landed: Landed) -> Mapping[UUID, LiveEventConfig]:
    ids = {row.event_config_id for row in landed.conversion_rows if row.event_config_id}
    found = await _named(database, "event_configs", landed.account_id, ids, ["name"])
    return {key: LiveEventConfig(id=key, name=row["name"]) for key, row in found.items()}


async def _named(
    database: Database, collection: str, account_id: UUID, ids: set[UUID], fields: Sequence[str]
) -> dict[UUID, dict[str, Any]]:
    if not ids:
        return {}
    wanted = {"_id": {"$in": list(ids)}, "account_id": account_id}
    return {row["_id"]: row async for row in database[collection].find(wanted, fields)}


def _click(row: ClickRow, links: Mapping[UUID, LiveLink], own_host: str) -> LiveClick:
    fields = msgspec.structs.asdict(row)
    fields["at"] = iso(row.at)
    fields["domain"] = row.domain or own_host
    return LiveClick(link=links.get(fields.pop("link_id")), **fields)


def _conversion(
    row: ConversionRow, links: Mapping[UUID, LiveLink], configs: Mapping[UUID, LiveEventConfig]
) -> LiveConversion:
    fields = msgspec.structs.asdict(row)
    fields["at"] = iso(row.at)
    return LiveConversion(
        event_id=str(fields.pop("event_id")),
        link=links.get(fields.pop("link_id")),
        event_config=configs.get(fields.pop("event_config_id")),
        **fields,
    )

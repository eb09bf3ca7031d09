"""The events of a stream: new clicks and conversions, and the state of an account."""

from collections.abc import Collection, Mapping, Sequence
from decimal import Decimal
from typing import Any, NamedTuple
from uuid import UUID

import msgspec

from tracker.clicks.document import VisitorValues
from tracker.clock import iso
from tracker.feeds.clicks import StoredClick
from tracker.feeds.conversions import StoredConversion
from tracker.live.new_rows import NewRows
from tracker.live.recent import MINUTES, RecentCounts
from tracker.live.stream import LiveEvent
from tracker.stores.mongodb.documents import as_struct
from tracker.stores.mongodb.reads import MongoReads


class LiveLink(msgspec.Struct, frozen=True, kw_only=True):
    """The link of a click or a conversion."""

    id: UUID
    internal_name: str
    slug: str


class LiveEventConfig(msgspec.Struct, frozen=True, kw_only=True):
    """The event configuration of a conversion."""

    id: UUID
    name: str


class LiveClick(VisitorValues[str], frozen=True, kw_only=True):
    """A shown click. `referrer` is the host."""

    domain: str
    referrer: str | None
    test: bool
    link: LiveLink | None


class LiveConversion(msgspec.Struct, frozen=True, kw_only=True):
    """A shown conversion. Without its click it has no country and device."""

    status: str
    click_id: UUID | None
    value: Decimal | None
    payout: Decimal | None
    country: str | None
    device: str | None
    event_id: int
    at: str
    link: LiveLink | None
    event_config: LiveEventConfig | None


class LiveClicks(msgspec.Struct, frozen=True, kw_only=True):
    """New clicks: their number, how many are from bots, and the last ones, including tests."""

    count: int
    bots: int
    rows: Sequence[LiveClick]


class LiveConversions(msgspec.Struct, frozen=True, kw_only=True):
    """New conversions: their number, and the last ones, including tests."""

    count: int
    rows: Sequence[LiveConversion]


class LiveState(msgspec.Struct, frozen=True, kw_only=True):
    """The clicks of people and of bots, and the conversions, of the last minutes.

    `behind_seconds` is the age of the oldest unstored click or conversion; 0 if none is late.
    """

    clicks: int
    bots: int
    conversions: int
    minutes: int
    behind_seconds: int = msgspec.field(name="behindSeconds")


def state_event(counts: RecentCounts, behind_seconds: int) -> LiveEvent:
    state = LiveState(
        clicks=counts.clicks,
        bots=counts.bots,
        conversions=counts.conversions,
        minutes=MINUTES,
        behind_seconds=behind_seconds,
    )
    return LiveEvent("state", state)


class RowNames(NamedTuple):
    """The links and event configurations of rows, by id."""

    links: Mapping[UUID, LiveLink]
    event_configs: Mapping[UUID, LiveEventConfig]


async def names_of(reader: MongoReads, new: Collection[NewRows]) -> RowNames:
    clicks = [row for one in new for row in one.click_rows]
    conversions = [row for one in new for row in one.conversion_rows]
    links = {row.link_id for row in clicks}
    links |= {row.link_id for row in conversions if row.link_id}
    configs = {row.event_config_id for row in conversions if row.event_config_id}
    found = await _find(reader, "links", links, ["internal_name", "slug"])
    configs_found = await _find(reader, "event_configs", configs, ["name"])
    return RowNames(
        {one["_id"]: as_struct(LiveLink, one) for one in found},
        {one["_id"]: as_struct(LiveEventConfig, one) for one in configs_found},
    )


async def _find(
    reader: MongoReads, collection: str, ids: set[UUID], fields: Sequence[str]
) -> Sequence[dict[str, Any]]:
    return await reader.find(collection, {"_id": {"$in": list(ids)}}, fields) if ids else []


def events_of(new: NewRows, names: RowNames, base_host: str) -> list[LiveEvent]:
    """Return the events of new rows; `base_host` is the domain of links without one."""
    events = []
    if new.click_rows:
        clicks = [_click(row, names, base_host) for row in new.click_rows]
        shown = LiveClicks(count=new.clicks, bots=new.bots, rows=clicks)
        events.append(LiveEvent("clicks", shown))
    if new.conversion_rows:
        rows = [_conversion(row, names) for row in new.conversion_rows]
        events.append(LiveEvent("conversions", LiveConversions(count=new.conversions, rows=rows)))
    return events


def _click(row: StoredClick, names: RowNames, base_host: str) -> LiveClick:
    shown = {name: getattr(row, name) for name in VisitorValues.__struct_fields__}
    return LiveClick(
        **{**shown, "at": iso(row.at)},
        domain=row.domain_name or base_host,
        referrer=row.referrer_host,
        test=row.test,
        link=names.links.get(row.link_id),
    )


def _conversion(row: StoredConversion, names: RowNames) -> LiveConversion:
    return LiveConversion(
        status=row.status,
        click_id=row.click_id,
        value=row.value,
        payout=row.payout,
        country=row.country,
        device=row.device,
        event_id=row.id,
        at=iso(row.at),
        link=names.links.get(row.link_id) if row.link_id else None,
        event_config=names.event_configs.get(row.event_config_id) if row.event_config_id else None,
    )

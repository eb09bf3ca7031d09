"""The events of a stream: new clicks and conversions, and the state of an account."""

from collections.abc import Collection, Mapping, Sequence
from decimal import Decimal
from typing import Any, NamedTuple
from uuid import UUID

import msgspec

from tracker.clicks.document import VisitorValues
from tracker.clock import iso
from tracker.feeds.api.click_records import ClickLink
from tracker.feeds.api.conversion_schema import ConversionEventConfig
from tracker.feeds.clicks import StoredClick
from tracker.feeds.conversions import StoredConversion
from tracker.live.new_rows import NewRows
from tracker.live.stream import LiveEvent
from tracker.stores.mongodb.documents import as_struct
from tracker.stores.mongodb.reads import MongoReads


class LiveClick(VisitorValues[str], frozen=True, kw_only=True):
    """A shown click. `referrer` is the host."""

    domain: str
    referrer: str | None
    test: bool
    link: ClickLink | None


class LiveConversion(msgspec.Struct, frozen=True, kw_only=True):
    """A shown conversion. Without its click it has no country and device."""

    status: str
    attribution: str
    click_id: UUID | None
    value: Decimal | None
    payout: Decimal | None
    refunded_value: Decimal | None
    currency: str | None
    country: str | None
    device: str | None
    event_id: int
    at: str
    link: ClickLink | None
    event_config: ConversionEventConfig | None


class LiveClicks(msgspec.Struct, frozen=True, kw_only=True):
    """New clicks: their number, how many are from bots, and the last ones, including tests."""

    count: int
    bots: int
    rows: Sequence[LiveClick]


class LiveConversions(msgspec.Struct, frozen=True, kw_only=True):
    """New conversions: their number, and the last ones, including tests."""

    count: int
    rows: Sequence[LiveConversion]


class RowNames(NamedTuple):
    """The links and event configurations of rows, and currencies of their accounts, by id."""

    links: Mapping[UUID, ClickLink]
    event_configs: Mapping[UUID, ConversionEventConfig]
    currencies: Mapping[UUID, str]


async def names_of(reader: MongoReads, new: Collection[NewRows]) -> RowNames:
    clicks = [row for one in new for row in one.click_rows]
    conversions = [row for one in new for row in one.conversion_rows]
    links = {row.link_id for row in clicks}
    links |= {row.link_id for row in conversions if row.link_id}
    configs = {row.event_config_id for row in conversions if row.event_config_id}
    found = await _find(reader, "links", links, ["internal_name", "slug"])
    accounts = {row.account_id for row in conversions}
    accounts_found = await _find(reader, "accounts", accounts, ["currency"])
    configs_found = await _find(reader, "event_configs", configs, ["name"])
    return RowNames(
        {one["_id"]: as_struct(ClickLink, one) for one in found},
        {one["_id"]: as_struct(ConversionEventConfig, one) for one in configs_found},
        {one["_id"]: one["currency"] for one in accounts_found if one.get("currency")},
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
        status=row.reported,
        attribution=row.status,
        click_id=row.click_id,
        value=row.value,
        payout=row.payout,
        refunded_value=row.refunded_value,
        currency=row.currency or names.currencies.get(row.account_id),
        country=row.country,
        device=row.device,
        event_id=row.id,
        at=iso(row.at),
        link=names.links.get(row.link_id) if row.link_id else None,
        event_config=names.event_configs.get(row.event_config_id) if row.event_config_id else None,
    )

"""`/api/conversions/export/…`: conversions as the files that ad platforms take by hand."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from decimal import Decimal
from typing import Annotated, Any, Final
from uuid import UUID

import msgspec
from msgspec import UNSET, Meta, field

from tracker.calendar import Calendar
from tracker.conversions.corrections.status import Status
from tracker.conversions.document import Attribution
from tracker.feeds.api.feed_request import all_of_feed
from tracker.feeds.api.schema import FeedQuery
from tracker.feeds.arrivals import FeedName
from tracker.feeds.conversions import StoredConversion
from tracker.feeds.services import FeedCall
from tracker.reports.dimensions import EVENT, FILTERS
from tracker.web.call import Nothing
from tracker.web.endpoint import Endpoints
from tracker.web.export import Export, FileFormatIn
from tracker.web.limits import MAX_FILTER_VALUES
from tracker.web.schema import FilterText

endpoint = Endpoints("feeds")

_MONEY: Final = ("value", "refunded_value")


class ListForPlatform(FeedQuery, kw_only=True):
    """The conversions to export. A filter of clicks is that of their clicks."""

    FEED = FeedName.CONVERSIONS

    event: Annotated[
        list[FilterText], Meta(max_length=MAX_FILTER_VALUES, description=FILTERS[EVENT].about)
    ] = field(default_factory=list)
    format: FileFormatIn = UNSET


class ForGoogle(msgspec.Struct, kw_only=True):
    """A conversion of a click from Google Ads."""

    click_id: str = field(name="Google Click ID")
    name: str = field(name="Conversion Name")
    at: str = field(name="Conversion Time")
    value: Decimal | None = field(name="Conversion Value")
    currency: str | None = field(name="Conversion Currency")


class ForMicrosoft(msgspec.Struct, kw_only=True):
    """A conversion of a click from Microsoft Advertising."""

    click_id: str = field(name="Microsoft Click Id")
    name: str = field(name="Conversion Name")
    at: str = field(name="Conversion Time")
    value: Decimal | None = field(name="Conversion Value")
    currency: str | None = field(name="Conversion Currency Code")


Record = ForGoogle | ForMicrosoft


def _rows_of(
    ad_id: str, record: Callable[..., Record]
) -> Callable[[FeedCall[Any, Nothing]], AsyncGenerator[Sequence[Record], None]]:
    """Return what yields the approved conversions of clicks with an id of the platform."""

    async def rows(
        call: FeedCall[ListForPlatform, Nothing],
    ) -> AsyncGenerator[Sequence[Record], None]:
        reader = call.web.mongodb.reads
        account = await reader.find_one("accounts", {"_id": call.account_id}, ["currency"]) or {}
        calendar = await call.services.accounts.time_zones.find(call.account_id)
        named: dict[UUID, str] = {}

        async def show(_: FeedCall[Any, Nothing], page: Sequence[StoredConversion]) -> list[Record]:
            ones = [one for one in page if one.status is Attribution.ATTRIBUTED]
            own = {"account_id": call.account_id}
            unknown = {one.event_config_id for one in ones if one.event_config_id} - named.keys()
            clicks, events, configs = await asyncio.gather(
                reader.find(
                    "clicks",
                    {"_id": {"$in": [one.click_id for one in ones]}, **own},
                    [f"ad_ids.{ad_id}"],
                ),
                reader.find(
                    "events",
                    {"_id": {"$in": [one.id for one in ones]}, **own},
                    ["click_id", "event_config_id", "at", "reported", "currency", *_MONEY],
                ),
                call.services.conversions.event_configs.find_all(unknown),
            )
            named.update({one.id: one.name for one in configs.values()})
            ids = {one["_id"]: one.get("ad_ids", {}).get(ad_id) for one in clicks}
            by_id = {int(one["_id"]): one for one in events}
            return [
                record(
                    click_id=ids[event["click_id"]],
                    name=named[event["event_config_id"]],
                    **_fields(event, calendar, account.get("currency")),
                )
                for one in ones
                if (event := by_id.get(one.id)) and ids.get(event["click_id"])
                if event["event_config_id"] in named
                if event.get("reported") in (None, Status.APPROVED)
            ]

        async for found in all_of_feed(call, call.services.conversion_feed, show):
            yield found

    return rows


def _fields(event: Mapping[str, Any], calendar: Calendar, home: str | None) -> dict[str, Any]:
    value, refunded = (
        None if event.get(one) is None else event[one].to_decimal() for one in _MONEY
    )
    return {
        "at": calendar.local(event["at"]).isoformat(" ", "seconds"),
        "value": value if value is None or refunded is None else value - refunded,
        "currency": event.get("currency") or home,
    }


for _name, _title, _id, _record in (
    ("google-ads", "Google Ads", "gclid", ForGoogle),
    ("microsoft-ads", "Microsoft Advertising", "msclkid", ForMicrosoft),
):
    endpoint.file(
        f"/api/conversions/export/{_name}",
        "conversions:read",
        Export(_name, f"Export approved conversions for {_title}", _record, _rows_of(_id, _record)),
        ListForPlatform,
    )

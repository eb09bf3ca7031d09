"""`/api/conversions/export/…`: conversions as the files that ad platforms take by hand."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Sequence
from decimal import Decimal
from typing import Annotated, Any
from uuid import UUID

import msgspec
from msgspec import UNSET, Meta, field

from tracker.conversions.corrections.status import Status
from tracker.conversions.document import Attribution
from tracker.feeds.api.feed_request import account_currency, all_of_feed
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
        home, configs = await account_currency(call), call.services.conversions.event_configs
        calendar = await call.services.accounts.time_zones.find(call.account_id)

        async def show(_: FeedCall[Any, Nothing], page: Sequence[StoredConversion]) -> list[Record]:
            ones = [one for one in page if _is_shown(one)]
            ids, named = await asyncio.gather(
                _ad_ids(call, ad_id, ones),
                configs.find_all({one.event_config_id for one in ones if one.event_config_id}),
            )
            return [
                record(
                    click_id=ids[one.click_id],
                    name=named[one.event_config_id].name,
                    at=calendar.local(one.at).isoformat(" ", "seconds"),
                    value=one.value and one.value - (one.refunded_value or 0),
                    currency=one.currency or home,
                )
                for one in ones
                if one.click_id in ids and one.event_config_id in named
            ]

        async for found in all_of_feed(call, call.services.conversion_feed, show):
            yield found

    return rows


def _is_shown(one: StoredConversion) -> bool:
    return one.status is Attribution.ATTRIBUTED and one.reported is Status.APPROVED


async def _ad_ids(
    call: FeedCall[Any, Nothing], ad_id: str, ones: Sequence[StoredConversion]
) -> dict[UUID | None, str]:
    """Return the platform's ids of the account's clicks that have one."""
    wanted = {"_id": {"$in": [one.click_id for one in ones]}, "account_id": call.account_id}
    rows = await call.web.mongodb.reads.find("clicks", wanted, [f"ad_ids.{ad_id}"])
    return {one["_id"]: found for one in rows if (found := one.get("ad_ids", {}).get(ad_id))}


for _name, _title, _id, _record, _operation_id in (
    ("google-ads", "Google Ads", "gclid", ForGoogle, "exportGoogleAdsConversions"),
    (
        *("microsoft-ads", "Microsoft Advertising", "msclkid"),
        *(ForMicrosoft, "exportMicrosoftAdsConversions"),
    ),
):
    endpoint.file(
        f"/api/conversions/export/{_name}",
        "conversions:read",
        Export(_name, f"Export approved conversions for {_title}", _record, _rows_of(_id, _record)),
        ListForPlatform,
        _operation_id,
    )

"""`/api/clicks`: the feed of an account's clicks."""

import asyncio
from collections.abc import Sequence
from typing import Annotated, Any, TypeVar
from uuid import UUID

from msgspec import Meta
from msgspec.structs import replace

from tracker.calendar import Calendar
from tracker.clicks.document import decoded
from tracker.conversions.consent import consents_of
from tracker.feeds.api.click_records import (
    ClickFields,
    ClickLink,
    ClickRecord,
    decided_by,
    record_in,
)
from tracker.feeds.api.feed_request import all_of_feed, page_of_feed, parameter_columns
from tracker.feeds.api.schema import FeedPage, FeedQuery
from tracker.feeds.arrivals import FeedName
from tracker.feeds.clicks import StoredClick
from tracker.feeds.filter import FeedFilter, Tests
from tracker.feeds.services import FeedCall
from tracker.web.call import Nothing
from tracker.web.endpoint import Endpoints
from tracker.web.export import Export
from tracker.web.resource import record_of

endpoint = Endpoints("feeds")

Record = TypeVar("Record", bound=ClickFields)


class ListClicks(FeedQuery, kw_only=True):
    """The page of clicks to list."""

    FEED = FeedName.CLICKS

    tests: Annotated[
        Tests,
        Meta(
            description="clicks that the account made as tests: shown too (include), "
            "left out (exclude), or shown alone (only)"
        ),
    ] = "include"
    click_id: Annotated[UUID | None, Meta(description="the click itself")] = None

    def filter(self, calendar: Calendar, host: str) -> FeedFilter:
        return replace(super().filter(calendar, host), tests=self.tests, id=self.click_id)


async def shown_clicks(
    call: FeedCall[Any, Nothing], clicks: Sequence[StoredClick]
) -> list[ClickRecord]:
    """Return the records of clicks, with a query each for what others have of them."""
    if not clicks:
        return []
    services, ids = call.services, [click.id for click in clicks]
    links, conversions, decided, consents = await asyncio.gather(
        services.links.links.find_all({click.link_id for click in clicks}),
        services.conversion_feed.count_of_clicks(call.account_id, ids),
        decided_by(services.reads, clicks),
        consents_of(services.reads, [one.bytes for one in ids]),
    )
    return [
        click_record(
            ClickRecord,
            click,
            link=record_in(ClickLink, links, click.link_id),
            domain=click.domain_name or services.public_url.host,
            conversions=conversions.get(click.id, 0),
            parent_click_id=click.parent_id if click.parent_link_id else None,
            consent=consents.get(click.id.bytes, click.consent),
            **by,
        )
        for click, by in zip(clicks, decided, strict=True)
    ]


def click_record(kind: type[Record], click: StoredClick, **others: object) -> Record:
    """Return a record with the fields `others`; the remaining ones are the click's."""
    texts = {"referrer": decoded(click.referrer) or None, "query": decoded(click.query)}
    return record_of(kind, click, **texts, **others)


@endpoint(
    "GET",
    "/api/clicks",
    # Not reports:read, which shows sums only: clicks, like conversions, show single visitors.
    "conversions:read",
    export=Export(
        "clicks",
        "Export all clicks that pass the filters, as CSV or NDJSON",
        ClickRecord,
        lambda call: all_of_feed(call, call.services.click_feed, shown_clicks),
        account_columns=parameter_columns,
    ),
    limited=True,
)
async def list_clicks(call: FeedCall[ListClicks, Nothing]) -> FeedPage[ClickRecord]:
    """List clicks, newest first, or everything that was stored after a cursor."""
    return await page_of_feed(call, call.services.click_feed, shown_clicks)

"""`/api/clicks`: the feed of an account's clicks."""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from typing import Annotated, TypeVar
from uuid import UUID

from msgspec import Meta
from msgspec.structs import replace

from tracker.calendar import Calendar
from tracker.clicks.document import decoded
from tracker.feeds.api.click_records import ClickFields, ClickLink, ClickRecord
from tracker.feeds.api.feed_request import all_of_feed, feed_filter
from tracker.feeds.api.schema import FeedAnswer, FeedQuery, cursor_fields
from tracker.feeds.arrivals import FeedName
from tracker.feeds.clicks import StoredClick
from tracker.feeds.filter import FeedFilter, Tests
from tracker.feeds.services import FeedCall, FeedServices
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

    def filter(self, calendar: Calendar, host: str) -> FeedFilter:
        return replace(super().filter(calendar, host), tests=self.tests)


async def show_clicks(
    services: FeedServices, account_id: UUID, clicks: Sequence[StoredClick]
) -> list[ClickRecord]:
    """Return the records of clicks, with one query for links and one for conversions."""
    if not clicks:
        return []
    links, conversions = await asyncio.gather(
        services.links.links.find_all({click.link_id for click in clicks}),
        services.conversion_feed.count_of_clicks(account_id, [click.id for click in clicks]),
    )
    records = []
    for click in clicks:
        link = links.get(click.link_id)
        records.append(
            click_record(
                ClickRecord,
                click,
                link=record_of(ClickLink, link) if link else None,
                domain=click.domain_name or services.public_url.host,
                conversions=conversions.get(click.id, 0),
            )
        )
    return records


def click_record(kind: type[Record], click: StoredClick, **others: object) -> Record:
    """Return a record with the fields `others`; the remaining ones are the click's."""
    texts = {"referrer": decoded(click.referrer) or None, "query": decoded(click.query)}
    return record_of(kind, click, **texts, **others)


async def all_clicks(
    call: FeedCall[ListClicks, Nothing],
) -> AsyncGenerator[list[ClickRecord], None]:
    """Yield the account's clicks that pass the filters."""
    async with aclosing(all_of_feed(call, call.services.click_feed)) as found:
        async for clicks in found:
            yield await show_clicks(call.services, call.account_id, clicks)


@endpoint(
    "GET",
    "/api/clicks",
    # Not reports:read, which shows sums only: clicks, like conversions, show single visitors.
    "conversions:read",
    export=Export(
        "clicks",
        "Export all clicks that pass the filters, as CSV or NDJSON",
        ClickRecord,
        all_clicks,
    ),
)
async def list_clicks(call: FeedCall[ListClicks, Nothing]) -> FeedAnswer[ClickRecord]:
    """List clicks, newest first, or everything that was stored after a cursor."""
    query, services = call.query, call.services
    wanted = await feed_filter(call)
    page = await services.click_feed.page(call.account_id, wanted, query.start(), query.page_size)
    rows = await show_clicks(services, call.account_id, page.rows)
    return FeedAnswer(rows=rows, **cursor_fields(query, page))

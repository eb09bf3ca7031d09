"""`/api/clicks`: the feed of an account's clicks."""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from typing import TypeVar
from uuid import UUID

from tracker.api.click_records import ClickFields, ClickLink, ClickRecord
from tracker.api.endpoint import Call, Endpoint, Nothing
from tracker.api.export import Export
from tracker.api.feed_export import all_of_feed
from tracker.api.feed_filters import feed_filter
from tracker.api.feed_schema import FeedAnswer, FeedQuery, cursor_fields
from tracker.api.resource import record_of
from tracker.api.services import Services
from tracker.clicks.document import decoded
from tracker.feeds.arrivals import FeedName
from tracker.feeds.clicks import StoredClick
from tracker.feeds.conversion_counts import count_conversions

Record = TypeVar("Record", bound=ClickFields)


class ListClicks(FeedQuery, kw_only=True):
    """The page of clicks to list."""

    FEED = FeedName.CLICKS


async def show_clicks(
    services: Services, account_id: UUID, clicks: Sequence[StoredClick]
) -> list[ClickRecord]:
    """Return the records of clicks, with one query for their links and one for conversions."""
    if not clicks:
        return []
    links, conversions = await asyncio.gather(
        services.links.find_all({click.link_id for click in clicks}),
        count_conversions(services.reader, account_id, [click.id for click in clicks]),
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
    """Return a record of a click: `others`, and the remaining fields of `kind` from the click."""
    texts = {"referrer": decoded(click.referrer) or None, "query": decoded(click.query)}
    return record_of(kind, click, **texts, **others)


async def list_clicks(call: Call[ListClicks, Nothing]) -> FeedAnswer[ClickRecord]:
    """Return a page of the account's clicks.

    Raises BadRequest if a filter breaks a rule or a cursor cannot be used.
    """
    query, services = call.query, call.services
    wanted = await feed_filter(call)
    page = await services.click_feed.page(call.account_id, wanted, query.place(), query.page_size)
    rows = await show_clicks(services, call.account_id, page.rows)
    return FeedAnswer(rows=rows, **cursor_fields(query, page))


async def all_clicks(
    call: Call[ListClicks, Nothing],
) -> AsyncGenerator[list[ClickRecord], None]:
    """Yield all of the account's clicks that pass the filters. Raises as `list_clicks`."""
    async with aclosing(all_of_feed(call, call.services.click_feed)) as found:
        async for clicks in found:
            yield await show_clicks(call.services, call.account_id, clicks)


ENDPOINTS = (
    Endpoint(
        "GET",
        "/api/clicks",
        # Not reports:read, which shows sums: like conversions, clicks are of single visitors.
        "conversions:read",
        list_clicks,
        "List clicks, newest first, or everything that was stored after a cursor",
        FeedAnswer[ClickRecord],
        query=ListClicks,
        export=Export("clicks", ClickRecord, all_clicks),
    ),
)

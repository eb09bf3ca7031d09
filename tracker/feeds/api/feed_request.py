"""A request for a feed: its filter in the account's calendar, and all rows that pass."""

from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from typing import Any

from msgspec import structs

from tracker.calendar import DEFAULT_ZONE, calendar_of
from tracker.feeds.api.schema import FeedQuery
from tracker.feeds.feed import Feed
from tracker.feeds.filter import FeedFilter
from tracker.feeds.kind import Row
from tracker.feeds.services import FeedCall
from tracker.web.call import Nothing
from tracker.web.export_stream import pieces


async def feed_filter(call: FeedCall[Any, Nothing]) -> FeedFilter:
    """Return the filter of a request. The account's zone is looked up only if it names days."""
    query: FeedQuery = call.query
    calendar = calendar_of(DEFAULT_ZONE)
    if query.names_days:
        calendar = await call.services.accounts.time_zones.find(call.account_id)
    wanted = query.filter(calendar, call.services.public_url.host)
    if wanted.transaction_id is None:
        return wanted
    configs = await call.services.conversions.event_configs.ids(call.account_id)
    return structs.replace(wanted, transaction_scopes=[call.account_id, *configs])


async def all_of_feed(
    call: FeedCall[Any, Nothing], feed: Feed[Row]
) -> AsyncGenerator[Sequence[Row], None]:
    """Yield all rows of the account that pass the filters, newest first, in pieces."""
    wanted = await feed_filter(call)
    async with aclosing(feed.pages(call.account_id, wanted)) as pages:
        async for page in pages:
            for rows in pieces(page.rows):
                yield rows

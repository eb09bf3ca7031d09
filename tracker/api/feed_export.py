"""All rows of a feed, for exports."""

from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from typing import Any, TypeVar

from tracker.api.endpoint import Call, Nothing
from tracker.api.export_stream import pieces
from tracker.api.feed_schema import FeedQuery
from tracker.feeds.feed import Feed

Row = TypeVar("Row")


async def all_of_feed(
    call: Call[Any, Nothing], feed: Feed[Row]
) -> AsyncGenerator[Sequence[Row], None]:
    """Yield all rows of the account that pass the filters, newest first, in pieces.

    Raises BadRequest if a filter breaks a rule.
    """
    query: FeedQuery = call.query
    zone = await call.services.time_zones.find(call.account_id)
    wanted = query.filter(zone.calendar, call.services.public_url.host)
    async with aclosing(feed.pages(call.account_id, wanted)) as pages:
        async for page in pages:
            for rows in pieces(page.rows):
                yield rows

"""All rows of a feed, for exports."""

from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from typing import Any, TypeVar

from tracker.api.endpoint import Call, Nothing
from tracker.api.export_stream import pieces
from tracker.api.feed_filters import feed_filter
from tracker.feeds.feed import Feed

Row = TypeVar("Row")


async def all_of_feed(
    call: Call[Any, Nothing], feed: Feed[Row]
) -> AsyncGenerator[Sequence[Row], None]:
    """Yield all rows of the account that pass the filters, newest first, in pieces.

    Raises BadRequest if a filter breaks a rule.
    """
    wanted = await feed_filter(call)
    async with aclosing(feed.pages(call.account_id, wanted)) as pages:
        async for page in pages:
            for rows in pieces(page.rows):
                yield rows

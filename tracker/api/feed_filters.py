"""The filter of a request for a feed, in the calendar of its account."""

from typing import Any

from tracker.api.endpoint import Call, Nothing
from tracker.api.feed_schema import FeedQuery
from tracker.calendar import DEFAULT_ZONE, calendar_of
from tracker.feeds.filter import FeedFilter


async def feed_filter(call: Call[Any, Nothing]) -> FeedFilter:
    """Return the filter of a request; the account's zone is looked up if it names days.

    Raises BadRequest if a filter breaks a rule.
    """
    query: FeedQuery = call.query
    calendar = calendar_of(DEFAULT_ZONE)
    if query.names_days:
        calendar = (await call.services.time_zones.find(call.account_id)).calendar
    return query.filter(calendar, call.services.public_url.host)

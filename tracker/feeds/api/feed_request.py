"""A request for a feed: its filter in the account's calendar, its page, and all rows that pass."""

from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Sequence
from typing import Any, Final, TypeVar

from msgspec import Struct, UnsetType, structs

from tracker.access.principal import tags_within
from tracker.accounts.parameters import field_in, fields_of
from tracker.calendar import DEFAULT_ZONE, calendar_of
from tracker.clock import iso
from tracker.conversions.corrections.status import is_click_key
from tracker.feeds.api.schema import FeedPage, FeedQuery
from tracker.feeds.feed import Feed
from tracker.feeds.filter import FeedFilter, WantedParameter
from tracker.feeds.kind import Row
from tracker.feeds.page import PageStart, TimePosition
from tracker.feeds.services import FeedCall
from tracker.reports.dimensions import OWN_PREFIX, TAG
from tracker.web.call import Nothing
from tracker.web.export_rows import CsvColumn
from tracker.web.export_stream import pieces

_ROWS_AT_ONCE: Final = 500
"""Rows of a page if all are read."""

UNITS: Final = "UNITS"
"""What the filter calls the currency of an account that has none."""

Record = TypeVar("Record", bound=Struct)

Show = Callable[[FeedCall[Any, Nothing], Sequence[Row]], Awaitable[list[Record]]]
"""Returns the records of rows."""


async def feed_filter(call: FeedCall[Any, Nothing]) -> FeedFilter:
    """Return the filter of a request. The account's zone is looked up only if it names days."""
    query: FeedQuery = call.query
    calendar = calendar_of(DEFAULT_ZONE)
    if query.first is not None or query.last is not None:
        calendar = await call.services.accounts.time_zones.find(call.account_id)
    wanted = query.filter(calendar, call.services.public_url.host)
    if (limit := call.principal.tags) is not None:
        tags, all_tags = tags_within(limit, wanted.values.get(TAG, ()), wanted.all_tags)
        wanted = structs.replace(wanted, values={**wanted.values, TAG: tags}, all_tags=all_tags)
    if wanted.currencies:
        home = await account_currency(call) or UNITS
        stored = [None if one == home else one for one in wanted.currencies]
        wanted = structs.replace(wanted, currencies=stored)
    if not isinstance(query.own, UnsetType):
        wanted = structs.replace(wanted, parameters=await _wanted_parameters(call, query.own))
    if wanted.transaction_id is None:
        return wanted
    if is_click_key(wanted.transaction_id):  # which no answer shows
        return wanted
    configs = await call.services.conversions.event_configs.ids(call.account_id)
    return structs.replace(wanted, transaction_scopes=[call.account_id, *configs])


async def account_currency(call: FeedCall[Any, Any]) -> str | None:
    return (await call.services.conversions.account_rules.cached(call.account_id)).currency


async def parameter_columns(call: FeedCall[Any, Any]) -> list[CsvColumn]:
    names = await _own_parameters(call)
    return [CsvColumn(f"{OWN_PREFIX}{name}", ("parameters", name)) for name in names]


async def _wanted_parameters(
    call: FeedCall[Any, Any], own: Iterable[tuple[str, Sequence[str]]]
) -> list[WantedParameter]:
    """Raises BadRequest if the account does not have a name."""
    fields = await _own_parameters(call)
    return [
        WantedParameter(field_in(fields, name, f"{OWN_PREFIX}{name}"), name, values)
        for name, values in own
    ]


async def _own_parameters(call: FeedCall[Any, Any]) -> dict[str, str]:
    account = await call.services.accounts.accounts.find(call.account_id)
    return fields_of(account.parameters) if account else {}


async def page_of_feed(
    call: FeedCall[Any, Nothing], feed: Feed[Row], show: Show[Row, Record]
) -> FeedPage[Record]:
    """Return the page that the query names."""
    query: FeedQuery = call.query
    wanted = await feed_filter(call)
    page = await feed.page(call.account_id, wanted, query.start(), query.page_size)
    cursor_of = query.cursors.cursor_of
    return FeedPage(
        rows=await show(call, page.rows),
        next_cursor=cursor_of(page.next) if isinstance(page.next, TimePosition) else None,
        since_cursor=None if page.bookmark is None else cursor_of(page.bookmark),
        searched_to=None if page.searched_to is None else iso(page.searched_to),
    )


async def all_of_feed(
    call: FeedCall[Any, Nothing], feed: Feed[Row], show: Show[Row, Record]
) -> AsyncGenerator[list[Record], None]:
    """Yield all rows of the account that pass the filters, newest first, in pieces."""
    wanted = await feed_filter(call)
    start: PageStart | None = None
    while True:
        page = await feed.page(call.account_id, wanted, start, _ROWS_AT_ONCE)
        for rows in pieces(page.rows):
            yield await show(call, rows)
        if page.next is None:
            return
        start = page.next

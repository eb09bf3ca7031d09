"""The feed of clicks. Its rows have no address, and only parts of the user agent."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Final
from uuid import UUID

from tracker.clicks.document import FIELD_DEFAULTS, ONLY_TESTS, ClickValues
from tracker.feeds.arrivals import FeedName, click_ids
from tracker.feeds.feed import Kind, Links, with_links
from tracker.feeds.filter import Conditions, FeedFilter, conditions_for_clicks
from tracker.feeds.time_order import Range
from tracker.stores.mongodb.documents import as_struct

MAX_MERGED_LINKS: Final = 100
"""Links whose clicks MongoDB merges by time. For more links, the account's clicks are examined."""

_LOWEST_ID: Final = UUID(int=0)


class StoredClick(ClickValues[datetime], frozen=True, kw_only=True):
    """A stored click. Its referrer and query have one character for each byte."""

    referrer: str
    link_id: UUID
    domain_name: str
    unique: bool
    test: bool


def _row(document: Mapping[str, Any]) -> StoredClick:
    return as_struct(StoredClick, {**FIELD_DEFAULTS, **document})


def _entries(packed: bytes) -> Sequence[tuple[UUID, None]]:
    return [(UUID(bytes=one), None) for one in click_ids(packed)]


def _scan(account_id: UUID, wanted: FeedFilter, links: Links, conditions: Conditions) -> Range:
    """Return the range of the account's clicks, of a few links, or of the account's tests."""
    if wanted.tests == "only":
        bounds = [{"account_id": account_id, **ONLY_TESTS}, *wanted.times]
        return Range("tests", bounds, [*conditions, *with_links(links)], _LOWEST_ID)
    if links is not None and len(links) <= MAX_MERGED_LINKS:
        bounds = [*with_links(links), *wanted.times]
        return Range("by_link_and_time", bounds, conditions, _LOWEST_ID)
    bounds = [{"account_id": account_id}, *wanted.times]
    return Range("by_account", bounds, [*conditions, *with_links(links)], _LOWEST_ID)


CLICKS: Final = Kind(
    FeedName.CLICKS,
    "clicks",
    [name for name in StoredClick.__struct_fields__ if name != "id"],
    _row,
    _entries,
    conditions_for_clicks,
    _scan,
)

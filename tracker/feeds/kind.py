"""The two kinds of feeds: their documents, their rows, and the conditions to find them."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Generic, NamedTuple, TypeVar
from uuid import UUID

from tracker.conversions.document import Attribution
from tracker.feeds.arrivals import FeedName
from tracker.feeds.filter import Conditions, FeedFilter

Row = TypeVar("Row")
LinkIds = Sequence[UUID] | None
"""The links that pass a filter; None without a filter by links."""


class ScanRange(NamedTuple):
    """The part of a collection to read by time.

    The index answers the `indexed` conditions. Each row is examined for the `other` ones.
    """

    index_name: str
    indexed: Conditions
    other: Conditions


class FeedKind(NamedTuple, Generic[Row]):
    """A kind of feed.

    - `entries` parses the entries of arrivals: ids, each with its state.
    - `conditions` returns a filter's conditions without time, state and link. The text is the
      default host.
    - `lowest_id` is below all ids.
    - `scan` returns the range to read by time, given all conditions.
    """

    name: FeedName
    collection: str
    fields: Sequence[str]
    lowest_id: UUID | int
    row: Callable[[Mapping[str, Any]], Row]
    entries: Callable[[bytes], Sequence[tuple[UUID | int, Attribution | None]]]
    conditions: Callable[[FeedFilter, str], Conditions]
    scan: Callable[[UUID, FeedFilter, LinkIds, Conditions], ScanRange]


def link_conditions(links: LinkIds) -> Conditions:
    return [] if links is None else [{"link_id": {"$in": list(links)}}]

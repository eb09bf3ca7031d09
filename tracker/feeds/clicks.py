"""The feed of clicks. Rows have no address, and no whole user agent."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Final
from uuid import UUID

from tracker.clicks.document import (
    FIELD_DEFAULTS,
    ONLY_TESTS,
    OWN_PARAMETERS,
    ClickValues,
    sent_parameters,
)
from tracker.clicks.pages.sent import Consent
from tracker.feeds.arrivals import FeedName, click_ids
from tracker.feeds.filter import Conditions, FeedFilter, conditions_for_clicks
from tracker.feeds.kind import FeedKind, LinkIds, ScanRange, link_conditions
from tracker.stores.mongodb.documents import as_struct

MAX_MERGED_LINKS: Final = 100
"""MongoDB merges the clicks of up to 100 links by time. For more links, all the account's clicks
are examined."""


class StoredClick(ClickValues[datetime], frozen=True, kw_only=True):
    """A stored click. Its referrer and query have one character for each byte."""

    referrer: str
    link_id: UUID
    rule_id: UUID | None
    variant_id: UUID | None
    parent_id: UUID | None
    parent_link_id: UUID | None
    domain_name: str
    unique: bool
    test: bool
    consent: Consent | None
    parameters: dict[str, str]


def _row(document: Mapping[str, Any]) -> StoredClick:
    parameters = sent_parameters(document)
    return as_struct(StoredClick, {**FIELD_DEFAULTS, **document, "parameters": parameters})


def _entries(packed: bytes) -> Sequence[tuple[UUID, None]]:
    return [(UUID(bytes=one), None) for one in click_ids(packed)]


def _scan(
    account_id: UUID, wanted: FeedFilter, links: LinkIds, conditions: Conditions
) -> ScanRange:
    """Return the range to scan: one click, tests, the clicks of a few links, or all clicks."""
    if wanted.id is not None:
        others = [{"account_id": account_id}, *conditions, *link_conditions(links)]
        return ScanRange("_id_", [{"_id": wanted.id}, *wanted.times], others)
    if wanted.tests == "only":
        indexed = [{"account_id": account_id, **ONLY_TESTS}, *wanted.times]
        return ScanRange("tests", indexed, [*conditions, *link_conditions(links)])
    if links is not None and len(links) <= MAX_MERGED_LINKS:
        indexed = [*link_conditions(links), *wanted.times]
        return ScanRange("by_link_and_time", indexed, conditions)
    indexed = [{"account_id": account_id}, *wanted.times]
    return ScanRange("by_account", indexed, [*conditions, *link_conditions(links)])


CLICKS: Final = FeedKind(
    FeedName.CLICKS,
    "clicks",
    [
        *(one for one in StoredClick.__struct_fields__ if one not in ("id", "parameters")),
        *OWN_PARAMETERS,
    ],
    UUID(int=0),
    _row,
    _entries,
    conditions_for_clicks,
    _scan,
)

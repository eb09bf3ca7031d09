"""Clicks in answers, without address and user agent."""

from collections.abc import Mapping
from typing import Annotated, TypeVar
from uuid import UUID

import msgspec
from msgspec import Meta

from tracker.clicks.document import ClickValues
from tracker.feeds.conversions import MAX_COUNTED
from tracker.web.resource import record_of
from tracker.web.schema import Timestamp

Record = TypeVar("Record", bound=msgspec.Struct)

SentParameters = Annotated[
    dict[str, str], Meta(description="the account's own parameters, by name")
]
IsTest = Annotated[bool, Meta(description="whether the account made it as a test; not counted")]


class ClickFields(ClickValues[Timestamp], frozen=True, kw_only=True):
    """The values of a click."""

    at: Annotated[Timestamp, Meta(description="when it was made; it may be stored later")]
    query: Annotated[str, Meta(description="the visitor's own parameters")]


class ClickLink(msgspec.Struct, kw_only=True):
    """The short link of a click."""

    id: UUID
    internal_name: str
    slug: str


class ClickRecord(ClickFields, frozen=True, kw_only=True):
    """A click, its link, and the number of its conversions."""

    link: ClickLink | None
    domain: Annotated[str, Meta(description="the hostname of the link")]
    unique: Annotated[
        bool, Meta(description="whether it is the visitor's first of the link on that day")
    ]
    conversions: Annotated[
        int,
        Meta(description=f"conversions that count; {MAX_COUNTED:,} stands for as many or more"),
    ]
    test: IsTest
    parameters: SentParameters


class ConversionClick(ClickFields, frozen=True, kw_only=True):
    """The click of a conversion, as it is stored."""

    link_id: UUID
    test: IsTest


def record_in(
    kind: type[Record], stored: Mapping[UUID, object], wanted: UUID | None
) -> Record | None:
    """Return the record of the wanted one of `stored`, if there is one."""
    found = stored.get(wanted) if wanted else None
    return record_of(kind, found) if found else None

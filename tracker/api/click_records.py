"""Clicks as answers show them: without address, and without the user agent itself."""

from typing import Annotated
from uuid import UUID

import msgspec
from msgspec import Meta

from tracker.api.schema import Timestamp
from tracker.feeds.conversion_counts import MAX_COUNTED


class ClickFields(msgspec.Struct, kw_only=True):
    """The values of a click."""

    id: UUID
    at: Annotated[Timestamp, Meta(description="when it was made; it may be stored later")]
    country: str
    device: str
    browser: str
    os: str
    bot: Annotated[str | None, Meta(description="why it counts as a bot's")]
    referrer: str | None
    referrer_host: str | None
    query: Annotated[str, Meta(description="the visitor's own parameters")]
    utm_source: str | None
    utm_medium: str | None
    utm_campaign: str | None
    utm_term: str | None
    utm_content: str | None


class ClickLink(msgspec.Struct, kw_only=True):
    """The short link of a click."""

    id: UUID
    internal_name: str
    slug: str


class ClickRecord(ClickFields, kw_only=True):
    """A click, its link, and the number of its conversions."""

    link: ClickLink | None
    domain: Annotated[str, Meta(description="the hostname of the link")]
    unique: Annotated[bool, Meta(description="whether it is its visitor's first on link and day")]
    conversions: Annotated[
        int, Meta(description=f"those that count; {MAX_COUNTED:,} stands for as many or more")
    ]


class ConversionClick(ClickFields, kw_only=True):
    """The click of a conversion, as it is stored."""

    link_id: UUID

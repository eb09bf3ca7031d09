"""A short link as answers and exports show it."""

import re
from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from decimal import Decimal
from typing import Annotated, Final
from uuid import UUID

import msgspec
from msgspec import UNSET, Meta, UnsetType

from tracker.clock import iso
from tracker.links.api.option_schema import (
    EXPIRES,
    STARTS,
    ClickParameter,
    Cost,
    ExpiredUrl,
    MaxClicks,
    NoReferrer,
    Notes,
    OpeningClicks,
    PassQuery,
    Paths,
    Status,
)
from tracker.links.api.rules.schema import (
    RuleRecord,
    SplitRecord,
    rule_records,
    split_record,
)
from tracker.links.destination import utm_of
from tracker.links.link import Link
from tracker.links.rules.warnings import RuleWarning, warnings_of
from tracker.public_url import PublicUrl
from tracker.syntax.url_path import encoded, name_of
from tracker.web.schema import Text, Timestamp

_DOTS: Final = re.compile(r"(?:^|/)\.\.?(?:/|$)").search

Utm = Annotated[
    str | None, Meta(description="the link's own value: the parameter in its destination")
]


class TagReference(msgspec.Struct, kw_only=True):
    """A tag of a link."""

    id: UUID
    name: str


class ShortLink(msgspec.Struct, kw_only=True):
    """A short link."""

    id: UUID
    internal_name: str
    slug: str
    destination_url: str
    domain_name: str
    active: bool
    tags: list[TagReference]
    created_at: Timestamp
    short_url: str
    archived: Annotated[bool, Meta(description="an archived link is 404 and keeps its slug")]
    domain_id: Annotated[UUID | None, Meta(description="custom domain; null: the service's")]
    utm_source: Utm
    utm_medium: Utm
    utm_campaign: Utm
    utm_term: Utm
    utm_content: Utm
    starts_at: Annotated[Timestamp, Meta(description=STARTS)] | None
    expires_at: Annotated[Timestamp, Meta(description=EXPIRES)] | None
    expired_url: ExpiredUrl | None
    redirect_status: Status
    pass_query: PassQuery
    click_parameter: ClickParameter
    no_referrer: NoReferrer
    has_password: bool
    notes: Notes | None
    opening_clicks: OpeningClicks
    external_id: Text | None
    last_click_at: Timestamp | None
    max_clicks: MaxClicks | None
    clicks_left: Annotated[int, Meta(description="of max_clicks, as stored; null: no limit")] | None
    paths: Paths
    cost_per_click: Cost | None
    rules: Annotated[list[RuleRecord], Meta(description="the first that holds decides")]
    split: SplitRecord | None
    revision: Annotated[int, Meta(description="another after each change; its `ETag`")]


class WrittenShortLink(ShortLink, kw_only=True):
    """A short link that was created or changed."""

    warnings: (
        Annotated[list[RuleWarning], Meta(description="only if rules or a split have any")]
        | UnsetType
    ) = UNSET


def written(record: ShortLink, link: Link) -> WrittenShortLink:
    warnings = list(warnings_of(link.rules, link.split))
    return WrittenShortLink(**msgspec.structs.asdict(record), warnings=warnings or UNSET)


def records(
    public_url: PublicUrl,
    links: Sequence[Link],
    named: Mapping[UUID, TagReference],
    used: Mapping[UUID, int],
    proven: Collection[UUID],
) -> list[ShortLink]:
    """`used` has the stored clicks of limited links, `proven` the ids of domains."""
    return [_record(public_url, link, named, used, proven) for link in links]


# `record_of` takes twice as long, and exports have a million links.
def _record(
    public_url: PublicUrl,
    link: Link,
    named: Mapping[UUID, TagReference],
    used: Mapping[UUID, int],
    proven: Collection[UUID],
) -> ShortLink:
    return ShortLink(
        id=link.id,
        internal_name=link.internal_name,
        slug=link.slug,
        destination_url=link.destination_url,
        domain_name=link.domain_name or public_url.host,
        active=link.active,
        tags=[tag for tag_id in link.tags if (tag := named.get(tag_id))],
        created_at=iso(link.created_at),
        short_url=short_url(public_url, link, proven),
        archived=link.archived,
        domain_id=link.domain_id,
        **utm_of(link.destination_url),
        starts_at=_time(link.starts_at),
        expires_at=_time(link.expires_at),
        expired_url=link.expired_url,
        redirect_status=link.redirect_status,
        pass_query=link.pass_query,
        click_parameter=link.click_parameter,
        no_referrer=link.no_referrer,
        has_password=link.password_hash is not None,
        notes=link.notes,
        opening_clicks=link.opening_clicks,
        external_id=link.external_id,
        last_click_at=_time(link.last_click_at),
        max_clicks=link.max_clicks,
        clicks_left=link.max_clicks and max(0, link.max_clicks - used.get(link.id, 0)),
        paths=link.paths,
        cost_per_click=None if link.cost_per_click is None else Decimal(link.cost_per_click),
        rules=rule_records(link.rules),
        split=None if link.split is None else split_record(link.split),
        revision=link.revision,
    )


def short_url(public_url: PublicUrl, link: Link, proven: Collection[UUID]) -> str:
    """Return the shortest URL that leads to the link."""
    origin = public_url.origin(link.domain_name)
    if link.domain_id not in proven:
        return f"{origin}/c/{link.slug}"
    # Browsers resolve dot segments, encoded or not.
    names = (name for path in link.paths if not _DOTS(name := name_of(path, "utf-8")))
    return f"{origin}/{encoded(min((link.slug, *names), key=len))}"


def _time(moment: datetime | None) -> str | None:
    return None if moment is None else iso(moment)

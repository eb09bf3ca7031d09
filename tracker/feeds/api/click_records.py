"""Clicks in answers, without address and user agent."""

from collections.abc import Mapping, Sequence
from typing import Annotated, TypeVar
from uuid import UUID

import msgspec
from msgspec import Meta

from tracker.clicks.document import ClickValues
from tracker.clicks.pages.sent import Consent
from tracker.feeds.clicks import StoredClick
from tracker.feeds.conversions import MAX_COUNTED, StoredConversion
from tracker.reports.answers.names import name_of, stored_names
from tracker.reports.dimensions import RULE
from tracker.stores.mongodb.reads import MongoReads
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


class ClickChoice(msgspec.Struct, kw_only=True):
    """A rule or a variant, with its last name."""

    id: UUID
    name: str


ParentLink = Annotated[
    UUID | None, Meta(description="the link of the click that led to this one, once it is known")
]

DecidedBy = Annotated[ClickChoice | None, Meta(description="what decided the destination")]


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
    rule: DecidedBy
    variant: DecidedBy
    consent: Annotated[Consent | None, Meta(description="the visitor's last answer, if known")]
    parent_click_id: Annotated[
        UUID | None, Meta(description="the click that led to this one, once it is known")
    ]
    parent_link_id: ParentLink
    parameters: SentParameters


class ConversionClick(ClickFields, frozen=True, kw_only=True):
    """The click of a conversion, as it is stored."""

    link_id: UUID
    test: IsTest


async def decided_by(
    reader: MongoReads, rows: Sequence[StoredClick | StoredConversion]
) -> list[dict[str, ClickChoice | None]]:
    """Return the rule and the variant of each row, with one query for all that have any."""
    ids = {one for row in rows for one in (row.rule_id, row.variant_id) if one}
    names = await stored_names(reader, RULE, [str(one) for one in ids])
    found = {one: ClickChoice(id=one, name=name_of(RULE, str(one), names)) for one in ids}
    return [
        {
            "rule": found[row.rule_id] if row.rule_id else None,
            "variant": found[row.variant_id] if row.variant_id else None,
        }
        for row in rows
    ]


def record_in(
    kind: type[Record], stored: Mapping[UUID, object], wanted: UUID | None
) -> Record | None:
    """Return the record of the wanted one of `stored`, if there is one."""
    found = stored.get(wanted) if wanted else None
    return record_of(kind, found) if found else None

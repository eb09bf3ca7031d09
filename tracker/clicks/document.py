"""The document of a click in MongoDB, as the drain stores it, and the decoding of its texts."""

from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, Any, Final, Generic, NotRequired, TypedDict, TypeVar
from uuid import UUID

import msgspec
from bson import Decimal128
from msgspec import Meta

from tracker.visitor_dimensions import NAMES, UNKNOWN

At = TypeVar("At")


class SourceFields(TypedDict, total=False):
    """The source dimensions of a click (`clicks/sources`). Each may be missing."""

    referrer_host: str
    utm_source: str
    utm_medium: str
    utm_campaign: str
    utm_term: str
    utm_content: str


class VisitorFields(TypedDict, total=False):
    """The visitor dimensions of a click (`visitor_dimensions`). Old clicks lack newer ones."""

    country: str
    device: str
    browser: str
    os: str


class CostFields(TypedDict, total=False):
    """The cost of a click, in the account's currency; `cost_unknown` if its parameter is none."""

    cost: Decimal128
    cost_unknown: bool


class OwnParameterFields(TypedDict, total=False):
    """The sender's own parameters of a click, by position (`accounts/parameters`).

    A value is stored as `name=value`: another name may have the position later.
    """

    parameter_0: str
    parameter_1: str
    parameter_2: str
    parameter_3: str
    parameter_4: str
    parameter_5: str
    parameter_6: str
    parameter_7: str
    parameter_8: str
    parameter_9: str


class DecidedFields(TypedDict, total=False):
    """The rule and the variant that decided a click's destination (`links/rules`).

    A click of a link without rules has neither. One that no rule decided has no rule.
    """

    rule_id: bytes
    variant_id: bytes


class ParentFields(TypedDict, total=False):
    """The link of the click that led to a click, once that is known (`ingest/joins`)."""

    parent_link_id: bytes


class ClickDocument(
    VisitorFields, SourceFields, OwnParameterFields, DecidedFields, ParentFields, CostFields
):
    """A stored click. Ids are the 16 bytes of a UUID.

    - `unique`: the visitor's first on the link and day.
    - `bot`: the reason why it counts as a bot's; None for a person's.
    - `address`: stored only with STORE_IP.
    - `ad_ids`: the ids that ad platforms have given the click, by parameter.
    - `test`: True for tests, which count nowhere. Other clicks lack it.
    - `parent_id`: the click that led to it, as the visitor says.
    - `consent`: granted or denied, if the page that reported the click knew.
    - `import_id`: only of visits that an import brought (`imports/visits`).
    """

    _id: bytes
    account_id: bytes
    link_id: bytes
    at: datetime
    domain_name: str
    bot: str | None
    unique: bool
    referrer: str
    user_agent: str
    query: str
    stored_at: NotRequired[datetime]
    address: NotRequired[str]
    ad_ids: NotRequired[dict[str, str]]
    test: NotRequired[bool]
    parent_id: NotRequired[bytes]
    import_id: NotRequired[bytes]
    consent: NotRequired[str]


class VisitorValues(msgspec.Struct, Generic[At], frozen=True, kw_only=True):
    """A click's time and visitor."""

    id: UUID
    at: At
    country: str
    device: str
    browser: str
    os: str
    bot: Annotated[str | None, Meta(description="why it counts as a bot's")]


class ConversionClickValues(msgspec.Struct, frozen=True, kw_only=True):
    """The click's values in a conversion; None while the click is unknown."""

    country: str | None = None
    device: str | None = None
    browser: str | None = None
    os: str | None = None
    bot: str | None = None


class ClickValues(VisitorValues[At], Generic[At], frozen=True, kw_only=True):
    """A click's time, visitor and source."""

    referrer: str | None
    referrer_host: str | None
    query: str
    utm_source: str | None
    utm_medium: str | None
    utm_campaign: str | None
    utm_term: str | None
    utm_content: str | None


OWN_PARAMETERS: Final = tuple(OwnParameterFields.__annotations__)
DECIDED: Final = tuple(DecidedFields.__annotations__)
[PARENT_LINK] = ParentFields.__annotations__
HAS_PARENTS: Final = "has_parents"
"""The field of accounts where a click has led to another one."""

FIELD_DEFAULTS: Final[dict[str, Any]] = {
    **dict.fromkeys(NAMES, UNKNOWN),
    **dict.fromkeys(SourceFields.__annotations__),
    **dict.fromkeys((*DECIDED, "parent_id", PARENT_LINK)),
    "referrer": "",
    "query": "",
    "test": False,
    "consent": None,
}
"""The values of fields that a stored click may lack."""

NO_TEST: Final[dict[str, Any]] = {"test": None}
"""The condition of every count of stored clicks: no tests."""

ONLY_TESTS: Final[dict[str, Any]] = {"test": True}
"""The condition of the index `clicks.tests`."""


def sent_parameters(document: Mapping[str, Any]) -> dict[str, str]:
    """Return the sender's own parameters in a stored click or conversion, by name."""
    found = [document[field].partition("=") for field in OWN_PARAMETERS if field in document]
    return {name: value for name, _, value in found}


def decoded(raw: str) -> str:
    """Decode a visitor's text, which is stored as one character for each byte."""
    return raw.encode("latin-1", errors="replace").decode(errors="replace")

"""The filters of reports, and the rules of their values."""

import re
from typing import Annotated, Any, Literal, get_args
from uuid import UUID

import msgspec
from msgspec import UNSET, Meta, UnsetType, field

from tracker.api.limits import MAX_FILTER_VALUES, MAX_TEXT_CHARACTERS
from tracker.clicks.country import UNKNOWN
from tracker.clicks.user_agent import Device
from tracker.errors import BadRequest
from tracker.ids import parse_id
from tracker.links.hostnames import canonical_hostname
from tracker.reports.dimensions import NO_KEY
from tracker.reports.query import Bots, Value

Dimension = Literal[
    "link",
    "tag",
    "device",
    "country",
    "browser",
    "os",
    "domain",
    "event",
    "referrer",
    "utm_source",
    "utm_medium",
    "utm_campaign",
    "utm_term",
    "utm_content",
    "bot",
]
"""The dimensions that reports are filtered by."""

BotReason = Literal[
    "prefetch", "no_user_agent", "preview", "crawler", "headless", "library", "none", "unknown"
]

_COUNTRY = re.compile(r"[A-Za-z]{2}")

TagOperator = Annotated[
    Literal["OR", "AND"],
    Meta(description="OR: links with any of the tags (default); AND: with all of them"),
]
BotsIn = Annotated[
    Bots,
    Meta(
        description="clicks of bots and prefetches: left out of clicks (exclude, the default), "
        "counted among them (include), or counted alone (only)"
    ),
]
Text = Annotated[str, Meta(max_length=MAX_TEXT_CHARACTERS)]
Ids = UUID | Annotated[list[UUID], Meta(max_length=MAX_FILTER_VALUES)]
Texts = Text | Annotated[list[Text], Meta(max_length=MAX_FILTER_VALUES)]
BotReasons = BotReason | Annotated[list[BotReason], Meta(max_length=MAX_FILTER_VALUES)]
Devices = Device | Annotated[list[Device], Meta(max_length=MAX_FILTER_VALUES)]
Utm = Annotated[Texts, Meta(description="as reports show them; none: clicks without it")]


class ReportFilters(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """A value or a list for each filter: any value may match, and every non-empty filter has to."""

    link: Annotated[Ids, Meta(description="ids of short links")] = []
    tag: Annotated[Ids, Meta(description="ids of tags, as links have them now")] = []
    device: Devices = []
    country: Annotated[Texts, Meta(description="ISO 3166-1 alpha-2 or unknown, in any case")] = []
    browser: Annotated[Texts, Meta(description="families, named as in reports")] = []
    os: Annotated[Texts, Meta(description="families, named as in reports")] = []
    domain: Annotated[
        Texts, Meta(description="hostnames, including that of the service, or unknown")
    ] = []
    event: Annotated[
        Texts, Meta(description="ids of event configurations; none: conversions without one")
    ] = []
    referrer: Annotated[
        Texts, Meta(description="hosts, in any case; direct: clicks without a referrer")
    ] = []
    utm_source: Utm = []
    utm_medium: Utm = []
    utm_campaign: Utm = []
    utm_term: Utm = []
    utm_content: Utm = []
    bot: Annotated[
        BotReasons,
        Meta(
            description="why clicks count as a bot's; none: those of people; unknown: conversions "
            "without a click"
        ),
    ] = []
    tag_operator: TagOperator | UnsetType = field(default=UNSET, name="tagOperator")
    bots: BotsIn | UnsetType = UNSET

    def __post_init__(self) -> None:
        self.country = [country_of(text) for text in _as_list(self.country)]
        # The service's own host may be an IP address; `reports` refuses all other invalid names.
        self.referrer = [host_of(one) for one in _as_list(self.referrer)]
        self.domain = [host_of(one) for one in _as_list(self.domain)]
        self.event = [event_of(one) for one in _as_list(self.event)]

    def values(self) -> dict[str, list[Value]]:
        """Return the values of each dimension that is filtered by."""
        given = {name: getattr(self, name) for name in get_args(Dimension)}
        return {name: _as_list(value) for name, value in given.items() if value != []}


def _as_list(value: Any) -> list[Any]:
    return list(dict.fromkeys(value)) if isinstance(value, list) else [value]


def host_of(text: str) -> str:
    """Return a hostname in its canonical form; other text in lower case."""
    return canonical_hostname(text) or text.lower()


def event_of(text: str) -> str:
    """Return the id of an event configuration in its canonical form, or `none`.

    Raises ValueError, which names the field, if it is neither.
    """
    if text == NO_KEY["event"]:
        return text
    try:
        return str(parse_id("event", text))
    except BadRequest as error:
        raise ValueError(f"{error.message}, or none") from None


def country_of(text: str) -> str:
    """Return the code of a country in capitals, or `unknown`.

    Raises ValueError, which names the field, if it is neither.
    """
    if text.lower() == UNKNOWN:
        return UNKNOWN
    if not _COUNTRY.fullmatch(text):
        raise ValueError("country: must be two letters such as DE, or unknown")
    return text.upper()

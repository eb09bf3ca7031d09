"""The requests and answers of `/api/reports`, and the rules of their fields."""

import re
from decimal import Decimal
from typing import Annotated, Any, Literal
from uuid import UUID

import msgspec
from msgspec import UNSET, Meta, UnsetType, field

from tracker.api.limits import MAX_FILTER_VALUES, MAX_REPORT_DAYS, MAX_TEXT_CHARACTERS
from tracker.api.schema import AccountId, Day, Paged, Pagination, parse_day
from tracker.clicks.country import UNKNOWN
from tracker.clicks.dimensions import NAMES as VISITOR_DIMENSIONS
from tracker.clicks.user_agent import Device
from tracker.errors import BadRequest
from tracker.links.hostnames import canonical_hostname
from tracker.reports.query import Bots, GroupBy, Value

_FILTERS = ("link", "tag", *VISITOR_DIMENSIONS, "domain")
_COUNTRY = re.compile(r"[A-Za-z]{2}")
_CROSSED = (
    f"If filters and groupBy have two different ones of {', '.join(VISITOR_DIMENSIONS[:-1])} and "
    f"{VISITOR_DIMENSIONS[-1]}, or filters have one of them and groupBy is hour or event, the "
    "report reads every click of its range, and takes longer the more there are"
)

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
Devices = Device | Annotated[list[Device], Meta(max_length=MAX_FILTER_VALUES)]


class DateRange(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """Days in UTC, both included."""

    first: Annotated[Day, Meta(examples=["2026-01-01"])] = field(name="from")
    last: Annotated[Day, Meta(examples=["2026-01-31"])] = field(name="to")

    def __post_init__(self) -> None:
        first, last = parse_day("from", self.first), parse_day("to", self.last)
        if first > last:
            raise ValueError("from: must not be after to")
        if (last - first).days >= MAX_REPORT_DAYS:
            raise ValueError(f"to: at most {MAX_REPORT_DAYS} days, from and to included")


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
    tag_operator: TagOperator | UnsetType = field(default=UNSET, name="tagOperator")
    bots: BotsIn | UnsetType = UNSET

    def __post_init__(self) -> None:
        self.country = [_country(text) for text in _as_list(self.country)]
        # The service's own host may be an IP address; `reports` refuses all other invalid names.
        self.domain = [canonical_hostname(one) or one.lower() for one in _as_list(self.domain)]

    def values(self) -> dict[str, list[Value]]:
        """Return the values of each dimension that is filtered by."""
        given = {name: getattr(self, name) for name in _FILTERS}
        return {name: _as_list(value) for name, value in given.items() if value != []}


def _as_list(value: Any) -> list[Any]:
    return list(dict.fromkeys(value)) if isinstance(value, list) else [value]


def _country(text: str) -> str:
    if text.lower() == UNKNOWN:
        return UNKNOWN
    if not _COUNTRY.fullmatch(text):
        raise ValueError("country: must be two letters such as DE, or unknown")
    return text.upper()


class CreateReport(Paged, forbid_unknown_fields=True, kw_only=True):
    """The report to compute."""

    account_id: AccountId = field(name="accountId")
    date_range: DateRange = field(name="dateRange")
    group_by: Annotated[GroupBy, Meta(description=f"one row for each. {_CROSSED}")] = field(
        name="groupBy"
    )
    filters: ReportFilters = field(default_factory=ReportFilters)
    tag_operator: TagOperator | UnsetType = field(default=UNSET, name="tagOperator")
    bots: BotsIn | UnsetType = UNSET

    def __post_init__(self) -> None:
        within = self.filters
        self.tag_operator = _merge_filter("tagOperator", self.tag_operator, within.tag_operator)
        self.bots = _merge_filter("bots", self.bots, within.bots)


def _merge_filter(name: str, value: Any, within: Any) -> Any:
    """Return a value given beside or among the filters. Raises BadRequest if both differ."""
    if UNSET not in (value, within) and value != within:
        raise BadRequest(f"{name}: differs from filters.{name}, which is another place for it")
    return within if value is UNSET else value


Unique = Annotated[
    int, Meta(description="first clicks of visitors on a link and day; never a bot's")
]
Rate = Annotated[float, Meta(description="conversions / clicks, to six decimals; 0 without clicks")]


class ReportMeasures(msgspec.Struct, kw_only=True):
    """The figures of a report or of one of its rows."""

    clicks: int
    unique_clicks: Unique = field(name="uniqueClicks")
    bot_clicks: int = field(name="botClicks")
    conversions: int
    conversion_rate: Rate = field(name="conversionRate")
    value: Decimal
    payout: Decimal


class ReportRow(msgspec.Struct, kw_only=True):
    """A row of a report: its key and name, and the fields of ReportMeasures."""

    key: Annotated[str, Meta(description="id or value of the group")]
    name: Annotated[str, Meta(description="name of the group, for people")]
    clicks: int
    unique_clicks: Unique = field(name="uniqueClicks")
    bot_clicks: int = field(name="botClicks")
    conversions: int
    conversion_rate: Rate = field(name="conversionRate")
    value: Decimal
    payout: Decimal


class ReportAnswer(msgspec.Struct, kw_only=True):
    """A page of the rows of a report, with its totals."""

    rows: Annotated[list[ReportRow], Meta(description="by clicks in descending order, then by key")]
    totals: Annotated[
        ReportMeasures,
        Meta(description="sums over all clicks that match the filters, each counted once"),
    ]
    group_by: GroupBy = field(name="groupBy")
    date_range: DateRange = field(name="dateRange")
    pagination: Pagination

"""The requests of `/api/reports`, and the rules of their fields."""

from typing import Annotated, Any, Final, Literal, NamedTuple, Self
from uuid import UUID

import msgspec
from msgspec import UNSET, Meta, UnsetType, field

from tracker.api.export import FormatIn
from tracker.api.limits import DEFAULT_PAGE_SIZE, MAX_REPORT_DAYS, MAX_TEXT_CHARACTERS
from tracker.api.report_answer import COLUMNS, Column
from tracker.api.report_filters import BotsIn, ReportFilters, TagOperator
from tracker.api.schema import AccountId, Day, PageNumber, PageSize, parse_day
from tracker.errors import BadRequest
from tracker.reports.comparison import Compared, other_range
from tracker.reports.day_range import DayRange
from tracker.reports.query import GroupBy, Query, SortBy
from tracker.reports.series import MAX_HOURLY_DAYS, Interval

IntervalIn = Annotated[
    Interval,
    Meta(
        description="adds a series: the measures of every step of the range, empty ones too. Weeks "
        f"begin on Monday; hour is for at most {MAX_HOURLY_DAYS} days"
    ),
]
_SORTED: Final[dict[str, SortBy]] = {**COLUMNS, "key": "key", "name": "name"}
DEFAULT_SORT: Final = "-clicks"
Sort = Annotated[
    Literal[
        "clicks",
        "-clicks",
        "uniqueClicks",
        "-uniqueClicks",
        "botClicks",
        "-botClicks",
        "conversions",
        "-conversions",
        "conversionRate",
        "-conversionRate",
        "value",
        "-value",
        "payout",
        "-payout",
        "key",
        "-key",
        "name",
        "-name",
    ],
    Meta(description="a measure, key or name; with - in descending order. Ties are by key"),
]
Search = Annotated[
    str,
    Meta(
        max_length=MAX_TEXT_CHARACTERS,
        description="only rows with this text in their name or key, in any case",
    ),
]
Columns = Annotated[
    list[Column],
    Meta(min_length=1, max_length=len(COLUMNS), description="the measures to show; default: all"),
]


class Order(NamedTuple):
    """The order of rows, as a query takes it."""

    sort: SortBy
    descending: bool


def order_of(sort: Sort) -> Order:
    """Return the order of rows that a request names."""
    return Order(_SORTED[sort.removeprefix("-")], sort.startswith("-"))


class DateRange(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """Days of the account's time zone, both included."""

    first: Annotated[Day, Meta(examples=["2026-01-01"])] = field(name="from")
    last: Annotated[Day, Meta(examples=["2026-01-31"])] = field(name="to")

    def __post_init__(self) -> None:
        first, last = parse_day("from", self.first), parse_day("to", self.last)
        if first > last:
            raise ValueError("from: must not be after to")
        if (last - first).days >= MAX_REPORT_DAYS:
            raise ValueError(f"to: at most {MAX_REPORT_DAYS} days, from and to included")

    @classmethod
    def of(cls, days: DayRange) -> Self:
        """Return the range of these days."""
        return cls(first=days.first.isoformat(), last=days.last.isoformat())

    def days(self) -> DayRange:
        """Return the days."""
        return DayRange(parse_day("from", self.first), parse_day("to", self.last))


GroupByIn = Annotated[
    GroupBy,
    Meta(
        description="one row for each. The first report by a combination of dimensions counts each "
        "day by it, and takes longer; the counts are kept"
    ),
]
Compare = Annotated[
    Compared | DateRange,
    Meta(
        description="adds the same measures of other days, and the change: of as many days before "
        "(previous_period), of the same dates a year before (previous_year; 28 for 29 February), "
        "or of any days"
    ),
]


class ReportRequest(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """The part of a request that says which clicks and conversions are counted, and what is shown
    of them."""

    account_id: AccountId = field(name="accountId")
    date_range: DateRange = field(name="dateRange")
    filters: ReportFilters = field(default_factory=ReportFilters)
    tag_operator: TagOperator | UnsetType = field(default=UNSET, name="tagOperator")
    bots: BotsIn | UnsetType = UNSET
    compare: Compare | UnsetType = UNSET
    interval: IntervalIn | UnsetType = UNSET
    columns: Columns | UnsetType = UNSET

    def __post_init__(self) -> None:
        within = self.filters
        self.tag_operator = _merge_filter("tagOperator", self.tag_operator, within.tag_operator)
        self.bots = _merge_filter("bots", self.bots, within.bots)
        previous = self.previous_days()
        if self.is_hourly():
            name = "interval" if self.interval == "hour" else "dateRange"
            _check_hourly(name, self.date_range.days())
            if previous is not None:
                _check_hourly("compare", previous)

    def is_hourly(self) -> bool:
        """Return whether the answer has steps of an hour."""
        return self.interval == "hour"

    def previous_days(self) -> DayRange | None:
        """Return the days to compare with, if any. Raises ValueError if they precede the year 1."""
        if isinstance(self.compare, UnsetType):
            return None
        if isinstance(self.compare, DateRange):
            return self.compare.days()
        try:
            return other_range(self.date_range.days(), self.compare)
        except OverflowError:
            raise ValueError("compare: there are no days before 0001-01-01") from None

    def query(self, account_id: UUID) -> Query:
        """Return the query of all clicks and conversions, by day."""
        days = self.date_range.days()
        return Query(
            account_id=account_id,
            first=days.first,
            last=days.last,
            group_by="day",
            filters=self.filters.values(),
            all_tags=self.tag_operator == "AND",
            bots="exclude" if self.bots is UNSET else self.bots,
        )


class CreateReport(ReportRequest, forbid_unknown_fields=True, kw_only=True):
    """The report to compute."""

    group_by: GroupByIn = field(name="groupBy")
    sort: Sort = DEFAULT_SORT
    search: Search = ""
    page: PageNumber = 1
    page_size: PageSize = field(default=DEFAULT_PAGE_SIZE, name="pageSize")
    format: FormatIn = UNSET

    def is_hourly(self) -> bool:
        """Return whether the answer has steps of an hour, or compares each hour."""
        compares_hours = self.group_by == "hour" and self.compare is not UNSET
        return self.interval == "hour" or compares_hours


def _check_hourly(name: str, days: DayRange) -> None:
    if days.days > MAX_HOURLY_DAYS:
        raise ValueError(f"{name}: by hour at most {MAX_HOURLY_DAYS} days")


def _merge_filter(name: str, value: Any, within: Any) -> Any:
    """Return a value given beside or among the filters. Raises BadRequest if both differ."""
    if UNSET not in (value, within) and value != within:
        raise BadRequest(f"{name}: differs from filters.{name}, which is another place for it")
    return within if value is UNSET else value

"""The requests of `/api/reports`, and the rules of their fields."""

from collections.abc import Sequence
from datetime import date
from typing import Annotated, Any, Final, Literal, Self
from uuid import UUID

import msgspec
from msgspec import UNSET, Meta, UnsetType, field

from tracker.calendar import Calendar
from tracker.clock import now
from tracker.errors import BadRequest
from tracker.reports.api.figures import MEASURE_FIELDS, MeasureName
from tracker.reports.api.filters import (
    BotsIn,
    ReportFilters,
    TagOperator,
)
from tracker.reports.api.groups import (
    GroupByIn,
    Levels,
    Parents,
    check_groups,
    check_parents,
)
from tracker.reports.api.having import Having, HavingIn
from tracker.reports.comparison import Compared, DayComparison, other_range
from tracker.reports.periods import DayRange, Interval
from tracker.reports.query import ReportQuery, SortBy
from tracker.reports.series import MAX_HOURLY_DAYS
from tracker.web.export import UNDESCRIBED, FileFormatIn, FormatIn
from tracker.web.limits import (
    DEFAULT_PAGE_SIZE,
    DEFAULT_VALUE_DAYS,
    MAX_REPORT_DAYS,
    MAX_TEXT_CHARACTERS,
)
from tracker.web.schema import AccountId, Day, PageNumber, PageSize, parse_day

IntervalIn = Annotated[
    Interval,
    Meta(
        description="adds a series: the measures of every step of the range, empty ones too. Weeks "
        f"begin on Monday; hour is for at most {MAX_HOURLY_DAYS} days"
    ),
]
_SORTED: Final[dict[str, SortBy]] = {**MEASURE_FIELDS, "key": "key", "name": "name"}
DEFAULT_SORT: Final = "-clicks"
_CHANGE: Final = "change."
_SORTS: Final = tuple(
    f"{order}{name}"
    for name in (*_SORTED, *(f"{_CHANGE}{measure}" for measure in MEASURE_FIELDS))
    for order in ("", "-")
)
Sort = Annotated[
    Literal[_SORTS],  # type: ignore[valid-type]
    Meta(
        description="a measure, key or name; with - in descending order. Ties are by key. "
        "change.clicks is by the difference to the days that `compare` names"
    ),
]
Search = Annotated[
    str,
    Meta(
        max_length=MAX_TEXT_CHARACTERS,
        description="only rows with this text in their name or key, in any case",
    ),
]
MeasureNames = Annotated[
    list[MeasureName],
    Meta(
        min_length=1,
        max_length=len(MEASURE_FIELDS),
        description="the measures to show; default: all",
    ),
]


def sorted_by(sort: Sort) -> str:
    """Return the measure, key or name of an order."""
    return str(sort).removeprefix("-").removeprefix(_CHANGE)


def order_of(sort: Sort) -> dict[str, Any]:
    by_change = _CHANGE in sort
    order: SortBy = _SORTED[sorted_by(sort)]
    return {"sort": order, "descending": sort.startswith("-"), "by_change": by_change}


def check_sort(field: str, sort: Sort, is_compared: bool) -> None:
    """Raises ValueError, which names the `field`, if an order needs other days."""
    if _CHANGE in sort and not is_compared:
        raise ValueError(f"{field}: {sort} needs compare")


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
        return cls(first=days.first.isoformat(), last=days.last.isoformat())

    def days(self) -> DayRange:
        return DayRange(parse_day("from", self.first), parse_day("to", self.last))


class OptionalDays(msgspec.Struct, kw_only=True):
    """Days that a query may name."""

    first: Annotated[
        Day | None,
        Meta(description=f"the first day; default: {DEFAULT_VALUE_DAYS} days up to the last"),
    ] = field(default=None, name="from")
    last: Annotated[Day | None, Meta(description="the last day, included; default: today")] = field(
        default=None, name="to"
    )

    def __post_init__(self) -> None:
        for name, text in (("from", self.first), ("to", self.last)):
            if text is not None:
                parse_day(name, text)

    def date_range(self, calendar: Calendar) -> DateRange:
        """Return the days to look at. Raises BadRequest if they are in no order, or too many."""
        try:
            last = parse_day("to", self.last) if self.last else calendar.day_of(now())
            first = parse_day("from", self.first) if self.first else _first_by_default(last)
            return DateRange.of(DayRange(first, last))
        except ValueError as error:
            raise BadRequest(str(error)) from None


def _first_by_default(last: date) -> date:
    # No date is before year 1.
    return date.fromordinal(max(1, last.toordinal() - DEFAULT_VALUE_DAYS + 1))


Compare = Annotated[
    Compared | DateRange,
    Meta(
        description="adds the same measures of other days, and the change; a row of either time is "
        "a row of the report. Other days are: as many "
        "directly before (previous_period); the same days of the week, month or year before "
        "(previous_week, previous_month, previous_year; the 30th for the 31st, whole months for "
        "whole months); or any days. If the report's days are not over, only the same part of the "
        "other days counts, up to the same time of day"
    ),
]


class ReportRequest(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """The fields of all requests for reports: which clicks and conversions count, and how."""

    account_id: AccountId = field(name="accountId")
    date_range: DateRange = field(name="dateRange")
    filters: ReportFilters = field(default_factory=ReportFilters)
    tag_operator: TagOperator | UnsetType = field(default=UNSET, name="tagOperator")
    bots: BotsIn | UnsetType = UNSET
    compare: Compare | UnsetType = UNSET
    interval: IntervalIn | UnsetType = UNSET
    columns: MeasureNames | UnsetType = UNSET

    def __post_init__(self) -> None:
        within = self.filters
        self.tag_operator = _merge_filter("tagOperator", self.tag_operator, within.tag_operator)
        self.bots = _merge_filter("bots", self.bots, within.bots)
        comparison = self.comparison()
        if self.is_hourly():
            name = "interval" if self.interval == "hour" else "dateRange"
            _check_hourly(name, self.date_range.days())
            if comparison is not None:
                _check_hourly("compare", comparison.other)

    def is_hourly(self) -> bool:
        return self.interval == "hour"

    def comparison(self) -> DayComparison | None:
        """Return the days to compare with. Raises ValueError if they precede year 1."""
        days = self.date_range.days()
        if isinstance(self.compare, UnsetType):
            return None
        if isinstance(self.compare, DateRange):
            return DayComparison(days, self.compare.days())
        try:
            return DayComparison(days, other_range(days, self.compare), self.compare)
        except OverflowError:
            raise ValueError("compare: there are no days before 0001-01-01") from None

    def query(self, account_id: UUID, within: frozenset[UUID] | None = None) -> ReportQuery:
        """Return the query of all clicks and conversions by day, or of a limit to tags."""
        days = self.date_range.days()
        found = ReportQuery(
            account_id=account_id,
            first=days.first,
            last=days.last,
            group_by="day",
            filters=self.filters.values(),
            excluded=self.filters.values("is_not"),
            containing=self.filters.values("contains"),
            not_containing=self.filters.values("contains_not"),
            all_tags=self.tag_operator == "AND",
            bots="exclude" if self.bots is UNSET else self.bots,
            tests="exclude" if self.filters.tests is UNSET else self.filters.tests,
        )
        return found.limited_to(within)


class RowsRequest(ReportRequest, forbid_unknown_fields=True, kw_only=True):
    """The rows of a report."""

    group_by: GroupByIn | Levels = field(name="groupBy")
    sort: Sort = DEFAULT_SORT
    search: Search = ""
    having: HavingIn = field(default_factory=Having)

    def __post_init__(self) -> None:
        check_groups("groupBy", self.group_by)
        if isinstance(self.group_by, list) and self.interval is not UNSET:
            raise ValueError("interval: not with a list in groupBy")
        check_sort("sort", self.sort, self.compare is not UNSET)
        super().__post_init__()

    def is_hourly(self) -> bool:
        """Return whether the answer has steps of an hour, or compares each hour."""
        compares_hours = "hour" in self.dimensions and self.compare is not UNSET
        return self.interval == "hour" or compares_hours

    @property
    def dimensions(self) -> Sequence[str]:
        return self.group_by if isinstance(self.group_by, list) else [self.group_by]


class CreateReport(RowsRequest, forbid_unknown_fields=True, kw_only=True):
    """The report to compute."""

    parents: Parents = field(default_factory=list)
    page: PageNumber = 1
    page_size: PageSize = field(default=DEFAULT_PAGE_SIZE, name="pageSize")
    format: FormatIn = UNSET

    def __post_init__(self) -> None:
        super().__post_init__()
        check_parents(self.parents, self.dimensions)


class ExportReport(RowsRequest, forbid_unknown_fields=True, kw_only=True):
    """The report to export, with all rows. It takes no interval, and no page but the first."""

    page: Annotated[PageNumber, UNDESCRIBED] = 1
    page_size: Annotated[PageSize, UNDESCRIBED] = field(default=DEFAULT_PAGE_SIZE, name="pageSize")
    format: FileFormatIn = UNSET


def _check_hourly(name: str, days: DayRange) -> None:
    if days.days > MAX_HOURLY_DAYS:
        raise ValueError(f"{name}: by hour at most {MAX_HOURLY_DAYS} days")


def _merge_filter(name: str, value: Any, within: Any) -> Any:
    """Return a filter given in either of its places. Raises BadRequest if they differ."""
    if UNSET not in (value, within) and value != within:
        raise BadRequest(f"{name}: differs from filters.{name}, which is another place for it")
    return within if value is UNSET else value

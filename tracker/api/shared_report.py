"""The report of a share: fixed days or the last ones, and what nobody who opens it can change."""

from datetime import date, timedelta
from typing import Annotated, Any
from uuid import UUID

import msgspec
from msgspec import UNSET, Meta, UnsetType, field

from tracker.api.limits import MAX_PANELS, MAX_REPORT_DAYS
from tracker.api.report_filters import BotsIn, ReportFilters, TagOperator
from tracker.api.report_overview import CreateOverview, OverviewPanel
from tracker.api.report_schema import Compare, DateRange, IntervalIn
from tracker.ids import new_id
from tracker.reports.day_range import DayRange

_WORST_DAY = date(2029, 3, 1)
"""A day on which the last days are fewer than those of the year before, which had a leap day."""


class SharedReport(msgspec.Struct, forbid_unknown_fields=True, kw_only=True, omit_defaults=True):
    """An overview, of `dateRange` or of the last days up to that on which it is opened."""

    date_range: DateRange | UnsetType = field(default=UNSET, name="dateRange")
    last_days: Annotated[int, Meta(ge=1, le=MAX_REPORT_DAYS)] | UnsetType = field(
        default=UNSET, name="lastDays"
    )
    filters: ReportFilters = field(default_factory=ReportFilters)
    tag_operator: TagOperator | UnsetType = field(default=UNSET, name="tagOperator")
    bots: BotsIn | UnsetType = UNSET
    compare: Compare | UnsetType = UNSET
    interval: IntervalIn | UnsetType = UNSET
    panels: Annotated[
        list[OverviewPanel], Meta(max_length=MAX_PANELS, description="one for each dimension")
    ] = field(default_factory=list)

    def __post_init__(self) -> None:
        if (self.date_range is UNSET) == (self.last_days is UNSET):
            raise ValueError("dateRange: needed, or lastDays instead; not both")
        self.overview(new_id(), _WORST_DAY)

    @property
    def days(self) -> str:
        """Return the days in words, for people."""
        if isinstance(self.date_range, DateRange):
            return f"{self.date_range.first} to {self.date_range.last}"
        return f"the last {self.last_days}"

    def overview(self, account_id: UUID, today: date) -> CreateOverview:
        """Return the overview of an account whose day it is.

        Raises ValueError or BadRequest if a field breaks a rule.
        """
        if isinstance(self.date_range, DateRange):
            days = self.date_range
        else:
            assert isinstance(self.last_days, int)
            first = today - timedelta(days=self.last_days - 1)
            days = DateRange.of(DayRange(first, today))
        given: dict[str, Any] = {
            name: getattr(self, name)
            for name in ("filters", "tag_operator", "bots", "compare", "interval", "panels")
        }
        return CreateOverview(account_id=account_id, date_range=days, **given)

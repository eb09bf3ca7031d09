"""The report of a share: fixed or rolling days, and the settings that viewers cannot change."""

from collections.abc import Collection
from datetime import date, timedelta
from typing import TYPE_CHECKING, Annotated, Any, get_args
from uuid import UUID

import msgspec
from msgspec import UNSET, Meta, UnsetType, field
from msgspec.structs import replace

from tracker.ids import new_id
from tracker.reports.api.figures import MEASURE_FIELDS, OF_COST, MeasureName
from tracker.reports.api.filters import (
    BotsIn,
    Operator,
    ReportFilters,
    TagOperator,
    check_dimension,
    dimension_in,
)
from tracker.reports.api.having import without
from tracker.reports.api.overview import CreateOverview, OverviewPanel
from tracker.reports.api.schema import Compare, DateRange, IntervalIn, sorted_by
from tracker.reports.dimensions import FILTER_NAMES, LINK, OF_EVENTS, PARENT, PICTURES
from tracker.reports.periods import DayRange, RollingPeriod, days_of
from tracker.reports.query import GroupBy
from tracker.sharing.api.shared_tables import MAX_TABLES, ShareTable
from tracker.web.limits import MAX_PANELS, MAX_REPORT_DAYS

_WORST_DAY = date(2029, 3, 1)
"""A day whose last year is a day shorter than the year before, which had a leap day."""

_OF_CLICKS = ("clicks", "uniqueClicks", "botClicks", "conversionRate")

_SHOWN = (*FILTER_NAMES, *PICTURES)
if TYPE_CHECKING:
    ShownPanel = str
else:
    ShownPanel = dimension_in(_SHOWN)
ShownPanels = Annotated[
    list[ShownPanel],
    Meta(
        max_length=MAX_PANELS,
        description="the panels on the page, in this order. Each is one of `panels`; map needs "
        "country. Default: all panels, as tabs of a few cards",
    ),
]
Measure = Annotated[MeasureName, Meta(description="the measure to show at first")]


class SharedReport(msgspec.Struct, forbid_unknown_fields=True, kw_only=True, omit_defaults=True):
    """An overview of fixed days (`dateRange`), or of days relative to the day of opening."""

    date_range: DateRange | UnsetType = field(default=UNSET, name="dateRange")
    last_days: Annotated[int, Meta(ge=1, le=MAX_REPORT_DAYS)] | UnsetType = field(
        default=UNSET, name="lastDays"
    )
    until_yesterday: (
        Annotated[bool, Meta(description="with lastDays: the last day is yesterday")] | UnsetType
    ) = field(default=UNSET, name="untilYesterday")
    period: (
        Annotated[
            RollingPeriod,
            Meta(description="week, month and year go up to today; weeks begin on Monday"),
        ]
        | UnsetType
    ) = UNSET
    filters: ReportFilters = field(default_factory=ReportFilters)
    tag_operator: TagOperator | UnsetType = field(default=UNSET, name="tagOperator")
    bots: BotsIn | UnsetType = UNSET
    compare: Compare | UnsetType = UNSET
    interval: IntervalIn | UnsetType = UNSET
    panels: Annotated[
        list[OverviewPanel],
        Meta(
            max_length=MAX_PANELS,
            description="one for each dimension. `measure` takes precedence over a measure in "
            "`sort`",
        ),
    ] = field(default_factory=list)
    measure: Measure | UnsetType = UNSET
    shown: ShownPanels | UnsetType = UNSET
    tables: Annotated[
        list[ShareTable],
        Meta(max_length=MAX_TABLES, description="cross tables, whose rows readers unfold"),
    ] = field(default_factory=list)
    costs: Annotated[bool, Meta(description="true: costs and profit are shown too")] = False

    def __post_init__(self) -> None:
        if [self.date_range, self.last_days, self.period].count(UNSET) != 2:
            raise ValueError("dateRange: needed, or lastDays or period instead; only one of them")
        if self.until_yesterday is not UNSET and self.last_days is UNSET:
            raise ValueError("untilYesterday: only with lastDays")
        self._check_shown()
        for number, table in enumerate(self.tables):
            table.check(f"tables[{number}]", self.compare is not UNSET)
        if self.filters.tests == "only":
            raise ValueError("filters.tests: a share shows no tests")
        self.overview(new_id(), _WORST_DAY)

    def _check_shown(self) -> None:
        """Raise ValueError if a panel is shown twice, or is not in `panels`."""
        if isinstance(self.shown, UnsetType):
            return
        given = {panel.group_by for panel in self.panels}
        for number, name in enumerate(self.shown):
            check_dimension(f"shown[{number}]", name, _SHOWN)
            dimension = "country" if name == "map" else name
            if dimension not in given:
                raise ValueError(f"shown[{number}]: panels has no {dimension}")
            if name in self.shown[:number]:
                raise ValueError(f"shown[{number}]: {name} is shown already")

    def check_without_names(self) -> None:
        """Raises ValueError for links and parents that are nothing without their names."""
        tables = {name for one in self.tables for name in one.group_by}
        if LINK in tables:
            raise ValueError("report.tables: link only with show_link_names")
        panels = [one.group_by for one in self.panels]
        filters = [name for one in get_args(Operator) for name in self.filters.values(one)]
        for name, used in (("panels", panels), ("tables", tables), ("filters", filters)):
            if PARENT in used:
                raise ValueError(f"report.{name}: {PARENT} only with show_link_names")

    @property
    def days(self) -> str:
        """Return the days in words, for people."""
        if isinstance(self.date_range, DateRange):
            return f"{self.date_range.first} to {self.date_range.last}"
        if isinstance(self.last_days, int):
            up_to = " up to yesterday" if self.until_yesterday is True else ""
            return f"the last {self.last_days}{up_to}"
        assert not isinstance(self.period, UnsetType)
        return self.period.replace("_", " ")

    @property
    def hidden(self) -> Collection[str]:
        return () if self.costs else OF_COST

    @property
    def own_measure(self) -> MeasureName | UnsetType:
        return self.measure if self._may_show(self.measure) else UNSET

    def overview(
        self,
        account_id: UUID,
        today: date,
        measure: MeasureName | UnsetType = UNSET,
        days: DateRange | UnsetType = UNSET,
    ) -> CreateOverview:
        """Return the overview on the account's day `today`, with the first rows by `measure`.

        The default measure is the report's own. The order tells nothing of hidden ones either.
        Other `days` have steps of their own. Raises ValueError if they cannot be compared.
        """
        shown = measure if self._may_show(measure) else self.own_measure
        given: dict[str, Any] = {
            name: getattr(self, name) for name in ("filters", "tag_operator", "bots", "compare")
        }
        return CreateOverview(
            account_id=account_id,
            date_range=self._days_on(today) if isinstance(days, UnsetType) else days,
            interval=self.interval if days is UNSET else UNSET,
            panels=[_sorted(self._in_shown_order(panel), shown) for panel in self.panels],
            **given,
        )

    def _may_show(self, measure: MeasureName | UnsetType) -> bool:
        return not isinstance(measure, UnsetType) and measure not in self.hidden

    def _in_shown_order(self, panel: OverviewPanel) -> OverviewPanel:
        sort = "-clicks" if sorted_by(panel.sort) in self.hidden else panel.sort
        return replace(panel, sort=sort, having=without(panel.having, self.hidden))

    def _days_on(self, today: date) -> DateRange:
        if isinstance(self.date_range, DateRange):
            return self.date_range
        if isinstance(self.last_days, int):
            last = today - timedelta(days=1) if self.until_yesterday is True else today
            return DateRange.of(DayRange(last - timedelta(days=self.last_days - 1), last))
        assert not isinstance(self.period, UnsetType)
        return DateRange.of(days_of(self.period, today))


def _sorted(panel: OverviewPanel, measure: MeasureName | UnsetType) -> OverviewPanel:
    """Sort the panel by `measure`, unless it is sorted by key or name."""
    if isinstance(measure, UnsetType) or panel.sort.removeprefix("-") not in MEASURE_FIELDS:
        return panel
    order = "-" if panel.sort.startswith("-") else ""
    return replace(panel, sort=f"{order}{_measure_of(panel.group_by, measure)}")


def _measure_of(dimension: GroupBy, measure: MeasureName) -> MeasureName:
    """Return the measure that the console shows in a panel. Events have no clicks."""
    if dimension == "bot":
        return "botClicks"
    return "conversions" if dimension in OF_EVENTS and measure in _OF_CLICKS else measure

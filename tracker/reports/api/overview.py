"""`/api/reports/overview`: the figures of a page of reports, in one request and of one moment."""

from collections.abc import Collection
from typing import Annotated
from uuid import UUID

import msgspec
from msgspec import UNSET, Meta, UnsetType, field
from msgspec.structs import asdict, replace

from tracker.reports.answers.names import filter_names
from tracker.reports.answers.overview import Overview, read_overview
from tracker.reports.answers.selection import resolved
from tracker.reports.api.answer import (
    ChosenColumns,
    TimeZoneChanges,
    UnfinishedPeriod,
    zone_changes,
    zone_of,
)
from tracker.reports.api.figures import (
    AccountCurrency,
    FiguresOfAll,
    MeasureName,
    ReportChange,
    ReportMeasures,
    ReportRow,
    ReportStep,
)
from tracker.reports.api.filters import check_dimension
from tracker.reports.api.groups import GroupByIn
from tracker.reports.api.having import HavingIn
from tracker.reports.api.reports import check_domains
from tracker.reports.api.schema import (
    DEFAULT_SORT,
    DateRange,
    ReportRequest,
    Search,
    Sort,
    check_sort,
    order_of,
)
from tracker.reports.dimensions import GROUPS
from tracker.reports.joint_counts.report_run import ReportRun
from tracker.reports.periods import Interval
from tracker.reports.query import ReportQuery
from tracker.reports.series import default_interval
from tracker.reports.services import ReportCall, ReportServices
from tracker.web.call import Nothing
from tracker.web.endpoint import Endpoints
from tracker.web.limits import MAX_PANEL_ROWS, MAX_PANELS, MAX_REPORT_BODY_BYTES
from tracker.web.schema import TimeZone

endpoint = Endpoints("reports")


class OverviewPanel(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """The first rows by one dimension."""

    group_by: GroupByIn = field(name="groupBy")
    limit: Annotated[int, Meta(ge=1, le=MAX_PANEL_ROWS, description="rows")] = 10
    sort: Sort = DEFAULT_SORT
    search: Search = ""
    # Unset, so that shares that do not use it are stored as processes of 1.0.0 read them.
    compare: (
        Annotated[bool, Meta(description="false: its rows have no `previous` and no `change`")]
        | UnsetType
    ) = UNSET
    having: HavingIn | UnsetType = UNSET

    def __post_init__(self) -> None:
        check_dimension("groupBy", self.group_by, GROUPS)

    def query(self, query: ReportQuery) -> ReportQuery:
        return replace(
            query,
            group_by=self.group_by,
            search=self.search,
            page_size=self.limit,
            having=() if isinstance(self.having, UnsetType) else self.having.bounds(),
            **order_of(self.sort),
        )


class WantedMovers(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """The rows whose figures have changed most since the days to compare with."""

    group_by: GroupByIn = field(default="link", name="groupBy")
    measure: MeasureName = "clicks"
    limit: Annotated[int, Meta(ge=1, le=MAX_PANEL_ROWS, description="rows of each kind")] = 5

    def __post_init__(self) -> None:
        check_dimension("groupBy", self.group_by, GROUPS)

    def query(self, query: ReportQuery) -> ReportQuery:
        order = order_of(f"-change.{self.measure}")
        return replace(query, group_by=self.group_by, page_size=self.limit, **order)


class CreateOverview(ReportRequest, forbid_unknown_fields=True, kw_only=True):
    """The overview to compute. Its interval follows from its days, unless one is named."""

    panels: Annotated[
        list[OverviewPanel], Meta(max_length=MAX_PANELS, description="one for each dimension")
    ] = field(default_factory=list)
    movers: WantedMovers | UnsetType = UNSET

    def __post_init__(self) -> None:
        super().__post_init__()
        first: dict[str, int] = {}
        for number, panel in enumerate(self.panels):
            if (other := first.setdefault(panel.group_by, number)) != number:
                raise ValueError(f"panels[{number}].groupBy: panels[{other}] has it already")
            is_compared = self.compare is not UNSET and panel.compare is not False
            check_sort(f"panels[{number}].sort", panel.sort, is_compared)
        if self.movers is not UNSET and self.compare is UNSET:
            raise ValueError("movers: needs compare")

    def chosen_interval(self) -> Interval:
        days = self.date_range.days()
        return default_interval(days) if isinstance(self.interval, UnsetType) else self.interval

    def is_hourly(self) -> bool:
        return self.chosen_interval() == "hour"


class PanelRows(msgspec.Struct, kw_only=True):
    """The first rows by a dimension, and the number of all rows."""

    rows: list[ReportRow]
    total_rows: int = field(name="totalRows")


class MovedRows(msgspec.Struct, kw_only=True):
    """The rows that rose and fell by the most, in the measure that was asked for."""

    gained: list[ReportRow]
    lost: list[ReportRow]


class OverviewFigures(msgspec.Struct, kw_only=True):
    """The figures of an overview, all of one moment."""

    totals: Annotated[FiguresOfAll, Meta(description="each click and conversion counts once")]
    previous: ReportMeasures | UnsetType = UNSET
    change: ReportChange | UnsetType = UNSET
    interval: Interval
    series: list[ReportStep]
    previous_series: list[ReportStep] | UnsetType = field(default=UNSET, name="previousSeries")
    panels: Annotated[dict[str, PanelRows], Meta(description="by groupBy")]
    movers: MovedRows | UnsetType = UNSET
    date_range: DateRange = field(name="dateRange")
    previous_date_range: DateRange | UnsetType = field(default=UNSET, name="previousDateRange")
    time_zone: TimeZone = field(name="timeZone")
    time_zone_changes: TimeZoneChanges = field(default=UNSET, name="timeZoneChanges")
    currency: AccountCurrency = UNSET
    unfinished: (
        Annotated[UnfinishedPeriod, Meta(description="only while they are not over")] | UnsetType
    ) = UNSET


class OverviewAnswer(OverviewFigures, kw_only=True):
    """Totals, a series, and the first rows of each panel. All figures are of one moment."""

    filter_names: Annotated[
        dict[str, dict[str, str]], Meta(description="the names of the values in filters")
    ] = field(name="filterNames")


@endpoint(
    "POST",
    "/api/reports/overview",
    "reports:read",
    check=check_domains,
    example={
        "dateRange": {"from": "2026-01-01", "to": "2026-01-31"},
        "filters": {"country": ["DE", "FR"]},
        "compare": "previous_period",
        "panels": [{"groupBy": "link", "limit": 5}, {"groupBy": "country"}],
    },
    operation_id="createReportOverview",
    limited=True,
    ends_with_client=True,
    body_bytes=MAX_REPORT_BODY_BYTES,
)
async def create(call: ReportCall[Nothing, CreateOverview]) -> OverviewAnswer:
    """Count the figures of a page: totals, a series, the first rows by each dimension.

    Raises as `overview` does.
    """
    services, body, within = call.services, call.body, call.principal.tags
    found = await overview(services, call.account_id, body, within=within)
    reads, filters = call.web.mongodb.reads, body.filters.named_values()
    return OverviewAnswer(
        **asdict(found),
        filter_names=await filter_names(reads, call.account_id, filters, within),
    )


async def overview(
    services: ReportServices,
    account_id: UUID,
    body: CreateOverview,
    without: Collection[str] = (),
    within: frozenset[UUID] | None = None,
) -> OverviewFigures:
    """Return the figures, all but the columns `without`, of links with a tag of `within`."""
    query = body.query(account_id, within)
    panels = [panel.query(query) for panel in body.panels]
    alone = {number for number, panel in enumerate(body.panels) if panel.compare is False}
    async with services.reports.begin(account_id) as run:
        query = resolved(run.scope, query)
        panels = [
            resolved(run.scope, panel, f"panels[{number}].groupBy")
            for number, panel in enumerate(panels)
        ]
        moving = None
        if not isinstance(body.movers, UnsetType):
            moving = resolved(run.scope, body.movers.query(query), "movers.groupBy")
        found = await read_overview(
            run, query, body.chosen_interval(), body.comparison(), panels, alone, moving
        )
    return _answer(body, found, run, without)


def _answer(
    body: CreateOverview, found: Overview, run: ReportRun, without: Collection[str]
) -> OverviewFigures:
    current, previous = found.series, found.previous
    told = [current.totals, *(previous.figures() if previous else ())]
    chosen = ChosenColumns(body.columns, told, without)
    interval, days, calendar = body.chosen_interval(), body.date_range.days(), run.scope.calendar
    answer = OverviewFigures(
        totals=chosen.figures(current.totals),
        interval=interval,
        series=chosen.steps(current.steps),
        panels={
            panel.group_by: PanelRows(
                rows=chosen.rows(report.rows, previous_rows), total_rows=report.total_rows
            )
            for panel, report, previous_rows in zip(
                body.panels, found.panels, found.previous_rows, strict=True
            )
        },
        date_range=body.date_range,
        time_zone=zone_of(calendar, days, run.at),
        time_zone_changes=zone_changes(calendar, days),
        currency=run.scope.currency or UNSET,
        unfinished=chosen.unfinished(days, run.at, calendar, interval, previous),
    )
    if found.movers is not None:
        gained, lost, before = found.movers
        rows = (chosen.rows(one, before) for one in (gained, lost))
        answer.movers = MovedRows(gained=next(rows), lost=next(rows))
    if previous is not None and previous.steps is not None:
        answer.previous = chosen.measures(previous.totals)
        answer.change = chosen.change(current.totals, previous.totals)
        answer.previous_series = chosen.steps(previous.steps)
        answer.previous_date_range = DateRange.of(previous.days.days)
    return answer

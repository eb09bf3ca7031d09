"""`/api/reports`: counts of an account's clicks and conversions, in groups."""

from collections.abc import AsyncGenerator, Collection, Sequence
from typing import Annotated
from uuid import UUID

import msgspec
from msgspec import UNSET, Meta, UnsetType, field
from msgspec.structs import replace

from tracker.errors import BadRequest
from tracker.links.hostnames import canonical_hostname
from tracker.reports.answers.compared import DetailedReport, read_all_rows, read_detailed
from tracker.reports.answers.levels import read_cross_table
from tracker.reports.answers.names import filter_names
from tracker.reports.answers.rows import SEPARATOR
from tracker.reports.answers.selection import resolved
from tracker.reports.api.answer import (
    ChosenColumns,
    TimeZoneChanges,
    UnfinishedPeriod,
    zone_changes,
    zone_of,
)
from tracker.reports.api.figures import (
    MEASURE_FIELDS,
    AccountCurrency,
    FileRow,
    ReportRow,
    ReportStep,
    ReportTotals,
)
from tracker.reports.api.groups import GroupBy, Levels
from tracker.reports.api.schema import (
    CreateReport,
    DateRange,
    ExportReport,
    ReportRequest,
    RowsRequest,
    order_of,
)
from tracker.reports.joint_counts.report_run import ReportRun
from tracker.reports.periods import Interval
from tracker.reports.query import ReportQuery
from tracker.reports.services import ReportCall, ReportServices
from tracker.web.call import Nothing
from tracker.web.endpoint import Endpoints
from tracker.web.export import Export
from tracker.web.export_stream import PIECE_ROWS
from tracker.web.limits import MAX_REPORT_BODY_BYTES
from tracker.web.schema import Pagination, TimeZone, pagination_of

endpoint = Endpoints("reports")


class ReportAnswer(msgspec.Struct, kw_only=True):
    """A page of the rows of a report, with its totals."""

    rows: Annotated[list[ReportRow], Meta(description="in the order of sort, then by key")]
    totals: Annotated[
        ReportTotals,
        Meta(description="sums over all clicks that match the filters, each counted once"),
    ]
    group_by: GroupBy | Levels = field(name="groupBy")
    date_range: DateRange = field(name="dateRange")
    time_zone: TimeZone = field(name="timeZone")
    time_zone_changes: TimeZoneChanges = field(default=UNSET, name="timeZoneChanges")
    currency: AccountCurrency = UNSET
    pagination: Pagination
    interval: Interval | UnsetType = UNSET
    series: list[ReportStep] | UnsetType = UNSET
    previous_date_range: DateRange | UnsetType = field(default=UNSET, name="previousDateRange")
    previous_series: list[ReportStep] | UnsetType = field(default=UNSET, name="previousSeries")
    unfinished: (
        Annotated[UnfinishedPeriod, Meta(description="only while they are not over")] | UnsetType
    ) = UNSET
    filter_names: (
        Annotated[dict[str, dict[str, str]], Meta(description="the names of the values in filters")]
        | UnsetType
    ) = field(default=UNSET, name="filterNames")


async def check_domains(services: ReportServices, body: ReportRequest) -> None:
    """Check the domains in the filters. Raises BadRequest if one is not a hostname."""
    for name in body.filters.named_values().get("domain", []):
        if name != services.public_url.host and not canonical_hostname(str(name)):
            raise BadRequest("filters.domain: must be a hostname such as go.example.com")


async def all_rows(
    call: ReportCall[Nothing, RowsRequest],
) -> AsyncGenerator[list[ReportRow], None]:
    """Yield all rows of a report, in pieces.

    Everything is read before the first piece is sent, because a snapshot does not last.
    """
    body, services = call.body, call.services
    query = _query(call.account_id, body, call.principal.tags)
    reports, chosen = services.reports, ChosenColumns(body.columns)
    with reports.memory.reserve(call.account_id) as reservation:
        async with reports.begin(call.account_id, reservation=reservation) as run:
            query = resolved(run.scope, query)
            if query.levels:
                table = await read_cross_table(run, query, body.comparison())
            else:
                report, previous = await read_all_rows(run, query, body.comparison())
        if query.levels:
            for first in range(0, len(table.paths), PIECE_ROWS):
                found = chosen.rows(*table.piece(first, PIECE_ROWS))
                yield list(map(_row_of_levels, found))
            return
        for first in range(0, len(report.keys), PIECE_ROWS):
            rows = report.piece(first, PIECE_ROWS)
            yield chosen.rows(rows, None if previous is None else previous.of(rows))


def _row_of_levels(row: ReportRow) -> FileRow:
    found = FileRow(**{name: getattr(row, name) for name in row.__struct_fields__})
    levels = zip(row.key.split(SEPARATOR), row.name.split(SEPARATOR), strict=True)
    for number, (found.key, found.name) in enumerate(levels, 1):
        setattr(found, f"key{number}", found.key)
        setattr(found, f"name{number}", found.name)
    return found


def _columns(call: ReportCall[Nothing, RowsRequest]) -> list[str]:
    body = call.body
    measures = list(MEASURE_FIELDS) if isinstance(body.columns, UnsetType) else body.columns
    currencies = ["otherCurrencies"] if body.columns is UNSET else []
    compared = [] if body.compare is UNSET else ["previous", "change"]
    points = ["change.conversionRatePoints"] if compared and "conversionRate" in measures else []
    others = [f"{part}.{one}" for part in compared for one in measures]
    levels = [""] if isinstance(body.group_by, str) else range(1, 1 + len(body.group_by))
    keys = [f"{one}{level}" for level in levels for one in ("key", "name")]
    return [*keys, *measures, *currencies, *others, *points]


@endpoint(
    "POST",
    "/api/reports",
    "reports:read",
    check=check_domains,
    example={
        "dateRange": {"from": "2026-01-01", "to": "2026-01-31"},
        "groupBy": "link",
        "filters": {"country": ["DE", "FR"]},
        "compare": "previous_period",
        "interval": "week",
    },
    export=Export(
        "report",
        "Export all rows of a report, as CSV or NDJSON",
        FileRow,
        all_rows,
        _columns,
        without=("interval", "parents"),
        body=ExportReport,
    ),
    ends_with_client=True,
    limited=True,
    body_bytes=MAX_REPORT_BODY_BYTES,
    operation_id="createReport",
)
async def create(call: ReportCall[Nothing, CreateReport]) -> ReportAnswer:
    """Count clicks and conversions, grouped and filtered.

    Raises RateLimited or Unavailable if too many reports wait, Unavailable if it takes too long.
    """
    within, filters = call.principal.tags, call.body.filters.named_values()
    answer = await report(call.services, call.account_id, call.body, within)
    if filters and not call.body.parents:
        reads = call.web.mongodb.reads
        answer.filter_names = await filter_names(reads, call.account_id, filters, within)
    return answer


async def report(
    services: ReportServices,
    account_id: UUID,
    body: CreateReport,
    within: frozenset[UUID] | None,
    without: Collection[str] = (),
) -> ReportAnswer:
    """Return a page of a report of links with a tag of `within`, but the columns `without`.

    Raises as `create`.
    """
    query = _query(account_id, body, within, body.parents)
    query = replace(query, page=body.page, page_size=body.page_size)
    interval = None if body.interval is UNSET else body.interval
    async with services.reports.begin(account_id) as run:
        query = resolved(run.scope, query)
        found = await read_detailed(run, query, interval, body.comparison())
    return _answer(body, found, run, without)


def _query(
    account_id: UUID,
    body: RowsRequest,
    within: frozenset[UUID] | None,
    parents: Sequence[str] = (),
) -> ReportQuery:
    return replace(
        body.query(account_id, within),
        group_by=body.dimensions[len(parents)],
        levels=body.group_by if isinstance(body.group_by, list) else (),
        parents=parents,
        search=body.search if not parents else None,
        having=body.having.bounds(),
        **order_of(body.sort),
    )


def _answer(
    body: CreateReport, found: DetailedReport, run: ReportRun, without: Collection[str]
) -> ReportAnswer:
    previous, days, calendar = found.previous, body.date_range.days(), run.scope.calendar
    told = [found.report.totals, *(previous.figures() if previous else ())]
    chosen = ChosenColumns(body.columns, told, without)
    answer = ReportAnswer(
        rows=chosen.rows(found.report.rows, found.previous_rows),
        totals=chosen.totals(found.report.totals, previous.totals if previous else None),
        group_by=body.group_by,
        date_range=body.date_range,
        time_zone=zone_of(calendar, days, run.at),
        time_zone_changes=zone_changes(calendar, days),
        currency=run.scope.currency or UNSET,
        pagination=pagination_of(body.page, body.page_size, found.report.total_rows),
        interval=body.interval,
        unfinished=chosen.unfinished(days, run.at, calendar, body.interval, previous),
    )
    if found.steps is not None:
        answer.series = chosen.steps(found.steps)
    if previous is not None:
        answer.previous_date_range = DateRange.of(previous.days.days)
        if previous.steps is not None:
            answer.previous_series = chosen.steps(previous.steps)
    return answer

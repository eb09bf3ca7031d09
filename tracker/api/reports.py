"""`/api/reports`: counts of an account's clicks and conversions, in groups."""

from collections.abc import AsyncGenerator, Mapping, Sequence
from typing import Annotated

import msgspec
from msgspec import UNSET, Meta, UnsetType, field
from msgspec.structs import replace

from tracker.api.endpoint import Call, Endpoint, Nothing
from tracker.api.export import Export
from tracker.api.export_stream import PIECE_ROWS
from tracker.api.report_answer import COLUMNS, ReportRow, ReportStep, ReportTotals, Shown
from tracker.api.report_schema import CreateReport, DateRange, ReportRequest, order_of
from tracker.api.schema import Pagination, TimeZone, pagination_of
from tracker.api.services import Services
from tracker.errors import BadRequest
from tracker.links.hostnames import canonical_hostname
from tracker.reports.detailed import DetailedReport, read_detailed, read_whole
from tracker.reports.parts import parts_at_one_snapshot
from tracker.reports.query import GroupBy, Measures, Query, Row
from tracker.reports.series import Interval


class ReportAnswer(msgspec.Struct, kw_only=True):
    """A page of the rows of a report, with its totals."""

    rows: Annotated[list[ReportRow], Meta(description="in the order of sort, then by key")]
    totals: Annotated[
        ReportTotals,
        Meta(description="sums over all clicks that match the filters, each counted once"),
    ]
    group_by: GroupBy = field(name="groupBy")
    date_range: DateRange = field(name="dateRange")
    time_zone: TimeZone = field(name="timeZone")
    pagination: Pagination
    interval: Interval | UnsetType = UNSET
    series: list[ReportStep] | UnsetType = UNSET
    previous_date_range: DateRange | UnsetType = field(default=UNSET, name="previousDateRange")
    previous_series: list[ReportStep] | UnsetType = field(default=UNSET, name="previousSeries")


async def check_domains(services: Services, body: ReportRequest) -> None:
    """Check the domains in the filters. Raises BadRequest if one is not a hostname."""
    for name in body.filters.values().get("domain", []):
        if name != services.public_url.host and not canonical_hostname(str(name)):
            raise BadRequest("filters.domain: must be a hostname such as go.example.com")


async def create(call: Call[Nothing, CreateReport]) -> ReportAnswer:
    """Run a report.

    Raises RateLimited or Unavailable if too many reports wait, Unavailable if it takes too long.
    """
    body, query, services = call.body, _query(call), call.services
    interval = None if body.interval is UNSET else body.interval
    async with parts_at_one_snapshot(services.reader, services.reports, call.account_id) as parts:
        found = await read_detailed(parts, query, interval, body.previous_days())
    return _answer(body, found, parts.calendar.zone)


async def all_rows(
    call: Call[Nothing, CreateReport],
) -> AsyncGenerator[list[ReportRow], None]:
    """Yield all rows of a report, in pieces. Raises as `create`.

    Everything is read before the first is sent: a snapshot does not last.
    """
    body, services = call.body, call.services
    reports = services.reports
    with reports.memory.hold(call.account_id) as held:
        async with parts_at_one_snapshot(services.reader, reports, call.account_id) as parts:
            report, before = await read_whole(parts, _query(call), body.previous_days(), held)
        for first in range(0, len(report.keys), PIECE_ROWS):
            rows = report.piece(first, PIECE_ROWS)
            yield _rows(body, rows, None if before is None else before.of(rows))


def _query(call: Call[Nothing, CreateReport]) -> Query:
    body, order = call.body, order_of(call.body.sort)
    return replace(
        body.query(call.account_id),
        group_by=body.group_by,
        sort=order.sort,
        descending=order.descending,
        search=body.search,
        page=body.page,
        page_size=body.page_size,
    )


def _rows(
    body: CreateReport, rows: Sequence[Row], before: Mapping[str, Measures] | None
) -> list[ReportRow]:
    shown = Shown(body.columns)
    return [shown.row(row, before[row.key] if before is not None else None) for row in rows]


def _columns(call: Call[Nothing, CreateReport]) -> list[str]:
    """Return the columns of a report as CSV."""
    body = call.body
    measures = list(COLUMNS) if isinstance(body.columns, UnsetType) else body.columns
    compared = [] if body.compare is UNSET else ["previous", "change"]
    return ["key", "name", *measures, *(f"{part}.{one}" for part in compared for one in measures)]


def _answer(body: CreateReport, found: DetailedReport, zone: str) -> ReportAnswer:
    shown, before, previous = Shown(body.columns), found.before, body.previous_days()
    answer = ReportAnswer(
        rows=_rows(body, found.report.rows, before.rows if before else None),
        totals=shown.totals(found.report.totals, before.totals if before else None),
        group_by=body.group_by,
        date_range=body.date_range,
        time_zone=zone,
        pagination=pagination_of(body.page, body.page_size, found.report.total_rows),
        interval=body.interval,
    )
    if found.steps is not None:
        answer.series = shown.steps(found.steps)
    if previous is not None:
        answer.previous_date_range = DateRange.of(previous)
    if before is not None and before.steps is not None:
        answer.previous_series = shown.steps(before.steps)
    return answer


ENDPOINTS = (
    Endpoint(
        "POST",
        "/api/reports",
        "reports:read",
        create,
        "Count clicks and conversions, grouped and filtered",
        ReportAnswer,
        body=CreateReport,
        check=check_domains,
        example={
            "dateRange": {"from": "2026-01-01", "to": "2026-01-31"},
            "groupBy": "link",
            "filters": {"country": ["DE", "FR"]},
            "compare": "previous_period",
            "interval": "week",
        },
        export=Export(
            "report", ReportRow, all_rows, _columns, without=("page", "pageSize", "interval")
        ),
        ends_with_client=True,
    ),
)

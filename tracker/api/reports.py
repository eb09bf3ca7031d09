"""`/api/reports`: counts of an account's clicks and conversions, in groups."""

from datetime import date
from typing import Any

from msgspec import UNSET
from msgspec.structs import asdict

from tracker.api.endpoint import Call, Endpoint, Nothing
from tracker.api.report_schema import CreateReport, ReportAnswer, ReportMeasures, ReportRow
from tracker.api.services import Services
from tracker.errors import BadRequest
from tracker.links.hostnames import canonical_hostname
from tracker.reports.query import Measures, Query, Row


async def _check(services: Services, body: CreateReport) -> None:
    """Check the domains in the filters. Raises BadRequest if one is not a hostname."""
    for name in body.filters.values().get("domain", []):
        if name != services.public_url.host and not canonical_hostname(str(name)):
            raise BadRequest("filters.domain: must be a hostname such as go.example.com")


async def create(call: Call[Nothing, CreateReport]) -> ReportAnswer:
    """Run a report.

    Raises RateLimited or Unavailable if too many reports wait, Unavailable if it takes too long.
    """
    body = call.body
    report = await call.services.reports.run(_query(call))
    page = body.page_of([_row(row) for row in report.rows], report.total_rows)
    return ReportAnswer(
        rows=page.rows,
        totals=ReportMeasures(**_measures(report.totals)),
        group_by=body.group_by,
        date_range=body.date_range,
        pagination=page.pagination,
    )


def _query(call: Call[Nothing, CreateReport]) -> Query:
    body = call.body
    return Query(
        account_id=call.account_id,
        first=date.fromisoformat(body.date_range.first),
        last=date.fromisoformat(body.date_range.last),
        group_by=body.group_by,
        filters=body.filters.values(),
        all_tags=body.tag_operator == "AND",
        bots="exclude" if body.bots is UNSET else body.bots,
        page=body.page,
        page_size=body.page_size,
    )


def _row(row: Row) -> ReportRow:
    return ReportRow(key=row.key, name=row.name, **_measures(row.measures))


def _measures(measures: Measures) -> dict[str, Any]:
    return {**asdict(measures), "conversion_rate": measures.conversion_rate}


ENDPOINTS = (
    Endpoint(
        "POST",
        "/api/reports",
        "reports:read",
        create,
        "Count clicks and conversions, grouped and filtered",
        ReportAnswer,
        body=CreateReport,
        check=_check,
        example={
            "dateRange": {"from": "2026-01-01", "to": "2026-01-31"},
            "groupBy": "link",
            "filters": {"country": ["DE", "FR"]},
        },
    ),
)

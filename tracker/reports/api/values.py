"""`/api/reports/values`: the values of a dimension, to choose a filter from."""

from typing import Annotated

import msgspec
from msgspec import Meta, field

from tracker.reports.answers.one_report import read_page
from tracker.reports.api.answer import zone_of
from tracker.reports.api.filters import FilterName, check_dimension
from tracker.reports.api.schema import DateRange, OptionalDays, Search
from tracker.reports.dimensions import FILTER_NAMES, NO_KEY
from tracker.reports.query import ReportQuery
from tracker.reports.services import ReportCall
from tracker.web.call import Nothing
from tracker.web.endpoint import Endpoints
from tracker.web.limits import DEFAULT_PAGE_SIZE, MAX_PAGE_SIZE
from tracker.web.schema import AccountId, TimeZone

endpoint = Endpoints("reports")


class ListReportValues(OptionalDays, kw_only=True):
    """The values to find."""

    account_id: AccountId = field(name="accountId")
    dimension: Annotated[FilterName, Meta(description="a filter of reports", examples=["country"])]
    search: Search = ""
    limit: Annotated[int, Meta(ge=1, le=MAX_PAGE_SIZE, description="rows")] = DEFAULT_PAGE_SIZE

    def __post_init__(self) -> None:
        super().__post_init__()
        check_dimension("dimension", self.dimension, FILTER_NAMES)


class ReportValue(msgspec.Struct, kw_only=True):
    """A value of a dimension."""

    key: Annotated[str, Meta(description="the value that the filter takes")]
    name: Annotated[str, Meta(description="its name, for people")]
    clicks: int


class ReportValues(msgspec.Struct, kw_only=True):
    """The values of a dimension that match a text."""

    rows: Annotated[list[ReportValue], Meta(description="most clicks first, then by key")]
    dimension: FilterName
    date_range: DateRange = field(name="dateRange")
    time_zone: TimeZone = field(name="timeZone")


@endpoint(
    "GET",
    "/api/reports/values",
    "reports:read",
    limited=True,
    ends_with_client=True,
)
async def list_values(call: ReportCall[ListReportValues, Nothing]) -> ReportValues:
    """Find the values of a dimension that match a text, to filter reports by.

    Raises BadRequest if the days are in no order or too many, RateLimited or Unavailable if too
    many reports wait, Unavailable if it takes too long.
    """
    query, services = call.query, call.services
    async with services.reports.begin(call.account_id) as run:
        date_range = query.date_range(run.scope.calendar)
        days = date_range.days()
        report = await read_page(
            run,
            "dimension",
            ReportQuery(
                account_id=call.account_id,
                first=days.first,
                last=days.last,
                group_by=run.scope.dimension_of("dimension", query.dimension),
                # People have no bot reason.
                bots="include" if query.dimension == "bot" else "exclude",
                search=query.search,
                page_size=query.limit + 1,
            ).limited_to(call.principal.tags),
        )
    # Filters by link cannot take the row of conversions without one.
    rows = [row for row in report.rows if (query.dimension, row.key) != ("link", NO_KEY["link"])]
    return ReportValues(
        rows=[
            ReportValue(key=row.key, name=row.name, clicks=row.measures.clicks)
            for row in rows[: query.limit]
        ],
        dimension=query.dimension,
        date_range=date_range,
        time_zone=zone_of(run.scope.calendar, days, run.at),
    )

"""`/api/short-links/figures`: links in the order of a figure of a report, with their figures."""

from typing import Annotated, Final, Literal
from uuid import UUID

import msgspec
from msgspec import Meta, field

from tracker.errors import BadRequest
from tracker.links.api.short_link_record import ShortLink
from tracker.links.api.short_link_schema import ListFilteredLinks
from tracker.links.api.short_links import filter_of, show_links
from tracker.reports.answers.one_report import read_of_links
from tracker.reports.api.answer import ChosenColumns
from tracker.reports.api.figures import ReportMeasures
from tracker.reports.api.schema import DateRange, OptionalDays, order_of
from tracker.reports.query import ReportQuery
from tracker.reports.services import ReportCall
from tracker.web.call import Nothing
from tracker.web.endpoint import Endpoints
from tracker.web.resource import visible
from tracker.web.schema import Day, Page

endpoint = Endpoints("reports")

MAX_LINKS: Final = 100_000
"""Links that a list by figures may have: 0.3 s of CPU in short turns, besides the report."""

_COLUMNS: Final = ("clicks", "conversions", "value", "cost", "profit")
_SORTS: Final = tuple(f"{order}{name}" for name in _COLUMNS for order in ("", "-"))


class ListLinkFigures(ListFilteredLinks, kw_only=True):
    """The page of links, the days of their figures, and the figure that orders them."""

    first: Annotated[Day | None, Meta(description="default: 90 days up to the last")] = field(
        default=None, name="from"
    )
    last: Annotated[Day | None, Meta(description="included; default: today")] = field(
        default=None, name="to"
    )
    sort: Annotated[
        Literal[_SORTS],  # type: ignore[valid-type]
        Meta(description="with - in descending order; what is not known comes last"),
    ] = "-clicks"

    def __post_init__(self) -> None:
        super().__post_init__()
        self.days()

    def days(self) -> OptionalDays:
        return OptionalDays(first=self.first, last=self.last)


class LinkFigures(msgspec.Struct, kw_only=True):
    """A link and its figures."""

    link: ShortLink
    figures: ReportMeasures


class LinkFiguresPage(Page[LinkFigures], kw_only=True):
    """A page of links in the order of a figure."""

    date_range: DateRange = field(name="dateRange")


@endpoint(
    "GET",
    "/api/short-links/figures",
    "reports:read",
    ends_with_client=True,
    limited=True,
)
async def list_figures(call: ReportCall[ListLinkFigures, Nothing]) -> LinkFiguresPage:
    """List short links by a figure of some days. Needs links:read too.

    Raises BadRequest if more than MAX_LINKS pass the filters; else as `listReportValues`.
    """
    call.principal.require("links:read")
    query, services = call.query, call.services
    links, wanted = services.links, filter_of(query, call.principal.tags)
    async with links.long_lists.permit(call.account_id):
        ids = await links.lists.ids(call.account_id, wanted, MAX_LINKS + 1)
    if len(ids) > MAX_LINKS:
        raise BadRequest(f"sort: more than {MAX_LINKS:,} links; add filters")
    async with services.reports.begin(call.account_id) as run:
        date_range = query.days().date_range(run.scope.calendar)
        days = date_range.days()
        by_link = ReportQuery(
            account_id=call.account_id,
            first=days.first,
            last=days.last,
            group_by="link",
            page=query.page,
            page_size=query.page_size,
            **order_of(query.sort),
        )
        rows = await read_of_links(run, by_link, ids)
    found = await links.links.find_all([UUID(key) for key in rows.keys])
    figures = dict(zip(map(UUID, rows.keys), rows.measures(), strict=True))
    listed = [visible(call.principal, found[one]) for one in figures if one in found]
    shown = await show_links(links, listed)
    columns = ChosenColumns(_COLUMNS)
    return LinkFiguresPage(
        rows=[LinkFigures(link=one, figures=columns.measures(figures[one.id])) for one in shown],
        pagination=query.page_of([], len(ids)).pagination,
        date_range=date_range,
    )

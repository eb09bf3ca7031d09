"""`/api/shared/details`: all rows of a panel of a share, in pages or as files.

They tell no more than the report: no column and no order by what it hides, and no search, which
would find hidden names by trying.
"""

from typing import Final

import msgspec
from msgspec import UNSET, field

from tracker.clock import now
from tracker.errors import BadRequest, Forbidden
from tracker.reports.api.figures import MEASURE_FIELDS, ReportRow
from tracker.reports.api.groups import GroupByIn
from tracker.reports.api.reports import ReportAnswer, report
from tracker.reports.api.schema import DEFAULT_SORT, Sort, sorted_by
from tracker.sharing.api.hidden_links import number_links
from tracker.sharing.api.shared import (
    EXAMPLE_SHARE_TOKEN,
    PUBLIC,
    OpenedShare,
    open_share,
)
from tracker.sharing.api.shared_report import SharedReport
from tracker.sharing.api.shared_tables import naming_rule, rows_of
from tracker.sharing.services import SharingServices
from tracker.web.call import Nothing, PublicCall
from tracker.web.endpoint import Endpoints, MediaType
from tracker.web.export_rows import csv_encoder
from tracker.web.export_stream import pieces
from tracker.web.handler import Content
from tracker.web.limits import DEFAULT_PAGE_SIZE
from tracker.web.openapi_parts import TEXT
from tracker.web.schema import PageNumber

endpoint = Endpoints("sharing", tag="Reports")

FILE_ROWS: Final = 10_000
"""The rows of a page as a file, which is made in memory: 2 to 5 MB."""

_EXAMPLE: Final = {"token": EXAMPLE_SHARE_TOKEN, "groupBy": "country"}


class OpenDetails(OpenedShare, forbid_unknown_fields=True, kw_only=True):
    """The panel whose rows to read, and their order."""

    group_by: GroupByIn = field(name="groupBy")
    sort: Sort = DEFAULT_SORT
    page: PageNumber = 1


DetailsCall = PublicCall[SharingServices, Nothing, OpenDetails]


@endpoint(
    "POST",
    "/api/shared/details",
    PUBLIC,
    operation_id="openSharedDetails",
    example=_EXAMPLE,
    ends_with_client=True,
)
async def read(call: DetailsCall) -> ReportAnswer:
    """Read all rows of a panel of a public link, if it has `all_rows`."""
    return await _rows(call, "all_rows", DEFAULT_PAGE_SIZE)


@endpoint(
    "POST",
    "/api/shared/details/export",
    PUBLIC,
    operation_id="exportSharedDetails",
    answer=MediaType("text/csv", TEXT | {"examples": ["key,name,clicks\r\nDE,Germany,12\r\n"]}),
    example=_EXAMPLE,
    ends_with_client=True,
)
async def export(call: DetailsCall) -> Content:
    """Export the rows of a panel of a public link as CSV, if it has `download`; with `all_rows`
    pages of 10,000, else the first rows.
    """
    answer = await _rows(call, "download", FILE_ROWS)
    told = [name for name, of in MEASURE_FIELDS.items() if getattr(answer.totals, of) is not UNSET]
    previous = [] if answer.previous_date_range is UNSET else [f"previous.{name}" for name in told]
    encoder = csv_encoder(ReportRow, ["key", "name", *told, *previous])
    lines = [encoder.head]
    for rows in pieces(answer.rows):
        await call.web.pacing.wait_turn()
        lines.append(encoder.encode(rows))
    return Content("text/csv; charset=utf-8", b"".join(lines))


async def _rows(call: DetailsCall, option: str, page_size: int) -> ReportAnswer:
    services, body = call.services, call.body
    share = await open_share(call)
    if not getattr(share, option):
        raise Forbidden(f"{option}: this share does not have it")
    shared = msgspec.json.decode(share.report, type=SharedReport)
    hides_names = body.group_by == "link" and not share.show_link_names
    order = sorted_by(body.sort)
    if order in shared.hidden or (hides_names and order in ("key", "name")):
        raise BadRequest(f"sort: this share does not show {order}")
    with services.shared_limiter.acquire(share.account_id):
        today = (await services.accounts.time_zones.find(share.account_id)).day_of(now())
        with naming_rule():
            ranked = shared.overview(share.account_id, today, days=body.date_range)
            panel = next((one for one in ranked.panels if one.group_by == body.group_by), None)
            if panel is None:
                raise BadRequest("groupBy: this share has no such panel")
            wanted = rows_of(
                ranked,
                compare=UNSET if panel.compare is False else ranked.compare,
                having=panel.having,
                search=panel.search,
                sort=body.sort,
                page=body.page if share.all_rows else 1,
                page_size=page_size if share.all_rows else panel.limit,
                group_by=panel.group_by,
            )
        within = frozenset(share.tags) or None
        answer = await report(services.reports, share.account_id, wanted, within, shared.hidden)
        if hides_names:
            answer.rows = await number_links(services, share, answer.rows, ranked)
    services.share_opens.count(share.id, 0)
    return answer

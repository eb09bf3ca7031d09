"""`/api/shared`: anyone with the link of a share reads its report, and nothing else."""

from typing import Annotated, Any, Final
from uuid import UUID

import msgspec
from msgspec import UNSET, Meta, UnsetType, field

from tracker.clock import iso, now
from tracker.errors import BadRequest, ErrorCode, Unauthorized
from tracker.reports.answers.names import filter_names
from tracker.reports.api.figures import MeasureName
from tracker.reports.api.filters import BotsIn, TagOperator, in_words
from tracker.reports.api.groups import Parents
from tracker.reports.api.overview import CreateOverview, OverviewFigures, overview
from tracker.reports.api.schema import DateRange
from tracker.sharing.api.hidden_links import hide_links
from tracker.sharing.api.shared_report import SharedReport, ShownPanels
from tracker.sharing.api.shared_tables import MAX_TABLES, SharedTable, naming_rule, read_table
from tracker.sharing.services import SharingServices
from tracker.sharing.shares import Share
from tracker.web.call import Nothing, PublicCall
from tracker.web.endpoint import Endpoints, Public
from tracker.web.schema import Timestamp, Token

endpoint = Endpoints("sharing", tag="Reports")

EXAMPLE_SHARE_TOKEN: Final = "k3Pz9sWq1Rt8YvB6nM2xJcL5hGfDaE7uO4iToSdQvNc"  # noqa: S105


class OpenedShare(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """The token of a share's link, its password if it has one, and other days if it lets choose."""

    token: Token
    password: str | None = None
    date_range: (
        Annotated[
            DateRange,
            Meta(description="other days than the share's own, if it has `choose_days`"),
        ]
        | UnsetType
    ) = field(default=UNSET, name="dateRange")


class OpenShare(OpenedShare, forbid_unknown_fields=True, kw_only=True):
    """The report to open."""

    measure: (
        Annotated[
            MeasureName,
            Meta(description="rows are the first by it; default: the share's own"),
        ]
        | UnsetType
    ) = UNSET
    table: (
        Annotated[
            int,
            Meta(ge=0, le=MAX_TABLES - 1, description="unfolds this one; panels are left out"),
        ]
        | UnsetType
    ) = UNSET
    parents: Parents = field(default_factory=list)

    def __post_init__(self) -> None:
        if self.parents and self.table is UNSET:
            raise ValueError("parents: only with table")

    @property
    def is_opening(self) -> bool:
        return [self.measure, self.table, self.date_range].count(UNSET) == 3


class SharedAnswer(OverviewFigures, kw_only=True):
    """The report of a share. Links are numbered by rank unless it shows their names."""

    tables: (
        Annotated[list[SharedTable], Meta(description="all, or the one to unfold")] | UnsetType
    ) = UNSET
    name: str
    expires_at: Timestamp | None = field(name="expiresAt")
    filters: Annotated[
        dict[str, list[str] | dict[str, list[str]]],
        Meta(
            description="the names of the values in filters, by dimension; by operator where one "
            "is not `is`. Without names of links, a text in them is shown as …"
        ),
    ]
    tag_operator: TagOperator | UnsetType = field(default=UNSET, name="tagOperator")
    bots: BotsIn | UnsetType = UNSET
    measure: (
        Annotated[MeasureName, Meta(description="the measure to show at first")] | UnsetType
    ) = UNSET
    shown: Annotated[ShownPanels, Meta(description="the panels to show, in order")] | UnsetType = (
        UNSET
    )
    title: str
    logo: (
        Annotated[str, Meta(description="a data: URL; only where the opening counts")] | UnsetType
    ) = UNSET
    choose_days: bool = field(name="chooseDays")
    all_rows: bool = field(name="allRows")
    download: bool


PUBLIC: Final = Public(
    {
        401: ("The password is missing or wrong (`password_required`).", "password: wrong"),
        404: ("The link is unknown, revoked or expired.", "share: expired, revoked or unknown"),
    }
)


@endpoint(
    "POST",
    "/api/shared",
    PUBLIC,
    operation_id="openShare",
    example={"token": EXAMPLE_SHARE_TOKEN},
    ends_with_client=True,
)
async def read(call: PublicCall[SharingServices, Nothing, OpenShare]) -> SharedAnswer:
    """Read the report of a public link."""
    body = call.body
    share = await open_share(call)
    answer = await _read(call, share)
    call.services.share_opens.count(share.id, int(body.is_opening))
    if body.is_opening and share.logo:
        answer.logo = share.logo
    return answer


async def open_share(call: PublicCall[SharingServices, Nothing, Any]) -> Share:
    """Return the share. Raises NotFound, Unauthorized, BadRequest if its days are fixed."""
    share = await call.services.shares.open(call.body.token)
    await _check_password(call, share)
    if not share.choose_days and call.body.date_range is not UNSET:
        raise BadRequest("dateRange: this share has fixed days")
    return share


async def _read(
    call: PublicCall[SharingServices, Nothing, OpenShare], share: Share
) -> SharedAnswer:
    """Return the report, with the first rows by the call's measure, or by the share's own."""
    services, measure, account_id = call.services, call.body.measure, share.account_id
    report = msgspec.json.decode(share.report, type=SharedReport)
    with services.shared_limiter.acquire(account_id):
        today = (await services.accounts.time_zones.find(account_id)).day_of(now())
        with naming_rule():
            wanted = report.overview(account_id, today, measure, call.body.date_range)
        within = frozenset(share.tags) or None
        tables = await _tables(call, report, wanted, within)
        if not isinstance(call.body.table, UnsetType):
            wanted.panels = []
        found = await overview(services.reports, account_id, wanted, report.hidden, within)
        reads, values = call.web.mongodb.reads, wanted.filters.named_values()
        named = await filter_names(reads, account_id, values, within)
        if not share.show_link_names:
            ranked = report.overview(account_id, today, days=call.body.date_range)
            links = found.panels.get("link")
            named["link"] = await hide_links(services, share, links, wanted, ranked)
        hidden = () if share.show_link_names else ("link",)
    return SharedAnswer(
        name=share.name,
        expires_at=None if share.expires_at is None else iso(share.expires_at),
        filters=in_words(wanted.filters, named, hidden),
        tag_operator=wanted.tag_operator,
        bots=wanted.bots,
        measure=report.own_measure,
        shown=report.shown,
        tables=tables or UNSET,
        title=share.title,
        choose_days=share.choose_days,
        all_rows=share.all_rows,
        download=share.download,
        **{name: getattr(found, name) for name in found.__struct_fields__},
    )


async def _tables(
    call: PublicCall[SharingServices, Nothing, OpenShare],
    report: SharedReport,
    wanted: CreateOverview,
    within: frozenset[UUID] | None,
) -> list[SharedTable]:
    """Return the first rows of all tables, or those that the call unfolds."""
    body, tables = call.body, report.tables
    if not isinstance(body.table, UnsetType):
        tables = tables[body.table : body.table + 1]
        if not tables:
            raise BadRequest(f"table: the share has {len(report.tables)}")
    elif body.measure is not UNSET and body.date_range is UNSET:  # they have all measures
        return []
    of = call.services.reports, wanted
    return [await read_table(*of, one, body.parents, report.hidden, within) for one in tables]


async def _check_password(call: PublicCall[SharingServices, Nothing, Any], share: Share) -> None:
    services, password = call.services, call.body.password
    if share.password is None:
        return
    if password is not None:
        if refusal := await services.accounts.sign_in_limit.count_share(share.id, call.counted_as):
            raise refusal.error("password")
        if await services.accounts.passwords.verify(share.password, password):
            return
    message = "password: wrong" if password else "password: this report asks for one"
    raise Unauthorized(message, code=ErrorCode.PASSWORD_REQUIRED)

"""`/api/shares`: public links to reports of an account."""

from datetime import datetime
from functools import partial
from typing import Annotated, Any
from uuid import UUID

import msgspec
from msgspec import Meta, field

from tracker.access.audit import FieldChange, audit_value
from tracker.access.passwords import check_new_password
from tracker.access.principal import Actor, Principal
from tracker.clock import now
from tracker.errors import BadRequest, NotFound
from tracker.ids import new_id
from tracker.reports.answers.selection import resolved
from tracker.reports.api.filters import as_sent
from tracker.reports.api.reports import check_domains
from tracker.reports.joint_counts.scope import scope_of
from tracker.sharing.api.shared_report import SharedReport
from tracker.sharing.logo import MAX_BYTES, MAX_PIXELS, logo_url
from tracker.sharing.services import SharingCall, SharingServices
from tracker.sharing.shares import Share
from tracker.stores.mongodb.account_lock import run_in_turn
from tracker.stores.mongodb.transaction import MongoSession
from tracker.web.call import Nothing
from tracker.web.endpoint import Endpoints
from tracker.web.limits import (
    MAX_SHARE_BODY_BYTES,
    MAX_SHARE_NAME_CHARACTERS,
    MAX_SHARE_TITLE_CHARACTERS,
    MAX_SHARED_REPORT_BYTES,
)
from tracker.web.resource import Resource, one_by_one, record_of
from tracker.web.schema import (
    AccountId,
    AccountPage,
    Done,
    MakerExpiry,
    Page,
    Timestamp,
    in_the_future,
    trimmed,
)

endpoint = Endpoints("sharing")

_LOGO = f"a PNG of at most {MAX_PIXELS} pixels each way, or an SVG, out of which scripts are taken"


class ShareOptions(msgspec.Struct, kw_only=True):
    """The freedoms of readers, all of them false at first, and the head of the page."""

    choose_days: Annotated[bool, Meta(description="any days, not just the report's")] = False
    all_rows: Annotated[bool, Meta(description="all rows of its panels, in any order")] = False
    download: Annotated[bool, Meta(description="the rows that they may see as CSV")] = False
    title: Annotated[
        str,
        Meta(
            description="a line above the name; trimmed",
            extra_json_schema={"maxLength": MAX_SHARE_TITLE_CHARACTERS},
        ),
    ] = ""


class CreateShare(ShareOptions, forbid_unknown_fields=True, kw_only=True):
    """The report to share, and with whom."""

    account_id: AccountId = field(name="accountId")
    name: Annotated[
        str,
        Meta(
            description="shown above the report; trimmed",
            extra_json_schema={"minLength": 1, "maxLength": MAX_SHARE_NAME_CHARACTERS},
        ),
    ]
    report: SharedReport
    show_link_names: Annotated[
        bool, Meta(description="false: links are Link 1, Link 2 and so on")
    ] = False
    password: Annotated[str | None, Meta(description="required to open the report")] = None
    expires_at: MakerExpiry | None = None
    logo: Annotated[bytes, Meta(max_length=MAX_BYTES, description=_LOGO)] | None = None

    def __post_init__(self) -> None:
        self.name = trimmed("name", self.name, MAX_SHARE_NAME_CHARACTERS)
        if not self.show_link_names:
            self.report.check_without_names()
        if self.title:
            self.title = trimmed("title", self.title, MAX_SHARE_TITLE_CHARACTERS)
        if self.password is not None:
            check_new_password(self.password)
        if self.expires_at is not None:
            self.expires_at = in_the_future(self.expires_at)


class ListShares(AccountPage, kw_only=True):
    """The query of the list of shares."""

    revoked: Annotated[bool, Meta(description="also shares revoked in the last 30 days")] = False


class ShareRecord(ShareOptions, kw_only=True):
    """A share, without its link."""

    id: UUID
    account_id: UUID
    name: str
    report: Annotated[dict[str, Any], Meta(description="as it was created")]
    show_link_names: bool
    tags: Annotated[list[UUID], Meta(description="shows only links with one of these; empty: all")]
    has_password: bool
    created_at: Timestamp
    created_by: Annotated[Actor | None, Meta(description="null for old shares")]
    expires_at: Timestamp | None
    opens: Annotated[
        int,
        Meta(
            description="how often the report was opened, with the right password. Reading it for "
            "another measure does not count"
        ),
    ]
    last_opened_at: Annotated[
        Timestamp | None,
        Meta(description="also for another measure; up to ten seconds late, as `opens`"),
    ]
    revoked_at: Timestamp | None
    has_logo: bool


class NewShare(ShareRecord, kw_only=True):
    """A new share, with its link, which no other answer shows."""

    url: str


SHARES: Resource[Share, ShareRecord] = Resource(
    "share",
    lambda call: call.services.shares.find(call.ids[0]),
    one_by_one(lambda share: record_of(ShareRecord, share, **_shown(share))),
)


@endpoint("GET", "/api/shares", "shares:read", limited=True)
async def list_shares(call: SharingCall[ListShares, Nothing]) -> Page[ShareRecord]:
    """List shared reports, newest first."""
    query, shares = call.query, call.services.shares
    fetch = partial(shares.page, call.account_id, revoked=query.revoked, within=call.principal.tags)
    return await SHARES.page(call, query, fetch)


async def check_report(services: SharingServices, body: CreateShare) -> None:
    """Check a share's report. Raises BadRequest if it is too long, or a domain is no hostname."""
    if len(msgspec.json.encode(body.report)) > MAX_SHARED_REPORT_BYTES:
        raise BadRequest(f"report: at most {MAX_SHARED_REPORT_BYTES} bytes of JSON; filter by less")
    await check_domains(services.reports, body.report.overview(body.account_id, now().date()))


@endpoint(
    "POST",
    "/api/shares",
    "shares:write",
    check=check_report,
    example={
        "name": "Spring sale, for our partners",
        "report": {
            "lastDays": 28,
            "filters": {"country": ["DE", "FR"]},
            "compare": "previous_period",
            "panels": [{"groupBy": "country"}, {"groupBy": "device"}],
            "measure": "conversions",
        },
        "show_link_names": False,
    },
    limited=True,
    body_bytes=MAX_SHARE_BODY_BYTES,
)
async def create(call: SharingCall[Nothing, CreateShare]) -> NewShare:
    """Share a report by a public link, shown now only. Needs reports:read; for names links:read."""
    body, services = call.body, call.services
    _check_may_read(call.principal, body)
    expires_at = call.principal.expiry(body.expires_at)
    await _check_own_parameters(call, body.report)
    password = await services.accounts.passwords.hash(body.password) if body.password else None

    async def work(session: MongoSession) -> tuple[Share, str]:
        principal = await call.lock_authority("shares:write", session)
        _check_may_read(principal, body)
        share = _share(body, principal, password, expires_at)
        token = await services.shares.create(share, session)
        changes = _created(share, body.report)
        await call.audit("share.created", SHARES.audit_object(share), changes, session)
        return share, token

    share, token = await run_in_turn(call.web.mongodb.database, call.account_id, work)
    url = f"{services.public_url.url}/console/shared#{token}"
    return record_of(NewShare, share, url=url, **_shown(share))


def _share(
    body: CreateShare, principal: Principal, password: str | None, expires_at: datetime | None
) -> Share:
    return Share(
        id=new_id(),
        account_id=principal.account_id,
        name=body.name,
        report=msgspec.json.encode(body.report).decode(),
        show_link_names=body.show_link_names,
        tags=sorted(principal.tags or ()),
        password=password,
        created_at=now(),
        expires_at=expires_at,
        created_by=principal.actor,
        logo="" if body.logo is None else logo_url(body.logo),
        **{name: getattr(body, name) for name in ShareOptions.__struct_fields__},
    )


async def _check_own_parameters(call: SharingCall[Nothing, Any], report: SharedReport) -> None:
    """Raise BadRequest if the account does not have a parameter that the report names."""
    scope = await scope_of(call.web.mongodb.reads, call.account_id)
    shown = report.overview(call.account_id, now().date())
    resolved(scope, shown.query(call.account_id))
    for number, panel in enumerate(shown.panels):
        scope.dimension_of(f"panels[{number}].groupBy", panel.group_by)
    for number, table in enumerate(report.tables):
        for level, name in enumerate(table.group_by):
            scope.dimension_of(f"tables[{number}].groupBy[{level}]", name)


def _check_may_read(principal: Principal, body: CreateShare) -> None:
    """Raise Forbidden if the principal may not read the shared figures or names."""
    principal.require("reports:read", "report")
    if body.show_link_names:
        principal.require("links:read", "show_link_names")


@endpoint("DELETE", "/api/shares/{id}", "shares:write", limited=True)
async def revoke(call: SharingCall[Nothing, Nothing]) -> Done:
    """Revoke a shared report: its link stops working.

    Raises NotFound if it shows more than the principal may see.
    """
    share = await SHARES.find(call)
    if call.principal.tags is not None and not call.principal.tags.issuperset(share.tags):
        raise NotFound("share: not found")
    await call.services.shares.revoke(share.id)
    await call.audit("share.revoked", SHARES.audit_object(share))
    return Done()


def _shown(share: Share) -> dict[str, Any]:
    report = msgspec.json.decode(share.report)
    if "filters" in report:
        report["filters"] = as_sent(report["filters"])
    return {
        "report": report,
        "has_password": share.password is not None,
        "has_logo": bool(share.logo),
    }


def _in_short(report: SharedReport) -> dict[str, Any]:
    """Return a summary of a report, without its days, for one line of the audit."""
    fields = msgspec.to_builtins(report)
    sent = as_sent(fields.get("filters", {}))
    filters = {name: values for name, values in sent.items() if values}
    panels = [panel["groupBy"] for panel in fields.get("panels", [])]
    tables = [" > ".join(table["groupBy"]) for table in fields.get("tables", [])]
    others = ("bots", "compare", "interval", "measure", "shown", "tagOperator")
    return {
        "panels": panels,
        "filters": filters,
        **({"tables": tables} if tables else {}),
        **{name: fields[name] for name in others if name in fields},
    }


def _created(share: Share, report: SharedReport) -> dict[str, FieldChange]:
    values = {
        "report": _in_short(report),
        "days": report.days,
        "show_link_names": share.show_link_names,
        "has_password": share.password is not None,
        "expires_at": share.expires_at,
        **{name: True for name in ShareOptions.__struct_fields__[:3] if getattr(share, name)},
    }
    return {
        name: FieldChange(before=None, after=audit_value(value)) for name, value in values.items()
    }

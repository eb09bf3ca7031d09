"""`/api/shared`: whoever has the link of a share reads its report, and nothing else."""

from typing import Annotated

import msgspec
from msgspec import UNSET, Meta, UnsetType, field

from tracker.api import shared_schema
from tracker.api.endpoint import PublicEndpoint
from tracker.api.handler import JSON, Content
from tracker.api.limits import MAX_TOKEN_CHARACTERS
from tracker.api.parameters import parse_body
from tracker.api.report_answer import ReportRow
from tracker.api.report_filters import BotsIn, TagOperator
from tracker.api.report_overview import CreateOverview, OverviewAnswer, overview
from tracker.api.schema import Timestamp
from tracker.api.session import SignedOutHandler
from tracker.api.shared_report import SharedReport
from tracker.clicks.country import UNKNOWN
from tracker.clock import iso, now
from tracker.errors import ErrorCode, Unauthorized
from tracker.reports.names import filter_names
from tracker.sharing.shares import Share

_ENCODER = msgspec.json.Encoder(decimal_format="number")


class OpenShare(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """The token of a share's link, and its password if it has one."""

    token: Annotated[str, Meta(max_length=MAX_TOKEN_CHARACTERS)]
    password: str | None = None


class SharedAnswer(OverviewAnswer, kw_only=True):
    """The report of a share."""

    name: str
    expires_at: Timestamp | None = field(name="expiresAt")
    filters: dict[str, list[str]]
    tag_operator: TagOperator | UnsetType = field(default=UNSET, name="tagOperator")
    bots: BotsIn | UnsetType = UNSET


class SharedHandler(SignedOutHandler):
    """The handler of `/api/shared`."""

    async def prepare(self) -> None:  # type: ignore[override]
        """Check the request as SignedOutHandler does, and the limit of the address.

        Raises RateLimited if the address is over its limit.
        """
        await super().prepare()
        for usage in await self.services.rate_limiter.count(self.client_address(), None):
            usage.check()

    async def post(self) -> None:
        """Answer with the report of a share, as its maker has fixed it.

        Raises NotFound if the token is unknown, revoked or expired, Unauthorized without the right
        password, RateLimited or Unavailable if too many reports of the account run.
        """
        body = parse_body(OpenShare, self.body()).value
        services = self.services
        share = await services.shares.open(body.token)
        await self._check_password(share, body.password)
        report = msgspec.json.decode(share.report, type=SharedReport)
        with services.shared_limiter.acquire(share.account_id):
            zone = await services.time_zones.find(share.account_id)
            wanted = report.overview(share.account_id, zone.calendar.day_of(now()))
            found = await self.while_connected(overview(services, share.account_id, wanted))
            filters = wanted.filters.values()
            names = await filter_names(services.reader, share.account_id, filters)
        answer = _answer(share, wanted, found, names)
        if not share.show_link_names:
            _hide_links(answer, [str(link) for link in filters.get("link", [])])
        content = Content(JSON, _ENCODER.encode(answer))
        services.share_opens.count(share.id)
        self.finish_with(content)

    async def _check_password(self, share: Share, password: str | None) -> None:
        if share.password is None:
            return
        if password is not None:
            counted_as = self.services.rate_limiter.counted_as(self.client_address())
            if refusal := await self.services.sign_in_limit.count_share(share.id, counted_as):
                raise refusal.error("password")
            if await self.services.passwords.verify(share.password, password):
                return
        message = "password: wrong" if password else "password: this report asks for one"
        raise Unauthorized(message, code=ErrorCode.PASSWORD_REQUIRED)


def _answer(
    share: Share, wanted: CreateOverview, found: OverviewAnswer, filters: dict[str, list[str]]
) -> SharedAnswer:
    return SharedAnswer(
        name=share.name,
        expires_at=None if share.expires_at is None else iso(share.expires_at),
        filters=filters,
        tag_operator=wanted.tag_operator,
        bots=wanted.bots,
        **{name: getattr(found, name) for name in found.__struct_fields__},
    )


def _hide_links(answer: SharedAnswer, filtered: list[str]) -> None:
    """Replace the ids and names of links by numbers, the same for a row and for a filter."""
    panel = answer.panels.get("link")
    rows = [] if panel is None else panel.rows
    links = dict.fromkeys([*(row.key for row in rows if row.key != UNKNOWN), *filtered])
    numbers = {key: number for number, key in enumerate(links, 1)}
    if panel is not None:
        panel.rows = [_numbered(row, numbers.get(row.key)) for row in rows]
    if filtered:
        answer.filters["link"] = [f"Link {numbers[key]}" for key in filtered]


def _numbered(row: ReportRow, number: int | None) -> ReportRow:
    if number is None:
        return row
    return msgspec.structs.replace(row, key=str(number), name=f"Link {number}")


ENDPOINTS = (
    PublicEndpoint(
        "POST",
        "/api/shared",
        SharedHandler,
        "openShare",
        "Reports",
        "Read the report of a public link, as its maker has fixed it",
        shared_schema.ANSWERS,
        body=shared_schema.BODY,
    ),
)

"""`/api/join`: the holder of a link joins an account, or sets a new password."""

from typing import Annotated

import msgspec
from msgspec import Meta

from tracker.access.invitations import InvitationKind
from tracker.access.joining import Answers, Preview
from tracker.access.roles import Role
from tracker.access.totp import MAX_CODE_CHARACTERS
from tracker.api import join_schema
from tracker.api.endpoint import PublicEndpoint
from tracker.api.handler import JSON, Content
from tracker.api.limits import MAX_TOKEN_CHARACTERS
from tracker.api.parameters import parse_body
from tracker.api.schema import trimmed
from tracker.api.session import AccountReference, SignedOutHandler

Token = Annotated[str, Meta(max_length=MAX_TOKEN_CHARACTERS)]


class PreviewJoin(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """The token of a link."""

    token: Token


class Join(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """The token of a link, and what its holder fills in."""

    token: Token
    password: str
    name: str | None = None
    email: str | None = None
    code: Annotated[str, Meta(max_length=MAX_CODE_CHARACTERS)] | None = None

    def __post_init__(self) -> None:
        if self.name is not None:
            self.name = trimmed("name", self.name)


class JoinPreview(msgspec.Struct, kw_only=True):
    """The purpose of a link, as its holder sees it before using it."""

    kind: InvitationKind
    email: str | None
    account: AccountReference | None
    role: Role | None
    has_password: bool
    needs_code: bool


class _Handler(SignedOutHandler):
    async def prepare(self) -> None:  # type: ignore[override]
        """Check the request as SignedOutHandler does, and the limit of the address.

        Raises RateLimited if the address is over its limit.
        """
        await super().prepare()
        for usage in await self.services.rate_limiter.count(self.client_address(), None):
            usage.check()


class PreviewHandler(_Handler):
    """The handler of `/api/join/preview`."""

    async def post(self) -> None:
        """Answer with what a token is for. Raises NotFound if it is not open."""
        body = parse_body(PreviewJoin, self.body()).value
        preview = await self.services.joining.preview(body.token)
        self.finish_with(Content(JSON, msgspec.json.encode(_record(preview))))


class JoinHandler(_Handler):
    """The handler of `/api/join`."""

    async def post(self) -> None:
        """Use a token, and answer with a new session and its cookie.

        Raises NotFound if the token is not open, BadRequest if an answer is missing or breaks a
        rule, Unauthorized if the person's password or code is wrong, RateLimited after too many
        attempts.
        """
        body = parse_body(Join, self.body()).value
        answers = Answers(password=body.password, email=body.email, name=body.name, code=body.code)
        session, secret = await self.services.joining.join(body.token, answers, self.client)
        await self.answer_session(session, secret)


def _record(preview: Preview) -> JoinPreview:
    account = preview.account
    return JoinPreview(
        kind=preview.kind,
        email=preview.email,
        account=AccountReference(id=account.id, name=account.name) if account else None,
        role=preview.role,
        has_password=preview.has_password,
        needs_code=preview.needs_code,
    )


ENDPOINTS = (
    PublicEndpoint(
        "POST",
        "/api/join/preview",
        PreviewHandler,
        "previewJoin",
        "Session",
        "Show what an invitation or a password reset is for; it stays usable",
        join_schema.PREVIEW_ANSWERS,
        body=join_schema.PREVIEW_BODY,
    ),
    PublicEndpoint(
        "POST",
        "/api/join",
        JoinHandler,
        "join",
        "Session",
        "Use an invitation or a password reset; the session that begins is in a cookie",
        join_schema.JOIN_ANSWERS,
        body=join_schema.JOIN_BODY,
    ),
)

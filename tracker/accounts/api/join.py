"""`/api/join`: the holder of a link joins an account, or sets a new password."""

from typing import Annotated, Final

import msgspec
from msgspec import Meta

from tracker.access.invitations import InvitationKind
from tracker.access.passwords import MAX_CHARACTERS, MIN_CHARACTERS
from tracker.access.roles import Role
from tracker.accounts.api.session import (
    AccountReference,
    SessionRecord,
    client_of,
    signed_in_answer,
)
from tracker.accounts.joining import JoinForm, TokenPreview
from tracker.accounts.services import AccountServices
from tracker.accounts.totp import MAX_CODE_CHARACTERS
from tracker.syntax.email import MAX_EMAIL_CHARACTERS
from tracker.web.call import AnswerWithHeaders, Nothing, PublicCall
from tracker.web.endpoint import Endpoints, Public
from tracker.web.resource import record_of
from tracker.web.schema import Text, Token, trimmed

endpoint = Endpoints("accounts", tag="Session")

EXAMPLE_TOKEN: Final = "q8Zr0mD1Vt3cXbY5nK7sLwP9hGfEaJ2uR4iToSdQvNc"  # noqa: S105

_ERRORS: Final = {
    404: ("The link is unknown, expired, used or withdrawn.", "link: expired, used or withdrawn")
}


class PreviewJoin(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """The token of a link."""

    token: Token


class Join(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """The token of a link, and the input of its holder."""

    token: Token
    password: Annotated[
        str,
        Meta(
            description="an invited person who exists: their own; else a new one, "
            f"{MIN_CHARACTERS} to {MAX_CHARACTERS} characters"
        ),
    ]
    name: Annotated[Text, Meta(description="required for a new person")] | None = None
    email: Annotated[
        str | None,
        Meta(
            description="required if the invitation has none",
            extra_json_schema={"maxLength": MAX_EMAIL_CHARACTERS},
        ),
    ] = None
    code: (
        Annotated[
            str,
            Meta(
                max_length=MAX_CODE_CHARACTERS,
                description="of the second factor, after an answer 401 code_required",
            ),
        ]
        | None
    ) = None

    def __post_init__(self) -> None:
        if self.name is not None:
            self.name = trimmed("name", self.name)


class JoinPreview(msgspec.Struct, kw_only=True):
    """The purpose of a link, before its use."""

    kind: InvitationKind
    email: Annotated[str | None, Meta(description="null: the person chooses it")]
    account: Annotated[AccountReference | None, Meta(description="null for a password reset")]
    role: Role | None
    has_password: Annotated[
        bool, Meta(description="the person exists, and joins with their own password")
    ]
    needs_code: Annotated[
        bool,
        Meta(
            description="a reset needs a code of the second factor; always false for an "
            "invitation, which asks for a code after the password"
        ),
    ]


@endpoint(
    "POST",
    "/api/join/preview",
    Public(_ERRORS),
    operation_id="previewJoin",
    example={"token": EXAMPLE_TOKEN},
)
async def preview(call: PublicCall[AccountServices, Nothing, PreviewJoin]) -> JoinPreview:
    """Show the purpose of an invitation or a password reset, without using it."""
    return _record(await call.services.joining.preview(call.body.token))


@endpoint(
    "POST",
    "/api/join",
    Public(
        _ERRORS | {401: ("The person's password or code is wrong.", "e-mail or password: wrong")}
    ),
    operation_id="join",
    example={
        "token": EXAMPLE_TOKEN,
        "name": "Ada Lovelace",
        "password": "correct horse battery staple",
    },
)
async def join(
    call: PublicCall[AccountServices, Nothing, Join],
) -> AnswerWithHeaders[SessionRecord]:
    """Use an invitation or a password reset. The new session is in a cookie."""
    services, body = call.services, call.body
    form = JoinForm(password=body.password, email=body.email, name=body.name, code=body.code)
    session, secret = await services.joining.join(body.token, form, client_of(call))
    return await signed_in_answer(services, session, secret)


def _record(preview: TokenPreview) -> JoinPreview:
    account = preview.account
    return record_of(JoinPreview, preview, account=account and record_of(AccountReference, account))

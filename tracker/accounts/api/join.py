"""`/api/join`: the holder of a link joins an account, or sets a new password."""

from typing import Annotated, Final

import msgspec
from msgspec import UNSET, Meta, UnsetType

from tracker.access.audit import AuditObject, FieldChange
from tracker.access.invitations import InvitationKind
from tracker.access.passwords import MAX_CHARACTERS, MIN_CHARACTERS
from tracker.access.principal import Actor, ActorKind, Author
from tracker.access.roles import Role
from tracker.accounts.api.session import (
    AccountReference,
    SessionRecord,
    client_of,
    signed_in_answer,
)
from tracker.accounts.joining import JoinForm, TokenPreview
from tracker.accounts.services import AccountServices
from tracker.accounts.time_zones import checked_zone
from tracker.accounts.totp import MAX_CODE_CHARACTERS
from tracker.errors import BadRequest
from tracker.syntax.currency import checked_currency
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


_OF_FIRST: Final = Meta(description="of the account, from the first owner; as in `/api/account`")


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
    time_zone: Annotated[str, _OF_FIRST] | UnsetType = UNSET
    currency: Annotated[str, _OF_FIRST] | UnsetType = UNSET

    def __post_init__(self) -> None:
        if self.name is not None:
            self.name = trimmed("name", self.name)
        if self.time_zone is not UNSET:
            self.time_zone = checked_zone(self.time_zone)
        if self.currency is not UNSET:
            self.currency = checked_currency("currency", self.currency)


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
    is_first: Annotated[
        bool, Meta(description="the account has no owner: `time_zone` and `currency` are taken")
    ]


@endpoint(
    "POST",
    "/api/join/preview",
    Public(_ERRORS),
    operation_id="previewInvitation",
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
    operation_id="acceptInvitation",
    example={
        "token": EXAMPLE_TOKEN,
        "name": "Ada Lovelace",
        "password": "correct horse battery staple",
    },
)
async def join(
    call: PublicCall[AccountServices, Nothing, Join],
) -> AnswerWithHeaders[SessionRecord]:
    """Use an invitation or a password reset. The new session is in a cookie.

    Raises BadRequest if somebody but the first owner chooses a zone or currency.
    """
    services, body = call.services, call.body
    changes = await _begin(services, body)
    form = JoinForm(password=body.password, email=body.email, name=body.name, code=body.code)
    session, secret = await services.joining.join(body.token, form, client_of(call))
    answer = await signed_in_answer(services, session, secret)
    if changes:
        account, person = answer.value.account, answer.value.person
        actor = Actor(kind=ActorKind.MEMBER, id=person.id, name=person.name)
        author = Author(account.id, actor, session.address)
        target = AuditObject(kind="account", id=account.id, name=account.name)
        await services.access.audit.record(author, "account.changed", target, changes)
    return answer


async def _begin(services: AccountServices, body: Join) -> dict[str, FieldChange]:
    """Set what the first owner chooses for the account, and return it.

    Before the invitation is used, so that a failure of either leaves a link that still works.
    """
    chosen = {"time_zone": body.time_zone, "currency": body.currency}
    sent = {name: one for name, one in chosen.items() if not isinstance(one, UnsetType)}
    if not sent:
        return {}
    preview = await services.joining.preview(body.token)
    if preview.account is None or not preview.is_first:
        raise BadRequest("time_zone, currency: only for an account without an owner")
    if zone := sent.get("time_zone"):
        await services.time_zones.begin(preview.account.id, zone)
    if currency := sent.get("currency"):
        await services.conversions.account_rules.set_currency(preview.account.id, currency)
    return {name: FieldChange(before=None, after=one) for name, one in sent.items()}


def _record(preview: TokenPreview) -> JoinPreview:
    account = preview.account
    return record_of(JoinPreview, preview, account=account and record_of(AccountReference, account))

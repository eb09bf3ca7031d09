"""`/api/invitations` and `/api/password-resets`: links with which people join or set a password.

`api/members` creates password resets.
"""

from functools import partial
from typing import Annotated
from uuid import UUID

import msgspec
from msgspec import Meta, field

from tracker.access.invitations import Invitation, InvitationKind, join_url
from tracker.access.principal import Actor
from tracker.accounts.api.members import LimitTags, MemberRole
from tracker.accounts.services import AccountCall
from tracker.syntax.email import MAX_EMAIL_CHARACTERS, normal_email
from tracker.web.call import Nothing
from tracker.web.endpoint import Endpoints
from tracker.web.resource import Resource, one_by_one, record_of
from tracker.web.schema import AccountId, AccountPage, Done, Page, Timestamp

endpoint = Endpoints("accounts")

Email = Annotated[
    str,
    Meta(
        description="in lower case",
        extra_json_schema={
            "format": "email",
            "minLength": 3,
            "maxLength": MAX_EMAIL_CHARACTERS,
        },
    ),
]


class InvitationRecord(msgspec.Struct, kw_only=True):
    """An open invitation, without its link."""

    id: UUID
    email: Annotated[str | None, Meta(description="null: the person chooses it")]
    role: MemberRole
    tags: LimitTags
    created_at: Timestamp
    expires_at: Timestamp
    created_by: Actor


class CreatedInvitation(InvitationRecord, kw_only=True):
    """An invitation with its link, which is shown only once."""

    url: Annotated[str, Meta(description="works once")]


class CreateInvitation(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """The person to invite, with role and limit."""

    account_id: AccountId = field(name="accountId")
    email: Email
    role: MemberRole
    tags: LimitTags = field(default_factory=list)

    def __post_init__(self) -> None:
        self.email = normal_email("email", self.email)


INVITATIONS: Resource[Invitation, InvitationRecord] = Resource(
    "invitation",
    lambda call: call.services.access.invitations.find(call.ids[0]),
    one_by_one(partial(record_of, InvitationRecord)),
)


@endpoint("GET", "/api/invitations", "members:read")
async def list_own(call: AccountCall[AccountPage, Nothing]) -> Page[InvitationRecord]:
    """List open invitations, newest first, without their links."""
    return await INVITATIONS.list_page(call, call.services.access.invitations)


@endpoint(
    "POST",
    "/api/invitations",
    "members:write",
    example={"email": "ada@example.com", "role": "viewer"},
)
async def create(call: AccountCall[Nothing, CreateInvitation]) -> CreatedInvitation:
    """Invite a person: the link works once, within 24 hours, and no mail is sent."""
    body, services = call.body, call.services
    invitation, token = await services.membership.invite(
        call.author, body.email, body.role, body.tags
    )
    url = join_url(services.public_url.url, token)
    return record_of(CreatedInvitation, invitation, url=url)


@endpoint("DELETE", "/api/invitations/{id}", "members:write")
async def withdraw(call: AccountCall[Nothing, Nothing]) -> Done:
    """Withdraw an open invitation."""
    invitation = await INVITATIONS.find(call)
    await call.services.membership.withdraw(call.author, invitation)
    return Done()


class PasswordResetRecord(msgspec.Struct, kw_only=True):
    """An open password reset, without its link."""

    id: UUID
    person_id: UUID
    email: str
    created_at: Timestamp
    expires_at: Timestamp
    created_by: Actor


RESETS: Resource[Invitation, PasswordResetRecord] = Resource(
    "password reset",
    lambda call: call.services.access.invitations.find(call.ids[0], InvitationKind.PASSWORD_RESET),
    one_by_one(partial(record_of, PasswordResetRecord)),
)


@endpoint("GET", "/api/password-resets", "members:read")
async def list_resets(call: AccountCall[AccountPage, Nothing]) -> Page[PasswordResetRecord]:
    """List the account's open password resets, newest first, without their links."""
    fetch = partial(
        call.services.access.invitations.page, call.account_id, kind=InvitationKind.PASSWORD_RESET
    )
    return await RESETS.page(call, call.query, fetch)


@endpoint("DELETE", "/api/password-resets/{id}", "members:write")
async def withdraw_reset(call: AccountCall[Nothing, Nothing]) -> Done:
    """Withdraw an open password reset."""
    reset = await RESETS.find(call)
    await call.services.membership.withdraw(call.author, reset)
    return Done()

"""`/api/members`: the people of an account, their roles and password resets."""

from collections.abc import Sequence
from typing import Annotated
from uuid import UUID

import msgspec
from msgspec import UNSET, Meta, UnsetType

from tracker.access.invitations import join_url
from tracker.access.roles import Role
from tracker.accounts.members import Member
from tracker.accounts.services import AccountCall, AccountServices
from tracker.clock import iso
from tracker.web.call import Nothing
from tracker.web.endpoint import Endpoints
from tracker.web.limits import MAX_FILTER_VALUES
from tracker.web.resource import Resource, record_of
from tracker.web.schema import AccountPage, Done, Page, Timestamp

endpoint = Endpoints("accounts")

LimitTags = Annotated[
    list[UUID],
    Meta(
        max_length=MAX_FILTER_VALUES,
        description="sees and changes only links with one of these tags; empty: all links",
    ),
]
MemberRole = Annotated[Role, Meta(description="owner: everything; editor: work; viewer: read")]


class MemberRecord(msgspec.Struct, kw_only=True):
    """A member of an account."""

    id: UUID
    person_id: UUID
    email: str
    name: str
    role: MemberRole
    tags: LimitTags
    totp: Annotated[bool, Meta(description="a code is needed at sign-in")]
    created_at: Timestamp
    last_seen_at: Timestamp | None


class ChangeMember(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """The new role or limit of a member."""

    role: MemberRole | UnsetType = UNSET
    tags: LimitTags | UnsetType = UNSET


class PasswordResetLink(msgspec.Struct, kw_only=True):
    """A link that works once. Pass it on to the person."""

    id: Annotated[UUID, Meta(description="of the password reset, to withdraw it")]
    url: Annotated[str, Meta(description="shown once: it cannot be read again")]
    expires_at: Timestamp


async def _show(services: AccountServices, members: Sequence[Member]) -> list[MemberRecord]:
    people = await services.people.find_all([one.person_id for one in members])
    return [
        record_of(
            MemberRecord,
            one,
            email=people[one.person_id].email,
            name=people[one.person_id].name,
            tags=list(one.tags),
            totp=people[one.person_id].has_totp,
        )
        for one in members
    ]


MEMBERS: Resource[Member, MemberRecord] = Resource(
    "member", lambda call: call.services.members.find(call.ids[0]), _show
)


@endpoint("GET", "/api/members", "members:read")
async def list_own(call: AccountCall[AccountPage, Nothing]) -> Page[MemberRecord]:
    """List members, newest first."""
    return await MEMBERS.list_page(call, call.services.members)


@endpoint("PATCH", "/api/members/{id}", "members:write", example={"role": "viewer"})
async def change(call: AccountCall[Nothing, ChangeMember]) -> MemberRecord:
    """Change role or limit of a member, whose sessions end. The last owner stays an owner."""
    member, body = await MEMBERS.find(call), call.body
    role = None if isinstance(body.role, UnsetType) else body.role
    tags = None if isinstance(body.tags, UnsetType) else body.tags
    changed = await call.services.membership.change_role(call.author, member.id, role, tags)
    return await MEMBERS.show(call, changed)


@endpoint("DELETE", "/api/members/{id}", "members:write")
async def remove(call: AccountCall[Nothing, Nothing]) -> Done:
    """Remove a member, whose sessions end; the last owner stays."""
    member = await MEMBERS.find(call)
    await call.services.membership.remove(call.author, member.id)
    return Done()


@endpoint(
    "POST",
    "/api/members/{id}/password-reset",
    "members:write",
    operation_id="createPasswordReset",
)
async def reset_password(call: AccountCall[Nothing, Nothing]) -> PasswordResetLink:
    """Create a link that resets a member's password, once, within 24 hours. The person must be in
    no other account.
    """
    member = await MEMBERS.find(call)
    reset, token = await call.services.membership.reset_password(call.author, member.id)
    url = join_url(call.services.public_url.url, token)
    return PasswordResetLink(id=reset.id, url=url, expires_at=iso(reset.expires_at))

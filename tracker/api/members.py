"""`/api/members`: the people of an account, their roles and password resets."""

from collections.abc import Sequence
from typing import Annotated, Any
from uuid import UUID

import msgspec
from msgspec import Meta

from tracker.access.invitations import join_url
from tracker.access.members import Member
from tracker.access.membership import Author
from tracker.access.roles import Role
from tracker.api.endpoint import Call, Endpoint, Nothing
from tracker.api.resource import Resource, record_of
from tracker.api.schema import AccountPage, Done, Page, Timestamp
from tracker.api.services import Services
from tracker.clock import iso

MemberRole = Annotated[Role, Meta(description="owner: everything; editor: work; viewer: read")]


class MemberRecord(msgspec.Struct, kw_only=True):
    """A member of an account."""

    id: UUID
    person_id: UUID
    email: str
    name: str
    role: MemberRole
    totp: Annotated[bool, Meta(description="a code is needed at sign-in")]
    created_at: Timestamp
    last_seen_at: Timestamp | None


class ChangeMember(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """The new role of a member."""

    role: MemberRole


class LinkRecord(msgspec.Struct, kw_only=True):
    """A link that works once, to pass on to a person."""

    id: Annotated[UUID, Meta(description="of the password reset, to withdraw it")]
    url: Annotated[str, Meta(description="shown once: it cannot be read again")]
    expires_at: Timestamp


def author_of(call: Call[Any, Any]) -> Author:
    """Return the author of the changes of a request."""
    return Author(call.principal, call.address)


async def _show(services: Services, members: Sequence[Member]) -> list[MemberRecord]:
    people = await services.people.find_all([one.person_id for one in members])
    return [
        record_of(
            MemberRecord,
            one,
            email=people[one.person_id].email,
            name=people[one.person_id].name,
            totp=people[one.person_id].has_totp,
        )
        for one in members
    ]


MEMBERS: Resource[Member, MemberRecord] = Resource(
    "member", lambda call: call.services.members.find(call.ids[0]), _show
)


async def change(call: Call[Nothing, ChangeMember]) -> MemberRecord:
    """Change the role of a member.

    Raises NotFound or Forbidden if the account has no such member, Forbidden if either role has
    scopes that the principal lacks, BadRequest if it is the last owner.
    """
    member = await MEMBERS.own(call)
    changed = await call.services.membership.change_role(author_of(call), member.id, call.body.role)
    return await MEMBERS.show(call, changed)


async def remove(call: Call[Nothing, Nothing]) -> Done:
    """Remove a member.

    Raises NotFound or Forbidden if the account has no such member, Forbidden if the member has
    scopes that the principal lacks, BadRequest if it is the last owner.
    """
    member = await MEMBERS.own(call)
    await call.services.membership.remove(author_of(call), member.id)
    return Done()


async def reset_password(call: Call[Nothing, Nothing]) -> LinkRecord:
    """Make a link with which a member sets a new password.

    Raises NotFound or Forbidden if the account has no such member, Forbidden if the member belongs
    to other accounts or has scopes that the principal lacks.
    """
    member = await MEMBERS.own(call)
    reset, token = await call.services.membership.reset_password(author_of(call), member.id)
    url = join_url(call.services.public_url.url, token)
    return LinkRecord(id=reset.id, url=url, expires_at=iso(reset.expires_at))


ENDPOINTS = (
    Endpoint(
        "GET",
        "/api/members",
        "members:read",
        MEMBERS.lister(lambda services: services.members),
        "List members, newest first",
        Page[MemberRecord],
        query=AccountPage,
    ),
    Endpoint(
        "PATCH",
        "/api/members/{id}",
        "members:write",
        change,
        "Change the role of a member, whose sessions end; the last owner stays one",
        MemberRecord,
        body=ChangeMember,
        example={"role": "viewer"},
    ),
    Endpoint(
        "DELETE",
        "/api/members/{id}",
        "members:write",
        remove,
        "Remove a member, whose sessions end; the last owner stays",
        Done,
    ),
    Endpoint(
        "POST",
        "/api/members/{id}/password-reset",
        "members:write",
        reset_password,
        "Make a link with which a member of this account alone sets a new password, once, "
        "within 24 hours",
        LinkRecord,
    ),
)

"""`/api/password-resets`: list and withdraw the open password resets that an account made.

`tracker/api/members` makes them.
"""

from functools import partial
from uuid import UUID

import msgspec

from tracker.access.invitations import Invitation, InvitationKind
from tracker.access.principal import Actor
from tracker.api.endpoint import Call, Endpoint, Nothing
from tracker.api.members import author_of
from tracker.api.resource import Resource, one_by_one, record_of
from tracker.api.schema import AccountPage, Done, Page, Timestamp


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
    lambda call: call.services.invitations.find(call.ids[0], InvitationKind.PASSWORD_RESET),
    one_by_one(partial(record_of, PasswordResetRecord)),
)


async def list_own(call: Call[AccountPage, Nothing]) -> Page[PasswordResetRecord]:
    """Return a page of the account's open password resets."""
    fetch = partial(
        call.services.invitations.page, call.account_id, kind=InvitationKind.PASSWORD_RESET
    )
    return await RESETS.page(call, call.query, fetch)


async def withdraw(call: Call[Nothing, Nothing]) -> Done:
    """Withdraw an open password reset.

    Raises NotFound or Forbidden if the account has no such reset.
    """
    reset = await RESETS.own(call)
    await call.services.membership.withdraw(author_of(call), reset)
    return Done()


ENDPOINTS = (
    Endpoint(
        "GET",
        "/api/password-resets",
        "members:read",
        list_own,
        "List the open password resets that the account made, newest first, without their links",
        Page[PasswordResetRecord],
        query=AccountPage,
    ),
    Endpoint(
        "DELETE",
        "/api/password-resets/{id}",
        "members:write",
        withdraw,
        "Withdraw an open password reset",
        Done,
    ),
)

"""`/api/password-resets`: list and withdraw the open resets that `api/members` has created."""

from functools import partial
from uuid import UUID

import msgspec

from tracker.access.invitations import Invitation, InvitationKind
from tracker.access.principal import Actor
from tracker.accounts.services import AccountCall
from tracker.web.call import Nothing
from tracker.web.endpoint import Endpoints
from tracker.web.resource import Resource, one_by_one, record_of
from tracker.web.schema import AccountPage, Done, Page, Timestamp

endpoint = Endpoints("accounts")


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
async def list_own(call: AccountCall[AccountPage, Nothing]) -> Page[PasswordResetRecord]:
    """List the account's open password resets, newest first, without their links."""
    fetch = partial(
        call.services.access.invitations.page, call.account_id, kind=InvitationKind.PASSWORD_RESET
    )
    return await RESETS.page(call, call.query, fetch)


@endpoint("DELETE", "/api/password-resets/{id}", "members:write")
async def withdraw(call: AccountCall[Nothing, Nothing]) -> Done:
    """Withdraw an open password reset."""
    reset = await RESETS.find(call)
    await call.services.membership.withdraw(call.author, reset)
    return Done()

"""Tokens of invitations and password resets: single use, a day at most, stored as a hash."""

import hashlib
from datetime import timedelta
from typing import Any
from uuid import UUID

from tracker.access.invitations import (
    VALID_FOR,
    Invitation,
    InvitationKind,
)
from tracker.access.principal import OPERATOR
from tracker.access.roles import Role
from tracker.clock import now
from tracker.ids import new_id
from tracker.service.services import Services
from tracker.stores.mongodb.transaction import run_in_transaction


def a_new_one(account_id: UUID | None = None, **fields: Any) -> Invitation:
    given: dict[str, Any] = {
        "kind": InvitationKind.INVITATION,
        "account_id": account_id or new_id(),
        "email": "ada@example.com",
        "role": Role.EDITOR,
        "created_by": OPERATOR,
    }
    return Invitation(**(given | fields))


async def expire(services: Services, invitation: Invitation) -> None:
    past = {"$set": {"expires_at": now() - timedelta(milliseconds=1)}}
    await services.stores.mongodb["invitations"].update_one({"_id": invitation.id}, past)


async def created(services: Services, new: Invitation) -> tuple[Invitation, str]:
    return await run_in_transaction(
        services.stores.mongodb.database,
        lambda session: services.access.invitations.create(new, session),
    )


async def test_an_invitation_is_read_by_its_token_and_stored_without_it(services: Services) -> None:
    invitation, token = await created(services, a_new_one())
    assert await services.access.invitations.find_open(token) == invitation
    assert await services.access.invitations.find(invitation.id) == invitation
    assert round((invitation.expires_at - invitation.created_at) / VALID_FOR, 3) == 1
    row = await services.stores.mongodb["invitations"].find_one({})
    assert row is not None
    assert row["sha256"] == hashlib.sha256(token.encode()).digest()
    assert token not in str(row)
    assert len(token) == 43


async def test_an_account_lists_its_open_invitations_newest_first_without_resets(
    services: Services,
) -> None:
    account = new_id()
    made = [(await created(services, a_new_one(account)))[0] for _ in range(3)]
    await created(services, a_new_one())
    reset = a_new_one(account, kind=InvitationKind.PASSWORD_RESET)
    stored, _ = await created(services, reset)
    old, _ = await created(services, a_new_one(account))
    await expire(services, old)
    assert await services.access.invitations.page(account, 1, 2) == ([made[2], made[1]], 3)
    assert await services.access.invitations.find(stored.id) is None

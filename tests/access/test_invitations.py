"""Tokens of invitations and password resets: single use, a day at most, stored as a hash."""

import asyncio
import hashlib
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest

from tracker.access.invitations import (
    MAX_OPEN_INVITATIONS,
    VALID_FOR,
    Invitation,
    InvitationKind,
    NewInvitation,
    join_url,
)
from tracker.access.principal import OPERATOR
from tracker.access.roles import Role
from tracker.clock import now
from tracker.errors import BadRequest, ErrorCode, NotFound
from tracker.ids import new_id
from tracker.service.services import Services
from tracker.stores.mongodb.transaction import MongoSession, run_in_transaction


def a_new_one(account_id: UUID | None = None, **fields: Any) -> NewInvitation:
    given: dict[str, Any] = {
        "kind": InvitationKind.INVITATION,
        "account_id": account_id or new_id(),
        "email": "ada@example.com",
        "role": Role.EDITOR,
        "created_by": OPERATOR,
    }
    return NewInvitation(**(given | fields))


async def used(services: Services, token: str) -> Invitation:
    async def work(session: MongoSession) -> Invitation:
        return await services.access.invitations.use(token, session)

    return await run_in_transaction(services.stores.mongodb.database, work)


async def withdrawn(services: Services, invitation: Invitation) -> None:
    async def work(session: MongoSession) -> None:
        await services.access.invitations.withdraw(invitation, session)

    await run_in_transaction(services.stores.mongodb.database, work)


async def expire(services: Services, invitation: Invitation) -> None:
    past = {"$set": {"expires_at": now() - timedelta(milliseconds=1)}}
    await services.stores.mongodb["invitations"].update_one({"_id": invitation.id}, past)


async def assert_expired(services: Services, token: str) -> None:
    for refused in (services.access.invitations.find_open(token), used(services, token)):
        with pytest.raises(NotFound, match="link: expired, used or withdrawn") as caught:
            await refused
        assert caught.value.code == ErrorCode.LINK_EXPIRED


async def created(services: Services, new: NewInvitation) -> tuple[Invitation, str]:
    return await run_in_transaction(
        services.stores.mongodb.database,
        lambda session: services.access.invitations.create(new, session),
    )


async def test_an_invitation_is_read_by_its_token_and_stored_without_it(services: Services) -> None:
    invitation, token = await created(services, a_new_one())
    assert await services.access.invitations.find_open(token) == invitation
    assert await services.access.invitations.find(invitation.id) == invitation
    assert invitation.expires_at - invitation.created_at == VALID_FOR
    row = await services.stores.mongodb["invitations"].find_one({})
    assert row is not None
    assert row["sha256"] == hashlib.sha256(token.encode()).digest()
    assert token not in str(row)
    assert len(token) == 43


async def test_a_token_is_used_once(services: Services) -> None:
    invitation, token = await created(services, a_new_one())
    assert (await used(services, token)).id == invitation.id
    await assert_expired(services, token)
    assert await services.access.invitations.find(invitation.id) is None


async def test_of_those_who_use_a_token_at_one_moment_one_succeeds(services: Services) -> None:
    for _ in range(5):
        _, token = await created(services, a_new_one())
        done = await asyncio.gather(
            *(used(services, token) for _ in range(4)), return_exceptions=True
        )
        assert sum(isinstance(one, Invitation) for one in done) == 1
        assert sum(isinstance(one, NotFound) for one in done) == 3


async def test_a_use_that_fails_later_in_its_transaction_leaves_the_token_usable(
    services: Services,
) -> None:
    _, token = await created(services, a_new_one())

    async def work(session: MongoSession) -> None:
        await services.access.invitations.use(token, session)
        raise BadRequest("name: required")

    with pytest.raises(BadRequest):
        await run_in_transaction(services.stores.mongodb.database, work)
    await used(services, token)


async def test_expired_withdrawn_and_unknown_tokens_are_answered_the_same(
    services: Services,
) -> None:
    old, old_token = await created(services, a_new_one())
    gone, gone_token = await created(services, a_new_one())
    await expire(services, old)
    await withdrawn(services, gone)
    for token in (old_token, gone_token, "", "x" * 43, "\ud800"):
        await assert_expired(services, token)
    with pytest.raises(NotFound, match="invitation: not found"):
        await withdrawn(services, gone)


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


async def test_an_account_has_a_limited_number_of_open_invitations(services: Services) -> None:
    account = new_id()
    for _ in range(MAX_OPEN_INVITATIONS):
        last, _ = await created(services, a_new_one(account))
    with pytest.raises(BadRequest, match="account_id: has 100 open invitations"):
        await created(services, a_new_one(account))
    await withdrawn(services, last)
    await created(services, a_new_one(account))


def test_a_link_has_its_token_in_the_fragment_which_no_server_sees() -> None:
    assert join_url("https://go.example.com", "abc") == "https://go.example.com/console/join#abc"

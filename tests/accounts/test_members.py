"""Members of accounts. Removals and changes of roles race with each other for real."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from tests.factories import create_member, create_person
from tracker.access.roles import Role
from tracker.accounts.accounts import Account
from tracker.accounts.members import Member
from tracker.errors import BadRequest
from tracker.ids import new_id
from tracker.service.services import Services
from tracker.stores.mongodb.transaction import MongoSession, run_in_transaction

Change = Callable[[Services, Member, MongoSession], Awaitable[None]]


async def demoted(services: Services, member: Member, session: MongoSession) -> None:
    await services.accounts.members.change_role(member, Role.VIEWER, session)


async def removed(services: Services, member: Member, session: MongoSession) -> None:
    await services.accounts.members.remove(member, session)


async def make(services: Services, change: Change, member: Member) -> None:
    """Change a member, read anew, in a transaction."""

    async def work(session: MongoSession) -> None:
        found = await services.accounts.members.find(member.id, session)
        assert found is not None
        await change(services, found, session)

    await run_in_transaction(services.stores.mongodb.database, work)


async def an_account(services: Services) -> Account:
    return await services.accounts.accounts.create("Acme")


async def create_session(services: Services, member: Member) -> None:
    """Store a session of the member, with what its end depends on."""
    row = {"_id": new_id(), "account_id": member.account_id, "person_id": member.person_id}
    await services.stores.mongodb["sessions"].insert_one({**row, "sha256": row["_id"].bytes})


async def test_a_member_is_found_by_id_by_person_and_in_the_list(services: Services) -> None:
    account, other, person = new_id(), new_id(), await create_person(services)
    first = await create_member(services, account, Role.EDITOR, person)
    second = await create_member(services, account)
    foreign = await create_member(services, other, Role.VIEWER, person)
    assert await services.accounts.members.find(first.id) == first
    assert await services.accounts.members.find(new_id()) is None
    assert await services.accounts.members.find_person(account, person.id) == first
    assert await services.accounts.members.find_person(other, second.person_id) is None
    assert await services.accounts.members.of_person(person.id) == [first, foreign]
    assert await services.accounts.members.list(account) == [second, first]
    assert await services.accounts.members.page(account, 2, 1) == ([first], 2)
    assert await services.accounts.members.has_owner(account)
    assert not await services.accounts.members.has_owner(other)


@pytest.mark.parametrize("change", [demoted, removed])
async def test_a_change_ends_the_sessions_of_that_member_in_that_account_only(
    services: Services, change: Change
) -> None:
    account, other, person = await an_account(services), new_id(), await create_person(services)
    member = await create_member(services, account.id, Role.OWNER, person)
    colleague = await create_member(services, account.id)
    elsewhere = await create_member(services, other, Role.OWNER, person)
    for one in (member, member, colleague, elsewhere):
        await create_session(services, one)
    await make(services, change, member)
    left = services.stores.mongodb["sessions"].find({}, ["account_id", "person_id"]).sort("_id", 1)
    assert [(row["account_id"], row["person_id"]) async for row in left] == [
        (colleague.account_id, colleague.person_id),
        (other, person.id),
    ]


@pytest.mark.parametrize("change", [demoted, removed])
async def test_of_owners_who_end_each_other_at_one_moment_one_stays(
    services: Services, change: Change
) -> None:
    for _ in range(5):
        account = await an_account(services)
        owners = [await create_member(services, account.id) for _ in range(4)]
        done = await asyncio.gather(
            *(make(services, change, owner) for owner in owners), return_exceptions=True
        )
        refused = [one for one in done if isinstance(one, BaseException)]
        assert [type(one) for one in refused] == [BadRequest]
        assert await services.accounts.members.has_owner(account.id)

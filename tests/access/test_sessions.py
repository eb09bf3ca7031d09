from datetime import timedelta

import pytest

from tests.web.person import BROWSER, create_person
from tracker.access import sessions
from tracker.access.principal import ActorKind
from tracker.access.roles import SCOPES_OF, Role
from tracker.clock import now
from tracker.errors import Unauthorized
from tracker.ids import new_id
from tracker.service.services import Services


async def test_a_session_acts_with_the_current_role_of_its_person(services: Services) -> None:
    person, account_id = await create_person(services), new_id()
    member = await services.accounts.members.add(account_id, person.id, Role.OWNER)
    _, secret = await services.access.sessions.start(person.id, account_id, BROWSER)
    assert (await services.access.sessions.authenticate(secret)).principal.scopes is None
    change = {"$set": {"role": Role.VIEWER}}
    await services.stores.mongodb["members"].update_one({"_id": member.id}, change)
    principal = (await services.access.sessions.authenticate(secret)).principal
    assert principal.scopes == SCOPES_OF[Role.VIEWER]
    assert (principal.account_id, principal.actor.kind) == (account_id, ActorKind.MEMBER)
    assert (principal.actor.id, principal.actor.name) == (person.id, "Ada")


@pytest.mark.parametrize("gone", ["members", "people", "sessions"])
async def test_a_session_ends_with_its_person_and_membership(services: Services, gone: str) -> None:
    person, account_id = await create_person(services), new_id()
    await services.accounts.members.add(account_id, person.id, Role.OWNER)
    _, secret = await services.access.sessions.start(person.id, account_id, BROWSER)
    assert not services.access.sessions.peek(secret)
    await services.access.sessions.authenticate(secret)
    assert services.access.sessions.peek(secret)
    await services.stores.mongodb[gone].delete_many({})
    with pytest.raises(Unauthorized):
        await services.access.sessions.authenticate(secret)
    assert not services.access.sessions.peek(secret)


async def test_an_expired_session_ends_before_mongodb_removes_it(services: Services) -> None:
    person, account_id = await create_person(services), new_id()
    await services.accounts.members.add(account_id, person.id, Role.OWNER)
    session, secret = await services.access.sessions.start(person.id, account_id, BROWSER)
    await services.access.sessions.authenticate(secret)
    assert session.id in await services.access.sessions.principals_of([session.id])
    expired = {"$set": {"expires_at": now()}}
    await services.stores.mongodb["sessions"].update_one({"_id": session.id}, expired)
    with pytest.raises(Unauthorized):
        await services.access.sessions.authenticate(secret)
    assert await services.access.sessions.principals_of([session.id]) == {}


async def test_use_prolongs_a_session_up_to_its_lifetime(services: Services) -> None:
    person, account_id = await create_person(services), new_id()
    await services.accounts.members.add(account_id, person.id, Role.OWNER)
    session, secret = await services.access.sessions.start(person.id, account_id, BROWSER)
    [member] = await services.accounts.members.of_person(person.id)
    assert member.last_seen_at == session.last_seen_at
    long_ago = now() - sessions.LIFETIME + timedelta(days=3)
    earlier = {"created_at": long_ago, "last_seen_at": now() - timedelta(minutes=2)}
    await services.stores.mongodb["sessions"].update_one({"_id": session.id}, {"$set": earlier})
    await services.access.sessions.authenticate(secret)
    [changed] = await services.access.sessions.of_person(person.id)
    assert changed.expires_at - long_ago == sessions.LIFETIME
    [member] = await services.accounts.members.of_person(person.id)
    assert member.last_seen_at == changed.last_seen_at > earlier["last_seen_at"]


async def test_the_oldest_of_too_many_sessions_end(
    services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sessions, "MAX_PER_PERSON", 3)
    person = await create_person(services)
    made = [
        (await services.access.sessions.start(person.id, new_id(), BROWSER))[0].id for _ in range(5)
    ]
    left = {one.id for one in await services.access.sessions.of_person(person.id)}
    assert left == set(made[2:])

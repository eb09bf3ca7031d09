"""Signing in while something else changes, and what is remembered of it."""

import pytest
from argon2 import PasswordHasher
from msgspec.structs import replace

from tests.web.person import BROWSER, PASSWORD, create_person, stored_again
from tracker.access.roles import Role
from tracker.accounts.people import MAX_NETWORKS
from tracker.accounts.sign_in_limit import network_digest
from tracker.errors import Unauthorized
from tracker.ids import new_id
from tracker.metrics import SIGN_INS_REFUSED
from tracker.service.services import Services

pytestmark = pytest.mark.redis

EMAIL = "ada@example.com"


async def test_a_password_that_changes_meanwhile_lets_nobody_in(services: Services) -> None:
    person = await create_person(services, EMAIL)
    await services.accounts.members.add(new_id(), person.id, Role.OWNER)
    await services.accounts.people.change(person.id, {"password": "another hash"})
    with pytest.raises(Unauthorized):
        await services.accounts.sign_in.start_session(person, BROWSER)
    assert await services.access.sessions.of_person(person.id) == []
    assert await services.stores.mongodb["audit"].count_documents({}) == 0


async def test_replacing_an_outdated_hash_never_brings_an_old_password_back(
    services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    person = await create_person(services, EMAIL)
    old = PasswordHasher(1, 8, 1).hash(PASSWORD)
    await services.accounts.people.change(person.id, {"password": old})
    hashing = services.accounts.passwords.hash

    async def changed_meanwhile(password: str) -> str:
        await services.accounts.people.change(person.id, {"password": "a new one"})
        return await hashing(password)

    monkeypatch.setattr(services.accounts.passwords, "hash", changed_meanwhile)
    await services.accounts.sign_in.identify(EMAIL, PASSWORD, BROWSER)
    found = await stored_again(services, person)
    assert found.password == "a new one"


async def test_the_last_networks_of_a_person_are_remembered_as_digests(services: Services) -> None:
    person = await create_person(services, EMAIL)
    await services.accounts.members.add(new_id(), person.id, Role.OWNER)
    networks = [f"203.0.{number}.0/24" for number in range(MAX_NETWORKS + 1)]
    for network in (*networks, networks[1]):
        await services.accounts.sign_in.start_session(person, replace(BROWSER, address=network))
    found = await stored_again(services, person)
    assert found.networks == [network_digest(one) for one in (*networks[2:], networks[1])]


@pytest.mark.parametrize("email", [EMAIL, "eve@example.com"])
async def test_a_refusal_hashes_and_counts_whether_the_person_exists_or_not(
    services: Services, monkeypatch: pytest.MonkeyPatch, email: str
) -> None:
    await create_person(services, EMAIL, PASSWORD)
    before, hashed = SIGN_INS_REFUSED._value.get(), list[str]()
    verify = services.accounts.passwords._matches

    def noted(stored: str, password: str) -> bool:
        hashed.append(stored.rpartition("$")[0].rpartition("$")[0])
        return verify(stored, password)

    monkeypatch.setattr(services.accounts.passwords, "_matches", noted)
    with pytest.raises(Unauthorized):
        await services.accounts.sign_in.identify(email, "wrong horse battery", BROWSER)
    assert hashed == ["$argon2id$v=19$m=19456,t=2,p=1"]
    assert SIGN_INS_REFUSED._value.get() == before + 1

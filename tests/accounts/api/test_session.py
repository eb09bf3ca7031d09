"""Signing in, and what a session may do; attacks on it are in `test_session_attacks`."""

import pytest
from argon2 import PasswordHasher

from tests.accounts.api.signing_in import FROM_CONSOLE, audited, secret_in, sign_in
from tests.stores.mongodb.profiler import profiled
from tests.web.client import Client
from tests.web.person import PASSWORD, PersonClient, create_person, stored_again
from tests.web.world import World
from tracker.access.roles import Role
from tracker.access.session_cookie import SessionCookie
from tracker.accounts.api.session import MAX_ACCOUNTS
from tracker.clock import now
from tracker.public_url import PublicUrl
from tracker.service.services import Services


async def test_a_person_signs_in_and_out(world: World) -> None:
    person = await create_person(world.services, "ada@example.com", PASSWORD)
    await world.services.accounts.members.add(world.account.id, person.id, Role.EDITOR)
    began = now()
    response = await sign_in(world.client, " Ada@Example.com ")
    assert (response.status, response.headers["Cache-Control"]) == (200, "no-store")
    record = response.json()
    assert record["person"] == {
        "id": str(person.id),
        "email": "ada@example.com",
        "name": "Ada",
        "totp": False,
    }
    days = {at.date().isoformat() for at in (began, now())}
    assert record["account"].pop("today") in days
    shown_account = {"id": str(world.account.id), "name": "Acme", "time_zone": "UTC"}
    assert record["account"] == {
        **shown_account,
        "currency": None,
        "parameters": [],
        "failing_webhooks": 0,
        "decides": False,
        "has_parents": False,
    }
    assert (record["role"], "links:*" in record["scopes"]) == ("editor", True)
    cookie: dict[str, str | bytes] = {"Cookie": f"session={secret_in(response)}", **FROM_CONSOLE}
    shown = await world.client.request("GET", "/api/session", cookie)
    assert (shown.status, shown.json()["person"]) == (200, record["person"])
    out = await world.client.request("DELETE", "/api/session", cookie)
    assert (out.status, out.headers["Clear-Site-Data"]) == (200, '"cache", "storage"')
    assert "Max-Age=0" in out.headers["Set-Cookie"]
    assert (await world.client.request("GET", "/api/session", cookie)).status == 401
    logged = await audited(world.services, world.account)
    assert logged == ["session.signed_in", "session.signed_out"]


@pytest.mark.parametrize(
    ("url", "field"),
    [
        (
            "https://t.example",
            "__Host-session=x; Path=/; Max-Age=7776000; HttpOnly; SameSite=Lax; Secure",
        ),
        ("http://localhost:8080", "session=x; Path=/; Max-Age=7776000; HttpOnly; SameSite=Lax"),
    ],
)
def test_the_cookie_is_kept_from_scripts_and_other_sites(url: str, field: str) -> None:
    assert SessionCookie(PublicUrl(url)).set("x") == field


async def test_a_person_switches_between_their_accounts(world: World) -> None:
    person = await world.person()
    refused = await person.send("PATCH", "/api/session", {"accountId": str(world.other_account.id)})
    assert refused.status == 403
    assert refused.error == "accountId: you are not a member of this account"
    await world.services.accounts.members.add(world.other_account.id, person.person.id, Role.VIEWER)
    switched = await person.send(
        "PATCH", "/api/session", {"accountId": str(world.other_account.id)}
    )
    assert (switched.json()["account"]["name"], switched.json()["role"]) == ("Another", "viewer")
    assert {one["name"] for one in switched.json()["accounts"]} == {"Acme", "Another"}
    # A new id: the old one has ended.
    assert (await person.send("GET", "/api/session")).status == 401
    person.secret = secret_in(switched)
    tags = await person.send("GET", f"/api/tags?accountId={world.other_account.id}")
    assert tags.status == 200
    assert (await person.send("GET", f"/api/tags?accountId={world.account.id}")).status == 403


async def test_switching_to_the_present_account_changes_nothing(world: World) -> None:
    person = await world.person()
    shown = await person.send("GET", "/api/session")
    before = await world.services.stores.mongodb["sessions"].find().to_list(None)
    answer = await person.send("PATCH", "/api/session", {"accountId": str(world.account.id)})
    assert (answer.status, answer.json()) == (200, shown.json())
    assert "Set-Cookie" not in answer.headers
    assert await world.services.stores.mongodb["sessions"].find().to_list(None) == before
    assert await world.services.stores.mongodb["audit"].count_documents({}) == 0
    assert (await person.send("GET", "/api/session")).status == 200


async def test_people_have_a_limit_of_their_own(world: World) -> None:
    person = await world.person()
    for _ in range(3):
        response = await person.send("GET", "/api/session")
    assert response.headers["RateLimit-Policy"] == '"session";q=600;w=60'
    assert response.headers["X-RateLimit-Remaining"] == "597"


async def test_a_key_counts_if_a_cookie_is_sent_too(world: World) -> None:
    person = await world.person(Role.VIEWER)
    keys = await person.send(
        "GET",
        f"/api/keys?accountId={world.account.id}",
        headers={"Authorization": f"Bearer {world.secret}"},
    )
    assert keys.status == 200


async def test_the_account_of_a_person_who_is_a_member_of_none_is_refused(
    client: Client, services: Services
) -> None:
    await create_person(services, "ada@example.com", PASSWORD)
    response = await sign_in(client, "ada@example.com")
    assert (response.status, "Set-Cookie" in response.headers) == (403, False)


async def test_an_outdated_hash_is_replaced_at_sign_in(world: World) -> None:
    person = await create_person(world.services, "ada@example.com", PASSWORD)
    await world.services.accounts.members.add(world.account.id, person.id, Role.OWNER)
    old = PasswordHasher(1, 8, 1).hash(PASSWORD)
    await world.services.accounts.people.change(person.id, {"password": old})
    assert (await sign_in(world.client, "ada@example.com")).status == 200
    found = await stored_again(world.services, person)
    assert not world.services.accounts.passwords.is_outdated(found.password)


async def in_accounts(world: World, names: list[str]) -> PersonClient:
    """Return a person of the world's account who is in new accounts with these names too."""
    person = await world.person()
    for name in names:
        account = await world.services.accounts.accounts.create(name)
        await world.services.accounts.members.add(account.id, person.person.id, Role.VIEWER)
    return person


async def test_a_session_has_at_most_a_hundred_accounts_the_present_one_among_them(
    world: World,
) -> None:
    names = [f"Account {number:03}" for number in range(MAX_ACCOUNTS + 20)]
    person = await in_accounts(world, names)
    last = await world.services.stores.mongodb["accounts"].find_one({"name": names[-1]})
    assert last is not None
    switched = await person.send("PATCH", "/api/session", {"accountId": str(last["_id"])})
    shown = switched.json()
    assert (len(shown["accounts"]), shown["accounts_total"]) == (MAX_ACCOUNTS, len(names) + 1)
    found = [one["name"] for one in shown["accounts"]]
    assert found == [*names[: MAX_ACCOUNTS - 2], names[-1], "Acme"]
    assert len(switched.body) < 20_000


async def test_all_accounts_of_a_person_are_listed_by_name(world: World) -> None:
    person = await in_accounts(world, ["Beta", "abc", "a.c"])
    other = await world.person()
    await world.services.accounts.members.add(world.other_account.id, other.person.id, Role.OWNER)
    for query, shown, total in (
        ("", ["a.c", "abc", "Acme", "Beta"], 4),
        ("?pageSize=3&page=2", ["Beta"], 4),
        ("?search=A", ["a.c", "abc", "Acme", "Beta"], 4),
        ("?search=a.", ["a.c"], 1),
        ("?search=%24where", [], 0),
        ("?page=9", [], 4),
    ):
        page = (await person.send("GET", f"/api/session/accounts{query}")).json()
        assert [one["name"] for one in page["rows"]] == shown, query
        assert page["pagination"]["totalRows"] == total
        assert {one["role"] for one in page["rows"]} <= {"owner", "viewer"}


async def test_signing_in_reads_few_memberships_of_many(world: World) -> None:
    person = await create_person(world.services, "ada@example.com", PASSWORD)
    for number in range(MAX_ACCOUNTS + 50):
        account = await world.services.accounts.accounts.create(f"Account {number}")
        await world.services.accounts.members.add(account.id, person.id, Role.VIEWER)
    async with profiled(world.services.stores.mongodb.database) as rows:
        assert (await sign_in(world.client, "ada@example.com")).status == 200
    members = [row for row in rows if row["ns"].endswith(".members") and row["op"] == "query"]
    assert sum(row["nreturned"] for row in members) <= MAX_ACCOUNTS + 5

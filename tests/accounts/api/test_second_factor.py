"""People switch their second factor on and off, sign in with it, and change their name."""

from typing import Any

import orjson
import pyotp
import pytest

from tests.accounts.api.signing_in import FROM_CONSOLE, another_browser, audited, secret_in
from tests.web.client import Client, Response
from tests.web.fixtures import Logged
from tests.web.person import PASSWORD, PersonClient, have_totp, stored_again, totp_code
from tests.web.world import World
from tracker.access.roles import Role
from tracker.accounts.accounts import Account
from tracker.accounts.sign_in_limit import FOR_EMAIL
from tracker.service.services import Services

TOTP = "/api/session/totp"


async def sign_in(client: Client, person: PersonClient, code: str | None) -> Response:
    body = {"email": person.person.email, "password": PASSWORD} | ({"code": code} if code else {})
    return await client.request("POST", "/api/sign-in", FROM_CONSOLE, orjson.dumps(body))


async def test_a_second_factor_is_switched_on_used_and_switched_off(world: World) -> None:
    person = await world.person(Role.VIEWER, PASSWORD)
    other = await another_browser(world.services, world.client, person, world.account)
    setup = await person.send("POST", TOTP, {"password": PASSWORD})
    assert (setup.status, setup.headers["Cache-Control"]) == (200, "no-store")
    secret = setup.json()["secret"]
    assert f"secret={secret}" in setup.json()["uri"]
    assert "issuer=tracker.test" in setup.json()["uri"]
    assert setup.json()["qr_svg"].startswith('<svg xmlns="http://www.w3.org/2000/svg"')
    # Until the first code nothing has changed.
    assert (await sign_in(world.client, person, None)).status == 200
    code = pyotp.TOTP(secret).now()
    switched = await person.send("PATCH", TOTP, {"code": code})
    codes = switched.json()["recovery_codes"]
    assert (switched.status, len(set(codes))) == (200, 10)
    for one in (person, other):
        assert (await one.send("GET", "/api/session")).status == 401
    person.secret = secret_in(switched)
    assert (await person.send("GET", "/api/session")).json()["person"]["totp"] is True
    for sent, error in (
        (None, "code: required"),
        ("000000x", "code: wrong, or used already"),
        (code, "code: wrong, or used already"),
    ):
        refused = await sign_in(world.client, person, sent)
        assert (refused.status, refused.error) == (401, error)
        assert refused.headers["X-Error-Code"] == "code_required"
        assert "Set-Cookie" not in refused.headers
    assert (await sign_in(world.client, person, codes[3].upper())).json()["person"]["totp"] is True
    assert (await sign_in(world.client, person, codes[3])).status == 401
    off = await person.send("POST", f"{TOTP}/disable", {"password": PASSWORD, "code": codes[4]})
    assert (off.status, off.json()["person"]["totp"]) == (200, False)
    assert (await person.send("GET", "/api/session")).status == 401
    assert (await sign_in(world.client, person, None)).status == 200
    actions = await audited(world.services, world.account)
    assert [one for one in actions if one != "session.signed_in"] == [
        *("totp.enabled", "totp.refused", "totp.refused"),
        *("recovery_code.used", "totp.refused", "recovery_code.used", "totp.disabled"),
    ]
    for name in await world.services.stores.mongodb.database.list_collection_names():
        stored = str(await world.services.stores.mongodb[name].find().to_list(None))
        assert not any(one in stored for one in (secret, *codes)), name


async def test_switching_it_on_takes_the_password_and_then_a_code(world: World) -> None:
    person = await world.person(Role.OWNER, PASSWORD)

    async def refused(method: str, path: str, body: dict[str, str]) -> str:
        answer = await person.send(method, path, body)
        assert (answer.status, "Set-Cookie" in answer.headers) == (400, False)
        return answer.error

    right, code = {"password": PASSWORD}, {"code": "000000x"}
    assert await refused("POST", f"{TOTP}/disable", right | code) == "totp: is off already"
    assert await refused("POST", TOTP, {"password": "wrong horse battery"}) == "password: wrong"
    assert await refused("PATCH", TOTP, code) == "totp: begin with the password"
    assert (await person.send("POST", TOTP, right)).status == 200
    assert await refused("PATCH", TOTP, code) == "code: wrong"
    await have_totp(world.services, person.person.id)
    for method, body in (("POST", right), ("PATCH", {"code": totp_code()})):
        assert await refused(method, TOTP, body) == "totp: is on already; switch it off first"


async def test_switching_it_off_takes_the_password_and_a_code_that_was_not_used(
    world: World,
) -> None:
    person = await world.person(Role.OWNER, PASSWORD)
    recovery = "abcd-efgh-ijkl-mnop"
    await have_totp(world.services, person.person.id, recovery)
    seen = totp_code()
    assert (await sign_in(world.client, person, seen)).status == 200
    for fields, error in (
        ({"password": PASSWORD}, "code: required"),
        ({"password": "wrong horse battery", "code": recovery}, "password: wrong"),
        ({"password": PASSWORD, "code": "000000x"}, "code: wrong, or used already"),
        ({"password": PASSWORD, "code": ""}, "code: wrong, or used already"),
        ({"password": PASSWORD, "code": seen}, "code: wrong, or used already"),
        ({"password": PASSWORD, "code": "1" * 65}, "code: must be text of at most 64 characters"),
    ):
        refused = await person.send("POST", f"{TOTP}/disable", fields)
        assert (refused.status, refused.error) == (400, error)
        assert "Set-Cookie" not in refused.headers
    found = await stored_again(world.services, person.person)
    assert (found.has_totp, len(found.recovery_codes)) == (True, 1)
    fields = {"password": PASSWORD, "code": recovery}
    assert (await person.send("POST", f"{TOTP}/disable", fields)).status == 200


async def test_a_stolen_session_with_the_password_does_not_help_to_guess_the_code(
    world: World,
) -> None:
    person = await world.person(Role.OWNER, PASSWORD)
    await have_totp(world.services, person.person.id)
    answers = []
    for number in range(FOR_EMAIL + 1):
        fields = {"password": PASSWORD, "code": f"guess{number}"}
        answers.append(await person.send("POST", f"{TOTP}/disable", fields))
    assert [one.status for one in answers] == [400] * FOR_EMAIL + [429]
    assert await audited(world.services, world.account) == ["totp.refused"] * FOR_EMAIL


async def test_a_right_password_alone_gives_no_guesses_of_the_code_back(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tracker.accounts.sign_in.REFUSED_AFTER_SECONDS", 0.0)
    person = await world.person(Role.OWNER, PASSWORD)
    assert (await sign_in(world.client, person, None)).status == 200  # the network is known now
    await have_totp(world.services, person.person.id)
    guesses = 0
    for _ in range(2 * FOR_EMAIL):
        await person.send("POST", TOTP, {"password": PASSWORD})
        fields = {"password": PASSWORD, "code": "000000x"}
        guesses += (await person.send("POST", f"{TOTP}/disable", fields)).status == 400
    assert guesses <= FOR_EMAIL


async def test_every_account_of_a_person_sees_a_new_password_and_second_factor(
    world: World,
) -> None:
    person = await world.person(Role.VIEWER, PASSWORD)
    await world.services.accounts.members.add(world.other_account.id, person.person.id, Role.VIEWER)
    body = {"current_password": PASSWORD, "new_password": "staple battery horse correct"}
    person.secret = secret_in(await person.send("POST", "/api/session/password", body))
    setup = (await person.send("POST", TOTP, {"password": body["new_password"]})).json()
    await person.send("PATCH", TOTP, {"code": pyotp.TOTP(setup["secret"]).now()})
    entries = [await _entries(world.services, one) for one in (world.account, world.other_account)]
    assert entries[0] == entries[1]
    assert [action for action, *_ in entries[0]] == ["password.changed", "totp.enabled"]
    assert entries[0][1][1] == {"recovery_codes": {"before": 0, "after": 10}}
    assert {actor for *_, actor in entries[0]} == {person.person.id}


async def _entries(services: Services, account: Account) -> list[tuple[str, Any, Any]]:
    """Return action, changes and actor of the account's entries, oldest first."""
    entries = services.stores.mongodb["audit"].find({"account_id": account.id}).sort("_id", 1)
    return [(one["action"], one["changes"], one["actor"]["id"]) async for one in entries]


async def test_a_person_changes_their_name(world: World) -> None:
    person = await world.person(Role.VIEWER)
    changed = await person.send("PATCH", "/api/session/person", {"name": " Ada Lovelace "})
    assert (changed.status, changed.json()["person"]["name"]) == (200, "Ada Lovelace")
    for body in ({}, {"name": "Ada Lovelace"}):
        same = await person.send("PATCH", "/api/session/person", body)
        assert same.json()["person"]["name"] == "Ada Lovelace"
    refused = await person.send("PATCH", "/api/session/person", {"name": " "})
    assert refused.error == "name: 1 to 255 characters, no control characters"
    [entry], _ = await world.services.access.audit.page(world.account.id, 1, 10)
    assert (entry.action, entry.target.kind) == ("person.changed", "person")
    assert (entry.changes["name"].before, entry.changes["name"].after) == ("Ada", "Ada Lovelace")


async def test_a_refusal_is_logged_without_the_e_mail(world: World, logged: Logged) -> None:
    person = await world.person(Role.VIEWER, PASSWORD)
    await have_totp(world.services, person.person.id)
    email = person.person.email
    for address, password in ((email, "wrong horse"), ("eve@example.com", "x"), (email, PASSWORD)):
        body = {"email": address, "password": password, "code": "000000x"}
        await world.client.request("POST", "/api/sign-in", FROM_CONSOLE, orjson.dumps(body))
    records = [one for one in logged() if one["event"] == "sign-in refused"]
    assert [(one["why"], one["person_id"], one["network"]) for one in records] == [
        ("password", str(person.person.id), "127.0.0.0/24"),
        ("password", None, "127.0.0.0/24"),
        ("code", str(person.person.id), "127.0.0.0/24"),
    ]
    assert "@" not in str(records)
    assert "horse" not in str(records)

"""People see and end their sessions, switch accounts, and change their password."""

from datetime import timedelta

from tests.accounts.api.signing_in import another_browser, audited, secret_in, sign_in
from tests.web.person import PASSWORD
from tests.web.world import World
from tracker.access import sessions
from tracker.access.roles import Role
from tracker.accounts.sign_in_limit import FOR_EMAIL
from tracker.clock import now

NEW_PASSWORD = "staple battery horse correct"


async def test_a_person_sees_the_sessions_of_all_their_accounts_without_secrets(
    world: World,
) -> None:
    person = await world.person()
    await world.person()  # another person's is not shown
    elsewhere = await another_browser(world.services, world.client, person, world.other_account)
    response = await person.send("GET", "/api/sessions")
    rows = response.json()["rows"]
    assert [one["current"] for one in rows] in ([True, False], [False, True])
    for one in rows:
        assert list(one) == [
            *("id", "created_at", "last_seen_at", "address", "user_agent", "current"),
        ]
        assert (one["address"], one["user_agent"]) == ("203.0.113.0/24", "a browser")
    for secret in (person.secret, elsewhere.secret):
        assert secret.encode() not in response.body


async def test_a_person_ends_a_session_in_another_browser(world: World) -> None:
    person = await world.person()
    await world.services.accounts.members.add(world.other_account.id, person.person.id, Role.VIEWER)
    lost = await another_browser(world.services, world.client, person, world.other_account)
    assert (await lost.send("GET", "/api/session")).status == 200
    rows = (await person.send("GET", "/api/sessions")).json()["rows"]
    [other] = [one["id"] for one in rows if not one["current"]]
    ended = await person.send("DELETE", f"/api/sessions/{other}")
    assert (ended.json(), "Set-Cookie" in ended.headers) == ({"success": True}, False)
    assert (await lost.send("GET", "/api/session")).status == 401
    assert (await person.send("GET", "/api/session")).status == 200
    assert (await person.send("DELETE", f"/api/sessions/{other}")).status == 404
    # The log of the account that the session was for.
    assert await audited(world.services, world.other_account) == ["session.signed_out"]
    assert await audited(world.services, world.account) == []


async def test_ending_the_session_of_the_request_signs_out(world: World) -> None:
    person = await world.person()
    [own] = (await person.send("GET", "/api/sessions")).json()["rows"]
    ended = await person.send("DELETE", f"/api/sessions/{own['id']}")
    assert "Max-Age=0" in ended.headers["Set-Cookie"]
    assert "Clear-Site-Data" in ended.headers
    assert (await person.send("GET", "/api/session")).status == 401


async def test_a_person_ends_all_other_sessions(world: World) -> None:
    person, stranger = [await world.person() for _ in range(2)]
    others = [
        await another_browser(world.services, world.client, person, world.account) for _ in range(2)
    ]
    assert (await person.send("DELETE", "/api/sessions")).json() == {"success": True}
    for one in others:
        assert (await one.send("GET", "/api/session")).status == 401
    for one in (person, stranger):
        assert (await one.send("GET", "/api/session")).status == 200
    assert await audited(world.services, world.account) == ["session.signed_out"] * 2


async def test_switching_accounts_is_logged_in_both_and_prolongs_nothing(world: World) -> None:
    person = await world.person()
    await world.services.accounts.members.add(world.other_account.id, person.person.id, Role.VIEWER)
    long_ago = now() - sessions.LIFETIME + timedelta(days=1)
    await world.services.stores.mongodb["sessions"].update_many(
        {}, {"$set": {"created_at": long_ago}}
    )
    await person.send("PATCH", "/api/session", {"accountId": str(world.other_account.id)})
    [session] = await world.services.access.sessions.of_person(person.person.id)
    assert session.expires_at == long_ago + sessions.LIFETIME
    assert await audited(world.services, world.account) == ["session.signed_out"]
    assert await audited(world.services, world.other_account) == ["session.signed_in"]


async def test_a_new_password_ends_every_session_and_replaces_the_own(world: World) -> None:
    person = await world.person(Role.VIEWER, PASSWORD)
    thief = await another_browser(world.services, world.client, person, world.account)
    body = {"current_password": PASSWORD, "new_password": NEW_PASSWORD}
    changed = await person.send("POST", "/api/session/password", body)
    assert (changed.status, changed.json()["person"]["id"]) == (200, str(person.person.id))
    for one in (person, thief):
        assert (await one.send("GET", "/api/session")).status == 401
    person.secret = secret_in(changed)
    assert (await person.send("GET", "/api/session")).status == 200
    assert (await sign_in(world.client, person.person.email, PASSWORD)).status == 401
    assert (await sign_in(world.client, person.person.email, NEW_PASSWORD)).status == 200
    assert await audited(world.services, world.account) == ["password.changed", "session.signed_in"]
    stored = str(await world.services.stores.mongodb["audit"].find().to_list(None))
    assert PASSWORD not in stored
    assert NEW_PASSWORD not in stored


async def test_a_new_password_is_checked_and_needs_the_current_one(world: World) -> None:
    person = await world.person(Role.OWNER, PASSWORD)
    for current, new, error in (
        (PASSWORD, "too short", "new_password: 12 to 256 characters"),
        ("wrong horse battery", NEW_PASSWORD, "current_password: wrong"),
    ):
        body = {"current_password": current, "new_password": new}
        refused = await person.send("POST", "/api/session/password", body)
        assert (refused.status, refused.error) == (400, error)
        assert "Set-Cookie" not in refused.headers
    assert (await person.send("GET", "/api/session")).status == 200
    assert await audited(world.services, world.account) == []


async def test_a_stolen_session_does_not_help_to_guess_the_password(world: World) -> None:
    person = await world.person(Role.OWNER, PASSWORD)
    answers = []
    for number in range(FOR_EMAIL + 1):
        body = {"current_password": f"guess number {number}", "new_password": NEW_PASSWORD}
        answers.append(await person.send("POST", "/api/session/password", body))
    assert [one.status for one in answers] == [400] * FOR_EMAIL + [429]
    assert int(answers[-1].headers["Retry-After"]) > 60

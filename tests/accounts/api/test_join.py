"""Joining over HTTP: from an invitation's link to a session, and what strangers learn."""

import re
from typing import Any

import orjson

from tests.accounts.api.signing_in import FROM_CONSOLE, secret_in
from tests.web.client import Client, Response
from tests.web.each import each_case
from tests.web.fixtures import Logged
from tests.web.person import PASSWORD, create_person, have_totp, totp_code
from tests.web.world import World
from tracker.access.principal import Author
from tracker.access.roles import Role
from tracker.accounts.accounts import Account
from tracker.clock import now
from tracker.http.access_log import AccessLog
from tracker.service.services import Services

GRACE = "grace@example.com"
UNKNOWN = "A" * 43


async def post(client: Client, path: str, headers: Any = None, **fields: Any) -> Response:
    sent = {name: one for name, one in {**FROM_CONSOLE, **(headers or {})}.items() if one}
    return await client.request("POST", path, sent, orjson.dumps(fields))


async def join(client: Client, token: str, **fields: Any) -> Response:
    return await post(client, "/api/join", token=token, **{"password": PASSWORD} | fields)


async def preview(client: Client, token: str) -> Response:
    return await post(client, "/api/join/preview", token=token)


async def invited(services: Services, account: Account, email: str | None = GRACE) -> str:
    return (
        await services.accounts.membership.invite(Author.operator(account.id), email, Role.EDITOR)
    )[1]


async def test_the_holder_of_a_link_sees_what_it_is_for_joins_and_is_signed_in(
    world: World,
) -> None:
    token = await invited(world.services, world.account)
    seen = await preview(world.client, token)
    assert (seen.status, seen.headers["Cache-Control"]) == (200, "no-store")
    assert seen.json() == {
        "kind": "invitation",
        "email": GRACE,
        "account": {"id": str(world.account.id), "name": "Acme"},
        "role": "editor",
        "has_password": False,
        "needs_code": False,
        "is_first": False,
    }
    response = await join(world.client, token, name=" Grace ")
    assert (response.status, response.headers["Cache-Control"]) == (200, "no-store")
    assert response.json()["person"]["name"] == "Grace"
    assert (response.json()["account"]["name"], response.json()["role"]) == ("Acme", "editor")
    cookie: dict[str, str | bytes] = {"Cookie": f"session={secret_in(response)}", **FROM_CONSOLE}
    shown = await world.client.request("GET", "/api/session", cookie)
    assert shown.json() == response.json()
    listed = await world.client.request("GET", f"/api/members?accountId={world.account.id}", cookie)
    [row] = listed.json()["rows"]
    assert (row["email"], row["name"], row["role"]) == (GRACE, "Grace", "editor")


async def test_an_invitation_tells_nothing_of_a_second_factor_before_the_password(
    world: World,
) -> None:
    emails = ("grace@example.com", "marie@example.com")
    people = [await create_person(world.services, email, PASSWORD) for email in emails]
    await have_totp(world.services, people[0].id)
    tokens = [await invited(world.services, world.account, email) for email in emails]
    with_totp, without = [(await preview(world.client, token)).json() for token in tokens]
    assert with_totp == without | {"email": emails[0]}
    assert (with_totp["has_password"], with_totp["needs_code"]) == (True, False)
    # Without the password a code tells nothing either.
    for code in ({}, {"code": "000000x"}, {"code": totp_code()}):
        answers = [
            await join(world.client, token, password="a wrong password", **code) for token in tokens
        ]
        assert {(one.status, one.body, one.headers["X-Error-Code"]) for one in answers} == {
            (401, b'{"error":"e-mail or password: wrong"}', "unauthorized"),
        }
    asked = await join(world.client, tokens[0])
    assert (asked.status, asked.error) == (401, "code: required")
    assert asked.headers["X-Error-Code"] == "code_required"
    assert (await join(world.client, tokens[0], code=totp_code())).status == 200
    assert (await join(world.client, tokens[1])).status == 200


async def test_every_token_that_cannot_be_used_gets_one_answer(world: World) -> None:
    used, withdrawn, expired = [
        await invited(world.services, world.account, f"{number}@example.com") for number in range(3)
    ]
    assert (await join(world.client, used, name="Grace")).status == 200
    invitation = await world.services.access.invitations.find_open(withdrawn)
    await world.services.accounts.membership.withdraw(Author.operator(world.account.id), invitation)
    invitation = await world.services.access.invitations.find_open(expired)
    past = {"$set": {"expires_at": invitation.created_at}}
    await world.services.stores.mongodb["invitations"].update_one({"_id": invitation.id}, past)
    answers = set()
    for token in (used, withdrawn, expired, UNKNOWN, "", "\u00e9"):
        for response in (
            await preview(world.client, token),
            await join(world.client, token, name="Eve"),
        ):
            answers.add((response.status, response.headers["X-Error-Code"], response.body))
    assert answers == {
        (404, "link_expired", b'{"error":"link: expired, used or withdrawn"}'),
    }
    assert await world.services.stores.mongodb["people"].count_documents({}) == 1


@each_case(
    "fields, error",
    [
        ({}, "name: required"),
        ({"name": " "}, "name: 1 to 255 characters"),
        ({"name": "a\nb"}, "name: 1 to 255 characters, no control characters"),
        ({"name": "Grace", "password": "x" * 11}, "password: 12 to 256 characters"),
        ({"name": "Grace", "email": "eve@example.com"}, "email: the invitation is for another"),
    ],
)
async def test_a_wrong_field_is_named_and_the_link_stays_usable(
    world: World, fields: dict[str, Any], error: str
) -> None:
    token = await invited(world.services, world.account)
    response = await join(world.client, token, **fields)
    assert response.status == 400
    assert response.error.startswith(error)
    await world.services.access.invitations.find_open(token)


async def test_no_log_has_the_token_or_the_password(world: World, logged: Logged) -> None:
    token = await invited(world.services, world.account)
    world.services.web = world.services.web._replace(access_log=AccessLog(1))
    await preview(world.client, token)
    await join(world.client, token, name="Grace")
    await join(world.client, token, name="Grace")
    lines = orjson.dumps(logged()).decode()
    assert "/api/join" in lines
    assert not re.search(f"{token}|{PASSWORD}", lines)


async def test_the_first_owner_alone_chooses_zone_and_currency_from_the_first_minute_on(
    world: World,
) -> None:
    accounts = world.services.accounts
    account = await accounts.accounts.create("New")
    author = Author.operator(account.id)
    chosen = {"time_zone": "Asia/Tokyo", "currency": "jpy", "name": "Grace"}
    _, editor = await accounts.membership.invite(author, "ed@example.com", Role.EDITOR)
    assert (await join(world.client, editor, **chosen)).status == 400
    _, token = await accounts.membership.invite(author, GRACE, Role.OWNER)
    assert (await preview(world.client, token)).json()["is_first"]
    refused = await join(world.client, token, **chosen | {"time_zone": "Mars"})
    assert refused.error.startswith("time_zone: must be ")
    session = (await join(world.client, token, **chosen)).json()
    assert (session["account"]["time_zone"], session["account"]["currency"]) == (
        "Asia/Tokyo",
        "JPY",
    )
    assert (await accounts.time_zones.find(account.id)).change_after(now()) is None
    _, second = await accounts.membership.invite(author, "second@example.com", Role.OWNER)
    assert not (await preview(world.client, second)).json()["is_first"]
    assert (await join(world.client, second, **chosen)).error == (
        "time_zone, currency: only for an account without an owner"
    )

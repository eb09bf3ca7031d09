"""Joining over HTTP: from an invitation's link to a session, and what strangers learn."""

import re
from typing import Any

import orjson
import pytest

from tests.accounts.api.signing_in import CROSS_SITE, FROM_CONSOLE, secret_in
from tests.web.client import Client, Response
from tests.web.fixtures import Logged
from tests.web.person import PASSWORD, create_person, have_totp, totp_code
from tracker.access.principal import Author
from tracker.access.roles import Role
from tracker.accounts.accounts import Account
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
    services: Services, client: Client, account: Account
) -> None:
    token = await invited(services, account)
    seen = await preview(client, token)
    assert (seen.status, seen.headers["Cache-Control"]) == (200, "no-store")
    assert seen.json() == {
        "kind": "invitation",
        "email": GRACE,
        "account": {"id": str(account.id), "name": "Acme"},
        "role": "editor",
        "has_password": False,
        "needs_code": False,
    }
    response = await join(client, token, name=" Grace ")
    assert (response.status, response.headers["Cache-Control"]) == (200, "no-store")
    assert response.json()["person"]["name"] == "Grace"
    assert (response.json()["account"]["name"], response.json()["role"]) == ("Acme", "editor")
    cookie: dict[str, str | bytes] = {"Cookie": f"session={secret_in(response)}", **FROM_CONSOLE}
    shown = await client.request("GET", "/api/session", cookie)
    assert shown.json() == response.json()
    listed = await client.request("GET", f"/api/members?accountId={account.id}", cookie)
    [row] = listed.json()["rows"]
    assert (row["email"], row["name"], row["role"]) == (GRACE, "Grace", "editor")


async def test_a_person_who_exists_is_asked_for_their_password(
    services: Services, client: Client, account: Account
) -> None:
    await create_person(services, GRACE, PASSWORD)
    token = await invited(services, account)
    assert (await preview(client, token)).json()["has_password"] is True
    wrong = await join(client, token, password="a wrong password")
    assert (wrong.status, wrong.error) == (401, "e-mail or password: wrong")
    assert "Set-Cookie" not in wrong.headers
    assert (await join(client, token)).status == 200


async def test_an_invitation_tells_nothing_of_a_second_factor_before_the_password(
    services: Services, client: Client, account: Account
) -> None:
    emails = ("grace@example.com", "marie@example.com")
    people = [await create_person(services, email, PASSWORD) for email in emails]
    await have_totp(services, people[0].id)
    tokens = [await invited(services, account, email) for email in emails]
    with_totp, without = [(await preview(client, token)).json() for token in tokens]
    assert with_totp == without | {"email": emails[0]}
    assert (with_totp["has_password"], with_totp["needs_code"]) == (True, False)
    # Without the password a code tells nothing either.
    for code in ({}, {"code": "000000x"}, {"code": totp_code()}):
        answers = [
            await join(client, token, password="a wrong password", **code) for token in tokens
        ]
        assert {(one.status, one.body, one.headers["X-Error-Code"]) for one in answers} == {
            (401, b'{"error":"e-mail or password: wrong"}', "unauthorized"),
        }
    asked = await join(client, tokens[0])
    assert (asked.status, asked.error) == (401, "code: required")
    assert asked.headers["X-Error-Code"] == "code_required"
    assert (await join(client, tokens[0], code=totp_code())).status == 200
    assert (await join(client, tokens[1])).status == 200


async def test_a_password_reset_signs_in_with_the_new_password(
    services: Services, client: Client, account: Account
) -> None:
    person = await create_person(services, GRACE, "the old password")
    await services.accounts.members.add(account.id, person.id, Role.VIEWER)
    _, token = await services.accounts.membership.reset_password_as_operator(person)
    seen = (await preview(client, token)).json()
    assert seen == {
        "kind": "password_reset",
        "email": GRACE,
        "account": None,
        "role": None,
        "has_password": True,
        "needs_code": False,
    }
    assert (await join(client, token)).json()["person"]["email"] == GRACE
    signed_in = await post(client, "/api/sign-in", email=GRACE, password=PASSWORD)
    assert signed_in.status == 200


async def test_every_token_that_cannot_be_used_gets_one_answer(
    services: Services, client: Client, account: Account
) -> None:
    used, withdrawn, expired = [
        await invited(services, account, f"{number}@example.com") for number in range(3)
    ]
    assert (await join(client, used, name="Grace")).status == 200
    invitation = await services.access.invitations.find_open(withdrawn)
    await services.accounts.membership.withdraw(Author.operator(account.id), invitation)
    invitation = await services.access.invitations.find_open(expired)
    past = {"$set": {"expires_at": invitation.created_at}}
    await services.stores.mongodb["invitations"].update_one({"_id": invitation.id}, past)
    answers = set()
    for token in (used, withdrawn, expired, UNKNOWN, "", "\u00e9"):
        for response in (await preview(client, token), await join(client, token, name="Eve")):
            answers.add((response.status, response.headers["X-Error-Code"], response.body))
    assert answers == {
        (404, "link_expired", b'{"error":"link: expired, used or withdrawn"}'),
    }
    assert await services.stores.mongodb["people"].count_documents({}) == 1


@pytest.mark.parametrize("headers", CROSS_SITE.values(), ids=CROSS_SITE)
async def test_no_page_of_another_site_lets_a_visitor_join(
    services: Services, client: Client, account: Account, headers: dict[str, str]
) -> None:
    token = await invited(services, account)
    for path, fields in (
        ("/api/join/preview", {}),
        ("/api/join", {"password": PASSWORD, "name": "Eve"}),
    ):
        response = await post(client, path, headers, token=token, **fields)
        assert (response.status, "Set-Cookie" in response.headers) == (403, False)
    await services.access.invitations.find_open(token)


@pytest.mark.parametrize("kind", ["text/plain", "application/x-www-form-urlencoded", ""])
async def test_a_form_cannot_join(
    services: Services, client: Client, account: Account, kind: str
) -> None:
    token = await invited(services, account)
    for path in ("/api/join/preview", "/api/join"):
        response = await post(client, path, {"Content_Type": kind}, token=token)
        assert (response.status, response.error) == (400, "Content-Type: must be application/json")


@pytest.mark.parametrize(
    ("fields", "error"),
    [
        ({}, "name: required"),
        ({"name": " "}, "name: 1 to 255 characters"),
        ({"name": "a\nb"}, "name: 1 to 255 characters, no control characters"),
        ({"name": 1}, "name: must be text"),
        ({"name": "Grace", "password": "x" * 11}, "password: 12 to 256 characters"),
        ({"name": "Grace", "email": "eve@example.com"}, "email: the invitation is for another"),
        ({"name": "Grace", "role": "owner"}, "role: unknown field"),
        ({"name": "Grace", "account_id": "x"}, "account_id: must be a UUID"),
    ],
    ids=str,
)
async def test_a_wrong_field_is_named_and_the_link_stays_usable(
    services: Services, client: Client, account: Account, fields: dict[str, Any], error: str
) -> None:
    token = await invited(services, account)
    response = await join(client, token, **fields)
    assert response.status == 400
    assert response.error.startswith(error)
    await services.access.invitations.find_open(token)


async def test_an_address_that_tries_links_is_slowed_down(
    services: Services, client: Client
) -> None:
    for _ in range(services.settings.rate_limit_ip_per_minute):
        await services.access.rate_limiter.count("127.0.0.1", None)
    for response in (await preview(client, UNKNOWN), await join(client, UNKNOWN)):
        assert response.status == 429
        assert int(response.headers["Retry-After"]) > 0


async def test_no_log_has_the_token_or_the_password(
    services: Services, client: Client, account: Account, logged: Logged
) -> None:
    token = await invited(services, account)
    services.web = services.web._replace(access_log=AccessLog(1))
    await preview(client, token)
    await join(client, token, name="Grace")
    await join(client, token, name="Grace")
    lines = orjson.dumps(logged()).decode()
    assert "/api/join" in lines
    assert not re.search(f"{token}|{PASSWORD}", lines)

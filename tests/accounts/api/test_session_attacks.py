"""Attacks on sessions: cross-site requests, fixation, guessing, other hosts."""

import pytest
from tornado.httputil import HTTPHeaders

from tests.accounts.api.signing_in import CROSS_SITE, FROM_CONSOLE, secret_in, sign_in
from tests.web.client import Client
from tests.web.fixtures import Logged
from tests.web.person import BROWSER, PASSWORD, PersonClient, create_person
from tests.web.world import World
from tracker.access.rate_limit import LimitScope
from tracker.access.roles import Role
from tracker.access.session_cookie import SessionCookie
from tracker.public_url import PublicUrl
from tracker.service.services import Services


@pytest.mark.parametrize("headers", CROSS_SITE.values(), ids=CROSS_SITE)
@pytest.mark.parametrize("method", ["GET", "POST"])
async def test_a_cookie_counts_only_from_pages_of_the_console(
    world: World, method: str, headers: dict[str, str | bytes]
) -> None:
    person = await world.person()
    body = {"accountId": str(world.account.id), "name": "Forged"} if method == "POST" else None
    path = "/api/tags" if body else f"/api/tags?accountId={world.account.id}"
    response = await person.send(method, path, body, headers)
    assert (response.status, response.error.startswith("session: accepted only")) == (403, True)
    assert await world.services.stores.mongodb["tags"].count_documents({}) == 0
    assert (await person.send(method, path, body)).status == 200
    own_origin: dict[str, str | bytes] = {"Sec_Fetch_Site": "", "Origin": "http://tracker.test"}
    assert (await person.send("GET", "/api/session", None, own_origin)).status == 200


@pytest.mark.parametrize(
    "kind",
    [
        "text/plain",
        "application/x-www-form-urlencoded",
        "multipart/form-data; boundary=x",
        "text/plain; application/json",
        "application/jsonp",
        "",
    ],
)
async def test_what_a_form_can_send_changes_nothing(world: World, kind: str) -> None:
    person = await world.person()
    body = {"accountId": str(world.account.id), "name": "Forged"}
    response = await person.send("POST", "/api/tags", body, {"Content_Type": kind})
    assert (response.status, response.error) == (400, "Content-Type: must be application/json")
    assert (await person.send("DELETE", "/api/session", None, {"Content_Type": kind})).status == 400
    assert await world.services.stores.mongodb["tags"].count_documents({}) == 0


async def test_a_session_that_existed_before_signing_in_is_never_adopted(world: World) -> None:
    person = await create_person(world.services, "ada@example.com", PASSWORD)
    await world.services.accounts.members.add(world.account.id, person.id, Role.OWNER)
    planted = "A" * 43
    response = await sign_in(world.client, "ada@example.com", Cookie=f"session={planted}")
    assert secret_in(response) != planted
    cookie: dict[str, str | bytes] = {"Cookie": f"session={planted}", **FROM_CONSOLE}
    assert (await world.client.request("GET", "/api/session", cookie)).status == 401


async def test_an_unknown_e_mail_gets_the_answer_of_a_wrong_password(world: World) -> None:
    person = await create_person(world.services, "ada@example.com", PASSWORD)
    await world.services.accounts.members.add(world.account.id, person.id, Role.OWNER)
    known = await sign_in(world.client, "ada@example.com", "wrong horse battery")
    unknown = await sign_in(world.client, "eve@example.com", "wrong horse battery")
    assert (known.status, known.body) == (unknown.status, unknown.body)
    assert known.error == "e-mail or password: wrong"
    assert dict(known.headers) | {"Date": "", "X-Request-Id": ""} == dict(unknown.headers) | {
        "Date": "",
        "X-Request-Id": "",
    }


async def test_a_wrong_cookie_counts_for_the_address(client: Client, services: Services) -> None:
    cookie: dict[str, str | bytes] = {"Cookie": "session=" + "A" * 43, **FROM_CONSOLE}
    response = await client.request("GET", "/api/session", cookie)
    assert response.status == 401
    assert response.headers["RateLimit-Policy"].startswith('"ip"')
    assert response.headers["Cache-Control"] == "no-store"


@pytest.mark.parametrize(
    "cookie", ["session=", "session", "other=1", "session=a; session=b", "é=ü;;"]
)
async def test_a_strange_cookie_is_no_session(client: Client, cookie: str) -> None:
    sent: dict[str, str | bytes] = {"Cookie": cookie.encode(), **FROM_CONSOLE}
    assert (await client.request("GET", "/api/session", sent)).status == 401


@pytest.mark.parametrize(
    "base_url",
    [
        "http://tracker.test",
        "http://Tracker.Test/",
        "http://tracker.test:80",
        "HTTP://tracker.test",
    ],
)
def test_the_origin_is_that_of_browsers_however_base_url_is_written(base_url: str) -> None:
    cookie = SessionCookie(PublicUrl(base_url))
    sent = {"Host": "tracker.test", "Origin": "http://tracker.test"}
    assert cookie.is_same_origin(HTTPHeaders(sent))
    for name, other in (
        ("Origin", "http://tracker.test:8080"),
        ("Origin", "https://tracker.test"),
        ("Origin", "http://tracker.test.evil.example"),
        ("Host", "tracker.test:8080"),
        ("Host", "tracker.test.evil.example"),
    ):
        assert not cookie.is_same_origin(HTTPHeaders({**sent, name: other}))


async def test_with_https_only_the_cookie_that_no_sibling_domain_can_set_counts(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    person = await world.person()
    world.services.web = world.services.web._replace(public_url=PublicUrl("https://tracker.test"))
    world.services.accounts = world.services.accounts._replace(
        public_url=world.services.web.public_url
    )
    assert (await person.send("GET", "/api/session")).status == 401
    person.cookie = "__Host-session"
    assert (await person.send("GET", "/api/session")).status == 200
    out = await person.send("DELETE", "/api/session")
    assert out.headers["Set-Cookie"].startswith("__Host-session=; Path=/; Max-Age=0; ")


async def test_cookies_of_other_programs_do_not_hide_a_session(world: World) -> None:
    person = await world.person()
    strange = f'a="b; c; =d; {{"e": 1}}; xsession=f;session={person.secret}; g=h;'
    assert (await person.send("GET", "/api/session", None, {"Cookie": strange})).status == 200


@pytest.mark.parametrize("method", ["GET", "PUT"])
async def test_what_does_not_count_for_a_session_counts_for_the_address(
    world: World, method: str
) -> None:
    person = await world.person()
    known = await person.send("GET", "/api/session")
    assert known.headers["RateLimit-Policy"].startswith('"session"')
    headers: dict[str, str | bytes] = {"Sec_Fetch_Site": "cross-site"} if method == "GET" else {}
    refused = await person.send(method, "/api/session", None, headers)
    assert refused.status in (403, 405)
    assert refused.headers["RateLimit-Policy"].startswith('"ip"')
    assert refused.headers["Cache-Control"] == "no-store"


async def test_a_person_beyond_their_limit_waits_with_every_session_and_others_do_not(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        world.services.access.rate_limiter, "_session", LimitScope("session", 2, 60)
    )
    person, other = [await world.person() for _ in range(2)]
    _, secret = await world.services.access.sessions.start(
        person.person.id, world.account.id, BROWSER
    )
    elsewhere = PersonClient(world.client, secret, person.person)
    answers = [await one.send("GET", "/api/session") for one in (person, elsewhere, person)]
    assert [one.status for one in answers] == [200, 200, 429]
    assert answers[-1].error == "rate limit: 2 requests per minute for each person in an account"
    assert 1 <= int(answers[-1].headers["Retry-After"]) <= 60
    assert (await elsewhere.send("GET", "/api/session")).status == 429
    assert (await other.send("GET", "/api/session")).status == 200


async def test_switching_there_and_back_renews_no_limit(world: World) -> None:
    person = await world.person()
    await world.services.accounts.members.add(world.other_account.id, person.person.id, Role.OWNER)
    left = []
    for one in (world.account, world.other_account, world.account, world.other_account):
        answer = await person.send("PATCH", "/api/session", {"accountId": str(one.id)})
        left.append(answer.headers["X-RateLimit-Remaining"])
        if "Set-Cookie" in answer.headers:
            person.secret = secret_in(answer)
    assert left == ["599", "598", "599", "597"]


async def test_no_password_and_no_secret_is_logged_or_stored_and_no_e_mail_logged(
    world: World, logged: Logged
) -> None:
    person = await create_person(world.services, "ada@example.com", PASSWORD)
    await world.services.accounts.members.add(world.account.id, person.id, Role.OWNER)
    await sign_in(world.client, "ada@example.com", "wrong horse battery")
    secret = secret_in(await sign_in(world.client, "ada@example.com"))
    for name in await world.services.stores.mongodb.database.list_collection_names():
        stored = str(await world.services.stores.mongodb[name].find().to_list(None))
        assert not any(one in stored for one in (PASSWORD, secret)), name
    written = str(logged())
    assert "/api/sign-in" in written
    for one in ("ada@example.com", "horse battery", secret):
        assert one not in written

"""Protected links over HTTP: the page, its form, and the pass of a right password."""

import re
from datetime import timedelta
from typing import Any

import pytest

from tests.clicks.api.both_paths import BOTH_PATHS
from tests.clicks.protected import PASSWORD, create_protected, pass_of, type_in
from tests.factories import CHROME, LANDING, create_link
from tests.links.names.on_domains import proven
from tests.syntax.accept_fields import NAVIGATIONS
from tests.web.each import each_case
from tests.web.records import journaled_clicks
from tests.web.world import World
from tracker.clicks.redirects import protection
from tracker.clock import now

HTML = {"Accept": next(iter(NAVIGATIONS.values()))}
BOT = "Googlebot/2.1 (+http://www.google.com/bot.html)"
PAST = now() - timedelta(days=1)


@pytest.mark.parametrize("status", [302, 307])
@BOTH_PATHS
async def test_a_right_password_opens_the_link_and_gives_a_pass_for_its_path(
    world: World, target: str, status: int
) -> None:
    link = await create_protected(world.services, world.account.id, redirect_status=status)
    visited = f"{target}{'&' if '?' in target else '?'}a=1"
    asked = await world.client.get(visited)
    assert (asked.status, asked.error) == (401, "password: this link asks for one")
    assert asked.headers["X-Error-Code"] == "password_required"
    opened = await type_in(world.client, visited, PASSWORD)
    assert (opened.status, opened.body) == (303, b"")
    assert opened.headers["Location"].startswith(f"{LANDING}?a=1&click_id=")
    [click] = await journaled_clicks(world.services)
    assert (click.link_id, click.query) == (link.id.bytes, visited.partition("?")[2])
    assert re.fullmatch(
        rf"pass-{link.id.hex}=[0-9]{{10}}\.[0-9a-f]{{64}}; Path={target.partition('?')[0]}; "
        "Max-Age=3600; HttpOnly; SameSite=Lax",
        opened.headers["Set-Cookie"],
    )
    for method, recorded in (("GET", 2), ("HEAD", 2)):
        again = await world.client.request(method, visited, {"Cookie": f"a=b; {pass_of(opened)}"})
        assert (again.status, "Set-Cookie" in again.headers) == (status, False)
        assert len(await journaled_clicks(world.services)) == recorded


@each_case(
    "path, cookie_path",
    [
        ("/c/abc/", "/c/abc"),
        ("/c/abc;x", "/c/abc%3Bx"),
        ("/c/abc;%20Domain=example.com", "/c/abc%3B%20Domain=example.com"),
        ("/c/%61bc", "/c/%61bc"),
    ],
)
async def test_a_pass_keeps_to_the_path_as_it_was_visited(
    world: World, path: str, cookie_path: str
) -> None:
    if not await world.services.links.links.has_slug(None, "abc"):
        await create_protected(world.services, world.account.id)
    opened = await type_in(world.client, path, PASSWORD)
    assert opened.status == 303
    assert f"; Path={cookie_path}; Max-Age" in opened.headers["Set-Cookie"]


async def test_a_path_of_a_custom_domain_is_opened_as_often_as_its_limit_allows(
    world: World,
) -> None:
    domain = await proven(world.services, world.account.id)
    over = "https://example.com/over"
    settings = {"paths": ["a b/\u00e9"], "max_clicks": 2, "expired_url": over, "domain": domain}
    await create_protected(world.services, world.account.id, slug="abc", **settings)
    sent = {"Host": domain.domain_name, "User-Agent": "Mozilla/5.0 (X11; Linux) Firefox/130.0"}
    for path in ("/abc", "/abc/", "/abc,", "/a%20b/%C3%A9", "/a%20b%2f%c3%a9/"):
        assert (await world.client.get(path, **sent)).status == 401
        wrong = await type_in(world.client, path, "wrong", **sent)
        assert (wrong.status, "Set-Cookie" in wrong.headers) == (401, False)
    for path, leads_to in (
        ("/abc/", LANDING),
        ("/a%20b%2F%C3%A9/?a=1", LANDING),
        ("/abc", over),
        (f"/c/abc?d={domain.domain_name}", over),
    ):
        opened = await type_in(world.client, path, PASSWORD, **sent)
        assert opened.status == 303
        assert opened.headers["Location"].startswith(leads_to), path
        cookie_path = path.partition("?")[0].rstrip("/")
        assert f"; Path={cookie_path}; " in opened.headers["Set-Cookie"]
        assert opened.headers["Cache-Control"] == "no-store"
    for method in ("GET", "HEAD"):
        again = await world.client.request(method, "/abc", {**sent, "Cookie": pass_of(opened)})
        assert (again.status, again.headers["Location"]) == (302, over)
    assert len(await journaled_clicks(world.services)) == 2


async def test_over_https_a_pass_is_secure(world: World) -> None:
    await create_protected(world.services, world.account.id)
    world.services.web.public_url.scheme = "https"
    opened = await type_in(world.client, "/c/abc", PASSWORD)
    assert opened.headers["Set-Cookie"].endswith("; Secure")


@each_case(
    "method, password, agent, accept, text",
    [
        ("GET", "", "", "text/html", b"Type its password"),
        ("GET", "", "Googlebot/2.1 (+http://www.google.com/bot.html)", "text/html", b"Type its"),
        ("POST", "wrong", "", "text/html", b"The password is wrong"),
        ("POST", "", "", "text/html", b"Type its password"),
        ("HEAD", "", "", "text/html", b""),
        ("GET", "", "", "*/*", b'{"error":"password: this link asks for one"}'),
        ("POST", "wrong", "", "", b'{"error":"password: wrong"}'),
    ],
)
async def test_without_the_password_nothing_tells_where_a_link_leads(
    world: World, method: str, password: str, agent: str, accept: str, text: bytes
) -> None:
    if not await world.services.links.links.has_slug(None, "abc"):
        await create_protected(world.services, world.account.id, internal_name="Secret sale")
    headers = {"Accept": accept, "User-Agent": agent}
    if method == "POST":
        answer = await type_in(world.client, "/c/abc?a=%3Cb%3E", password, **headers)
    else:
        answer = await world.client.request(method, "/c/abc?a=%3Cb%3E", headers)
    assert (answer.status, text in answer.body) == (401, True)
    shown = answer.body + str(answer.headers).encode()
    assert not any(secret in shown for secret in (LANDING.encode(), b"Secret", b"<b>"))
    assert answer.headers["Cache-Control"] == "no-store"
    assert answer.headers["X-Robots-Tag"] == "noindex"
    assert answer.headers["WWW-Authenticate"] == "Bearer"
    assert answer.headers["Content-Security-Policy"].startswith(
        "default-src 'none'; style-src 'sha"
    )
    assert "Set-Cookie" not in answer.headers
    assert await journaled_clicks(world.services) == []


@each_case(
    "options, status, location",
    [
        ({"expires_at": PAST}, 404, None),
        ({"starts_at": now() + timedelta(days=1)}, 404, None),
        ({"expires_at": PAST, "expired_url": "https://example.com/ended"}, 302, "/ended"),
    ],
)
async def test_a_closed_link_asks_for_no_password(
    world: World, options: dict[str, Any], status: int, location: str | None
) -> None:
    link = await create_protected(world.services, world.account.id, slug=None, **options)
    for answer, expected in (
        (await world.client.get(f"/c/{link.slug}"), status),
        (await type_in(world.client, f"/c/{link.slug}", PASSWORD), 303 if location else status),
    ):
        assert answer.status == expected
        assert answer.headers.get("Location", "").endswith(location or "")
    assert await journaled_clicks(world.services) == []


@BOTH_PATHS
async def test_a_password_a_limit_and_a_window_hold_together(world: World, target: str) -> None:
    link = await create_protected(
        world.services,
        world.account.id,
        max_clicks=2,
        starts_at=PAST,
        expires_at=now() + timedelta(days=1),
    )
    for headers in (HTML, {"User-Agent": CHROME}, {"User-Agent": BOT}):
        for method in ("GET", "HEAD"):
            assert (await world.client.request(method, target, headers)).status == 401
    assert (await type_in(world.client, target, "wrong", User_Agent=CHROME)).status == 401
    tested = await world.api.post(f"/api/short-links/{link.id}/test-click")
    assert tested.json()["location"].startswith(LANDING)
    opened = await type_in(world.client, target, PASSWORD, User_Agent=CHROME)
    assert opened.status == 303
    cookie = {"Cookie": pass_of(opened)}
    for method, agent, status in (
        *(("HEAD", CHROME, 302), ("GET", BOT, 302), ("GET", CHROME, 302)),
        *(("GET", CHROME, 404), ("HEAD", CHROME, 404), ("GET", BOT, 404)),
    ):
        answer = await world.client.request(method, target, {**cookie, "User-Agent": agent})
        assert (answer.status, answer.headers["Cache-Control"]) == (status, "no-store")
    ended = await type_in(world.client, target, PASSWORD, User_Agent=CHROME)
    assert (ended.status, ended.headers["X-Error-Code"]) == (404, "link_expired")
    clicks = await journaled_clicks(world.services)
    assert [one.user_agent for one in clicks if not one.test] == [CHROME, BOT, CHROME]


async def test_a_form_is_short_and_other_methods_stay_refused(world: World) -> None:
    await create_protected(world.services, world.account.id)
    await create_link(world.services, world.account.id, "open")
    longest = "\U0001f511" * 128
    assert (await type_in(world.client, "/c/abc", longest)).status == 401
    assert (await type_in(world.client, "/c/abc", f"{longest}{'x' * 600}")).status == 413
    for method, target in (("PUT", "/c/abc"), ("POST", "/c/open")):
        refused = await world.client.request(method, target, body=b"password=x")
        assert (refused.status, refused.headers["Allow"]) == (405, "GET, HEAD, OPTIONS")
    assert (await world.client.request("POST", "/c/none", body=b"password=x")).status == 404


async def test_too_many_passwords_get_a_page_that_says_when_to_try_again(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    await create_protected(world.services, world.account.id)
    monkeypatch.setattr(protection, "_NETWORK", protection._NETWORK._replace(limit=1))
    assert (await type_in(world.client, "/c/abc", "wrong", **HTML)).status == 401
    refused = await type_in(world.client, "/c/abc", PASSWORD, **HTML)
    assert (refused.status, b"try again in a moment" in refused.body) == (429, True)
    assert 1 <= int(refused.headers["Retry-After"]) <= 60

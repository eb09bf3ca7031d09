"""Clicks that are rejected: the answer, and that nothing is recorded."""

import pytest

from tests.clicks.api.both_paths import BOTH_PATHS
from tests.factories import create_link
from tests.syntax.accept_fields import NAVIGATIONS
from tests.web.client import Client
from tests.web.records import journaled_clicks
from tests.web.world import World


@pytest.mark.parametrize("name", ["other.example", "tracker.test:80", "a b", "%FF", "..", "*"])
@BOTH_PATHS
async def test_an_unknown_d_is_not_found(world: World, target: str, name: str) -> None:
    await create_link(world.services, world.account.id)
    joiner = "&" if "?" in target else "?"
    response = await world.client.get(f"{target}{joiner}d={name.replace(' ', '%20')}")
    assert (response.status, response.error) == (404, "d: no such domain")
    assert response.headers["Cache-Control"] == "no-store"
    assert await journaled_clicks(world.services) == []


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE", "TRACE", "PROPFIND", "get"])
@BOTH_PATHS
async def test_other_methods_are_rejected_and_record_nothing(
    world: World, target: str, method: str
) -> None:
    await create_link(world.services, world.account.id)
    response = await world.client.request(method, target, body=b"a=1")
    assert response.status == 405
    assert response.headers["Allow"] == "GET, HEAD, OPTIONS"
    assert response.headers["Cache-Control"] == "no-store"
    assert response.error == "method not allowed; allowed: GET, HEAD, OPTIONS"
    assert await world.services.stores.redis.xlen("journal") == 0


@pytest.mark.parametrize(
    "path",
    [
        "/c/none",
        "/c/",
        "/c/a/b",
        "/c//abc",
        "/c/.abc",
        "/c/&a=1",
        "/c/ABC",
        "/c/a%2Fb",
        "/c/%FF",
        "/c/%E2%80%8Babc",
        "/c/ABC.",
        f"/c/{'a' * 65}",
        f"/c/{'a' * 65}.",
        f"/c/{'a' * 20_000}",
        "/api/click?s=none",
        "/api/click?s=a/b",
        "/api/click?s=abc+",
    ],
)
async def test_an_unknown_slug_is_not_found(world: World, path: str) -> None:
    await create_link(world.services, world.account.id)
    response = await world.client.get(path)
    assert (response.status, response.error) == (404, "short link: not found")
    assert response.headers["Cache-Control"] == "no-store"
    assert await world.services.stores.redis.xlen("journal") == 0


@pytest.mark.parametrize("accept", NAVIGATIONS.values(), ids=NAVIGATIONS.keys())
async def test_a_browser_gets_a_page_for_an_unknown_link(client: Client, accept: str) -> None:
    response = await client.get("/c/%3Cscript%3E?q=%3Cb%3E", Accept=accept)
    assert response.status == 404
    assert response.headers["Content-Type"] == "text/html; charset=utf-8"
    assert response.headers["Cache-Control"] == "no-store"
    assert response.headers["X-Robots-Tag"] == "noindex"
    assert b"Link not found" in response.body
    assert b"script" not in response.body.lower()


@pytest.mark.parametrize("accept", ["", "*/*", "application/json", "application/json, text/html"])
async def test_a_program_gets_json_for_an_unknown_link(client: Client, accept: str) -> None:
    response = await client.get("/c/none", Accept=accept)
    assert (response.status, response.error) == (404, "short link: not found")


@pytest.mark.parametrize("query", ["", "?", "?s=", "?s", "?a=1", "?S=abc", "?s=&s=abc"])
async def test_api_click_without_a_slug_is_a_bad_request(client: Client, query: str) -> None:
    response = await client.get(f"/api/click{query}")
    assert response.status == 400
    assert response.error == "s: required: the slug of a short link"
    assert response.headers["Cache-Control"] == "no-store"


async def test_the_page_for_a_missing_slug_does_not_say_to_try_again(client: Client) -> None:
    response = await client.get("/api/click", Accept="text/html")
    assert (response.status, b"try again" in response.body) == (400, False)

"""`/api/event` for pages of other origins: whom it names, and that no cookie counts."""

import orjson
import pytest
from tornado.httputil import HTTPServerRequest

from tests.conversions.api.reporting import by_posted_query
from tests.factories import create_event_config
from tests.web.client import Client, Response
from tests.web.world import World

SHOP = "https://shop.example"


async def test_a_preflight_allows_any_origin_and_a_content_type(client: Client) -> None:
    asked = {
        "Origin": SHOP,
        "Access_Control_Request_Method": "POST",
        "Access_Control_Request_Headers": "content-type",
    }
    response = await client.request("OPTIONS", "/api/event", asked)
    assert (response.status, response.body) == (204, b"")
    assert allowed(response) == (SHOP, "true", "Origin")
    assert response.headers["Access-Control-Allow-Methods"] == "GET, POST, OPTIONS"
    assert response.headers["Access-Control-Allow-Headers"] == "Content-Type, Idempotency-Key"


def allowed(response: Response) -> tuple[str | None, ...]:
    names = ("Access-Control-Allow-Origin", "Access-Control-Allow-Credentials", "Vary")
    return tuple(response.headers.get(name) for name in names)


async def test_any_origin_may_send_with_credentials_and_is_named_in_every_answer(
    world: World,
) -> None:
    config = await create_event_config(world.services, world.account.id)
    for origin in (SHOP, "http://localhost:8080", "null", "chrome-extension://abc"):
        for target in (f"?pbk={config.pbk}", f"?pbk={config.pbk}&txid=1", "", "?pbk=unknown"):
            response = await world.client.get(f"/api/event{target}", Origin=origin)
            assert allowed(response) == (origin, "true", "Origin")
        response = await world.client.post("/api/event", b"{", Origin=origin)
        assert allowed(response) == (origin, "true", "Origin")
        response = await world.client.request("DELETE", "/api/event", {"Origin": origin})
        assert (response.status, *allowed(response)) == (405, origin, "true", "Origin")


@pytest.mark.parametrize("origin", ["", "*", "https://a.example, https://b.example", "x", "a://%s"])
async def test_what_is_no_origin_is_not_named(client: Client, origin: str) -> None:
    response = await client.get("/api/event", Origin=origin)
    assert allowed(response) == ("*", None, "Origin")


async def test_no_cookie_is_read_or_set(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    def read(_: HTTPServerRequest) -> None:
        raise AssertionError("a cookie was read")

    monkeypatch.setattr(HTTPServerRequest, "cookies", property(read))
    config = await create_event_config(world.services, world.account.id)
    sent: dict[str, str | bytes] = {"Cookie": "session=x; __Host-session=y", "Origin": SHOP}
    body = orjson.dumps({"pbk": config.pbk})
    responses = [
        await world.client.request("GET", f"/api/event?pbk={config.pbk}", sent),
        await by_posted_query(world.client, {"pbk": config.pbk}),
        await world.client.post("/api/event", body, Cookie="session=x", Origin=SHOP),
        await world.client.request("OPTIONS", "/api/event", sent),
    ]
    assert [response.status for response in responses] == [200, 200, 200, 204]
    assert all("Set-Cookie" not in response.headers for response in responses)

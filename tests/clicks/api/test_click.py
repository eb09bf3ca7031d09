"""`/c/<slug>` and `/api/click` for visitors."""

from typing import Any
from urllib.parse import parse_qs, urlsplit
from uuid import UUID

import pytest

from tests.clicks.api.both_paths import BOTH_PATHS
from tests.conversions import scene
from tests.factories import LANDING, create_link
from tests.web.client import Client, Response
from tests.web.records import journaled_clicks
from tests.web.world import World
from tracker.access.client_address import ClientAddress
from tracker.service.services import Services


def click_id(response: Response) -> UUID:
    (text,) = parse_qs(urlsplit(response.headers["Location"]).query)["click_id"]
    assert text == str(UUID(text))
    return UUID(text)


async def stored_clicks(services: Services) -> list[dict[str, Any]]:
    """Return the clicks in MongoDB after the journal was drained."""
    await scene.drained(services)
    return [row async for row in services.stores.mongodb["clicks"].find().sort("_id", 1)]


@BOTH_PATHS
async def test_a_visitor_is_redirected_with_a_click_id(world: World, target: str) -> None:
    link = await create_link(world.services, world.account.id)
    response = await world.client.get(target)
    assert (response.status, response.body) == (302, b"")
    assert response.headers["Location"] == f"{LANDING}?click_id={click_id(response)}"
    assert click_id(response).version == 7
    (click,) = await journaled_clicks(world.services)
    assert click.id == click_id(response).bytes
    assert (click.link_id, click.account_id) == (link.id.bytes, world.account.id.bytes)


@BOTH_PATHS
async def test_a_redirect_has_these_headers_and_no_others(world: World, target: str) -> None:
    await create_link(world.services, world.account.id)
    headers = dict((await world.client.get(target)).headers)
    for varying in ("Location", "X-Request-Id", "Date", "Connection"):
        del headers[varying]
    assert headers == {
        "Server": "tracker",
        "Cache-Control": "no-store",
        "X-Robots-Tag": "noindex",
        "Content-Length": "0",
        "X-Content-Type-Options": "nosniff",
    }


@pytest.mark.parametrize(
    ("sent", "passed_on"),
    [
        (b"", ""),
        (b"q=\xc3\xa9&r=\xff", "q=%C3%A9&r=%FF&"),
        (b"s=other&a=1&click_id=7&b=2", "a=1&b=2&"),
    ],
)
async def test_parameters_are_passed_on_byte_for_byte(
    world: World, sent: bytes, passed_on: str
) -> None:
    await create_link(world.services, world.account.id, destination_url=f"{LANDING}?own=%2f#part")
    response = await world.client.get(b"/c/abc?" + sent)
    added = f"{passed_on}click_id={click_id(response)}"
    assert response.headers["Location"] == f"{LANDING}?own=%2f&{added}#part"


@pytest.mark.parametrize("query", ["s=abc&a=1&b=2", "a=1&s=abc&b=2", "a=1&b=2&%73=%61bc"])
async def test_the_slug_of_api_click_may_be_anywhere_in_the_query(world: World, query: str) -> None:
    await create_link(world.services, world.account.id)
    response = await world.client.get(f"/api/click?{query}")
    assert response.headers["Location"] == f"{LANDING}?a=1&b=2&click_id={click_id(response)}"


async def test_a_click_id_of_the_destination_is_replaced_and_macros_are_filled(
    world: World,
) -> None:
    url = "https://example.com/{slug}?k={click_id}&click_id=old&c={country}&n={domain_name}"
    await create_link(world.services, world.account.id, destination_url=url)
    world.services.web = world.services.web._replace(country_header="CF-IPCountry")
    response = await world.client.get("/c/abc", CF_IPCountry="NZ")
    shown = click_id(response)
    assert response.headers["Location"] == (
        f"https://example.com/abc?k={shown}&c=NZ&n=tracker.test&click_id={shown}"
    )


@pytest.mark.parametrize(
    ("target", "host", "expected"),
    [
        ("/c/abc", "go.example", "custom"),
        ("/c/abc", "go.example:8080", "custom"),
        ("/c/abc", "GO.Example", "custom"),
        ("/c/abc", "go.example.", "custom"),
        ("/c/abc", "tracker.test", "default"),
        ("/c/abc", "tracker.test:8080", "default"),
        ("/c/abc", "not-registered.example", "default"),
        ("/c/abc", "127.0.0.1:8080", "default"),
        ("/c/abc", "[::1]:8080", "default"),
        ("/c/abc?d=go.example", "tracker.test", "custom"),
        ("/c/abc?d=%EF%BD%87%EF%BD%8F.Example.", "tracker.test", "custom"),
        (b"/c/abc?d=\xef\xbd\x87\xef\xbd\x8f.example", "tracker.test", "custom"),
        ("/c/abc?d=tracker.test", "go.example", "default"),
        ("/c/abc?d=%74RACKER.test.", "go.example", "default"),
        ("/c/abc?d=", "go.example", "custom"),
        ("/api/click?s=abc", "go.example", "default"),
        ("/api/click?s=abc&d=go.example", "tracker.test", "custom"),
        ("/api/click?s=abc&d=", "go.example", "default"),
    ],
)
async def test_one_slug_on_two_domains_is_two_links(
    world: World, target: str | bytes, host: str, expected: str
) -> None:
    domain = await world.services.links.domains.create(world.account.id, "go.example")
    await create_link(world.services, world.account.id, "abc", "https://default.example/")
    await create_link(
        world.services, world.account.id, "abc", "https://custom.example/", domain=domain
    )
    response = await world.client.get(target, Host=host)
    assert urlsplit(response.headers["Location"]).hostname == f"{expected}.example"
    (click,) = await journaled_clicks(world.services)
    assert click.domain_name == ("go.example" if expected == "custom" else "")


@BOTH_PATHS
async def test_head_redirects_without_a_click_id_and_records_nothing(
    world: World, target: str
) -> None:
    await create_link(world.services, world.account.id, destination_url=f"{LANDING}?k={{click_id}}")
    joiner = "&" if "?" in target else "?"
    response = await world.client.request("HEAD", f"{target}{joiner}a=1&click_id=2")
    assert (response.status, response.body) == (302, b"")
    assert response.headers["Location"] == f"{LANDING}?k=&a=1"
    assert response.headers["Content-Length"] == "0"
    assert response.headers["X-Robots-Tag"] == "noindex"
    assert response.headers["Cache-Control"] == "no-store"
    assert await world.services.stores.redis.xlen("journal") == 0


@pytest.mark.parametrize("target", ["/c/abc", "/c/none", "/api/click?s=abc", "/api/click"])
async def test_options_answers_without_looking_for_the_link(
    services: Services, client: Client, target: str
) -> None:
    response = await client.request("OPTIONS", target)
    assert (response.status, response.body) == (204, b"")
    assert response.headers["Allow"] == "GET, HEAD, OPTIONS, POST"
    assert "Content-Length" not in response.headers
    assert await services.stores.redis.xlen("journal") == 0


@pytest.mark.parametrize(
    ("headers", "reason"),
    [
        ({}, None),
        ({"Sec_Purpose": "prefetch"}, "prefetch"),
        ({"Purpose": "prefetch"}, "prefetch"),
        ({"X_Purpose": "preview"}, "prefetch"),
        ({"X_Moz": "prefetch"}, "prefetch"),
        ({"User_Agent": "Googlebot/2.1 (+http://www.google.com/bot.html)"}, "crawler"),
    ],
)
async def test_prefetches_and_bots_are_redirected_and_recorded_with_the_reason(
    world: World,
    headers: dict[str, str],
    reason: str | None,
) -> None:
    await create_link(world.services, world.account.id)
    agent = (
        "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 Chrome/126.0 Safari/537.36"
    )
    response = await world.client.request("GET", "/c/abc", {"User_Agent": agent, **headers})
    (stored,) = await stored_clicks(world.services)
    assert (stored["_id"], stored["bot"]) == (click_id(response), reason)


async def test_text_that_is_stuck_to_a_link_is_left_out_or_its_query(world: World) -> None:
    domain = await world.services.links.domains.create(world.account.id, "go.example")
    await create_link(world.services, world.account.id, "abc", LANDING)
    await create_link(world.services, world.account.id, "abc", f"{LANDING}/own", domain=domain)
    stuck = {
        **dict.fromkeys((".", ",", ")", "/", "/b.html", "%20", "%0A", "%E2%80%9D.", "&"), ""),
        "&a=%2f&b": "a=%2f&b&",
        "&a=x?b=1": "a=x&b=1&",
        ".?b=1": "b=1&",
        "%3Fa=1%26": "a=1%26&",
        "%26a=1&b?s=x&c": "a=1&b&c&",
        ")&amp;a=1": "amp;a=1&",
        "&d=go.example": "/own",
    }
    for text, passed_on in stuck.items():
        path = f"/c/%61bc{text}"
        response = await world.client.get(path)
        start = f"{LANDING}/own?" if passed_on == "/own" else f"{LANDING}?{passed_on}"
        assert response.headers.get("Location") == f"{start}click_id={click_id(response)}", text
    clicks = await journaled_clicks(world.services)
    assert len(clicks) == len(stuck)
    assert clicks[list(stuck).index("&a=x?b=1")].query == "a=x&b=1"
    for host, destination in (("tracker.test", LANDING), (domain.domain_name, f"{LANDING}/own")):
        peeked = await world.client.request("HEAD", "/c/abc.", {"Host": host})
        assert (peeked.status, peeked.headers["Location"]) == (302, destination)
    assert (await world.client.request("OPTIONS", "/c/abc.")).status == 204


async def test_headers_that_are_not_ascii_are_kept_byte_for_byte(world: World) -> None:
    await create_link(world.services, world.account.id)
    agent, referrer = "Caf\u00e9/1 \u4e2d".encode() + b"\xff", "https://x.test/\u00e9".encode()
    response = await world.client.get("/c/abc", User_Agent=agent, Referer=referrer)
    (click,) = await journaled_clicks(world.services)
    assert click.user_agent.encode("latin-1") == agent
    assert click.referrer.encode("latin-1") == referrer
    (stored,) = await stored_clicks(world.services)
    assert stored["_id"] == click_id(response)


async def test_values_that_are_too_long_are_stored_cut_and_passed_on_in_full(world: World) -> None:
    await create_link(world.services, world.account.id)
    query = "a=" + "x" * 40_000
    response = await world.client.get(f"/c/abc?{query}", User_Agent="u" * 5000, Referer="r" * 5000)
    assert response.headers["Location"] == f"{LANDING}?{query}&click_id={click_id(response)}"
    (click,) = await journaled_clicks(world.services)
    assert (len(click.query), len(click.user_agent), len(click.referrer)) == (8192, 1024, 2048)


async def test_the_visitor_behind_a_trusted_proxy_is_recorded(world: World) -> None:
    await create_link(world.services, world.account.id)
    await world.client.get("/c/abc", X_Forwarded_For="9.9.9.9")
    world.services.web = world.services.web._replace(client_address=ClientAddress("1"))
    await world.client.get("/c/abc", X_Forwarded_For="6.6.6.6, 9.9.9.9")
    addresses = [click.address for click in await journaled_clicks(world.services)]
    assert addresses == ["127.0.0.1", "9.9.9.9"]


async def test_a_link_that_a_later_domain_makes_a_loop_is_not_found(world: World) -> None:
    """Each round would record a click; browsers follow twenty."""
    domain = await world.services.links.domains.create(world.account.id, "go.example")
    for namespace, leads_to in ((domain, "https://go.example/c/abc"), (None, LANDING)):
        await create_link(
            world.services, world.account.id, destination_url=leads_to, domain=namespace
        )
    assert (await world.client.get("/c/abc", Host="go.example")).status == 404
    assert await journaled_clicks(world.services) == []
    assert (await world.client.get("/c/abc")).status == 302

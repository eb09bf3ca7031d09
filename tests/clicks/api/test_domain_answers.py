"""What a proven custom domain answers where no link leads elsewhere, and what it counts."""

from datetime import UTC, datetime
from typing import Any

import pytest

from tests.factories import create_link
from tests.web.records import journaled_clicks
from tests.web.world import World
from tracker.links.domain import Domain

NAME = "go.example"
ROOT, LOST, OVER = (f"https://example.com/{name}" for name in ("root", "lost", "over"))
PAST, FUTURE = (datetime(year, 1, 1, tzinfo=UTC) for year in (2020, 2099))


async def proven(world: World, name: str = NAME, **settings: Any) -> Domain:
    domain = await world.services.links.domains.create(world.account.id, name)
    domain = await world.services.links.domains.verify(domain.id)

    async def nothing(*_: object) -> None: ...

    return await world.services.links.domains.change(domain.id, settings, nothing)


async def unknown(world: World, domain: Domain) -> dict[str, int]:
    await world.services.links.unknown_paths.store()
    found = await world.services.links.unknown_paths.find(domain.id)
    return {path: asked.count for path, asked in sorted(found.items())}


async def test_root_and_unknown_paths_lead_where_the_domain_says_and_are_no_clicks(
    world: World,
) -> None:
    for name, settings, expected in (
        ("none.example", {}, {"/": None, "/x": None, "/c/x": None}),
        ("root.example", {"root_url": ROOT}, {"/": ROOT, "/?a=1": ROOT, "/x": None}),
        (
            "both.example",
            {"root_url": ROOT, "not_found_url": LOST},
            {"/": ROOT, "/x?a=1": LOST, "/a/b": LOST, "/%FF": LOST, "/console": LOST}
            | {"/api/tags": LOST, "/favicon.ico": None, "/robots.txt": None, "/c/x": None},
        ),
        (
            "bücher.example",
            {"not_found_url": "https://bücher.test/ä ö?q=日本"},
            {"/x": "https://xn--bcher-kva.test/%C3%A4%20%C3%B6?q=%E6%97%A5%E6%9C%AC"},
        ),
    ):
        await proven(world, name.encode("idna").decode(), **settings)
        for path, location in expected.items():
            for method in ("GET", "HEAD"):
                answer = await world.client.request(
                    method, path, {"Host": name.encode("idna").decode()}
                )
                found = (answer.status, answer.headers.get("Location"))
                assert found == (302 if location else 404, location), (name, path)
                if location:
                    assert answer.headers["Cache-Control"] == "no-store"
    assert await journaled_clicks(world.services) == []


async def test_an_unknown_path_is_counted_as_it_is_read(world: World) -> None:
    domain = await proven(world, not_found_url=LOST)
    link = await create_link(world.services, world.account.id, "abc", domain=domain)
    sent: dict[str, str | bytes] = {"Host": NAME, "Referer": "https://News.Example/page?x=1"}
    for path in (
        "/",
        "/abc",
        "/abc.",
        "/a%20b/?q=1",
        "/%61%20b",
        "/%FF",
        "/c/none",
        "/favicon.ico",
    ):
        await world.client.request("GET", path, sent)
    for host in ("tracker.test", "other.example"):
        await world.client.get("/nothing", Host=host)
    await world.client.get("/c/nothing?d=go.example")
    assert await unknown(world, domain) == {"a b": 2, "\ufffd": 1}
    found = await world.services.links.unknown_paths.find(domain.id)
    assert {one.referrer for one in found.values()} == {"news.example"}
    await world.services.links.links.change(link.id, {"active": False})
    assert (await world.client.get("/abc", Host=NAME)).headers["Location"] == LOST


async def test_an_unknown_path_is_counted_without_its_case_where_that_does_not_count(
    world: World,
) -> None:
    domain = await proven(world, case_sensitive=False)
    for path in ("/Foo", "/foo", "/%C3%89T%C3%89"):
        await world.client.get(path, Host=NAME)
    assert await unknown(world, domain) == {"foo": 2, "\u00e9t\u00e9": 1}


@pytest.mark.parametrize("window", [{"expires_at": PAST}, {"starts_at": FUTURE}])
async def test_a_link_outside_its_time_leads_where_it_says_else_where_its_domain_says(
    world: World, window: dict[str, Any]
) -> None:
    with_url, without = await proven(world, expired_url=OVER), await proven(world, "no.example")
    own = "https://example.com/日本"
    for domain, slug, of_link, location in (
        (with_url, "a", {}, OVER),
        (with_url, "b", {"expired_url": own}, "https://example.com/%E6%97%A5%E6%9C%AC"),
        (without, "c", {}, None),
    ):
        fields = {**window, **of_link, "domain": domain}
        await create_link(world.services, world.account.id, slug, **fields)
        for path, host in (
            (f"/{slug}", domain.domain_name),
            (f"/c/{slug}", domain.domain_name),
            (f"/c/{slug}?d={domain.domain_name}", "tracker.test"),
        ):
            answer = await world.client.get(path, Host=host)
            assert answer.headers.get("Location") == location, (path, host)
            assert answer.headers["Cache-Control"] == "no-store"
            if location is None:
                code = "link_expired" if "expires_at" in window else "link_not_started"
                assert (answer.status, answer.headers["X-Error-Code"]) == (404, code)
    assert await journaled_clicks(world.services) == []
    assert await unknown(world, with_url) == {}


async def test_a_url_on_a_name_that_is_served_later_ends_at_the_visit(world: World) -> None:
    await proven(world, not_found_url="https://later.example/x")
    assert (await world.client.get("/x", Host=NAME)).status == 302
    await proven(world, "later.example", not_found_url=f"https://{NAME}/x")
    await world.client.get("/x", Host="later.example")
    for host in (NAME, "later.example"):
        assert (await world.client.get("/x", Host=host)).status == 404


async def test_a_mere_claim_to_a_name_answers_for_no_link_of_the_service(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    domains = world.services.links.domains
    monkeypatch.setattr(domains, "_serve_claimed", False)
    claim = await domains.create(world.account.id, "www.tracker.test")

    async def nothing(*_: object) -> None: ...

    await domains.change(claim.id, {"expired_url": OVER}, nothing)
    await create_link(world.services, world.account.id, "abc", expires_at=PAST)
    for path in ("/c/abc", "/api/click?s=abc"):
        answer = await world.client.get(path, Host="www.tracker.test")
        assert (answer.status, answer.headers["X-Error-Code"]) == (404, "link_expired")

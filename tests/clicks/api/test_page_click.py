"""`POST /api/click`: pages record clicks that redirect nobody."""

import asyncio
from datetime import timedelta
from typing import Any
from uuid import UUID

import msgspec
import pytest

from tests.clicks.pages import ORIGIN, PAGE, report
from tests.clicks.protected import create_protected, type_in
from tests.conversions import scene
from tests.factories import CHROME, LANDING, create_link
from tests.links.names.on_domains import proven
from tests.web.each import each_case
from tests.web.records import journaled_clicks
from tests.web.world import World
from tracker.clicks.pages import recorder
from tracker.clicks.pages.sent import PageClick
from tracker.clicks.visit import ClientHeaders, Visit
from tracker.clock import now
from tracker.service.services import Services
from tracker.stores.redis.memory_budget import SKIPPED_FROM, OptionalWrite

pytestmark = pytest.mark.redis

SHOP = "https://shop.example"
BOT = "Googlebot/2.1 (+http://www.google.com/bot.html)"
PAST = now() - timedelta(days=1)


async def test_a_page_records_a_click_that_is_durable_before_the_answer(world: World) -> None:
    link = await create_link(world.services, world.account.id)
    query = "utm_source=ads&gclid=x1&a=%C3%A9"
    answer = await report(
        world.client,
        url=f"{PAGE}?{query}#part",
        referrer="https://news.example/é",
        consent="denied",
    )
    assert answer.status == 200
    [click] = await journaled_clicks(world.services)
    assert answer.json() == {"click_id": str(UUID(bytes=click.id)), "is_new": True}
    assert (click.link_id, click.account_id) == (link.id.bytes, world.account.id.bytes)
    assert (click.query, click.user_agent, click.consent) == (query, CHROME, "denied")
    assert click.referrer == "https://news.example/Ã©"
    await scene.drained(world.services)
    listed = await world.api.get(f"/api/clicks?accountId={world.account.id}")
    [row] = listed.json()["rows"]
    assert (row["id"], row["consent"]) == (answer.json()["click_id"], "denied")
    assert (row["utm_source"], row["referrer_host"]) == ("ads", "news.example")


async def test_every_answer_may_be_read_by_the_page_and_by_no_other(world: World) -> None:
    await create_link(world.services, world.account.id)
    for fields, origin, status in (
        ({}, ORIGIN, 200),
        ({"slug": "none"}, ORIGIN, 404),
        ({"url": None}, ORIGIN, 400),
        ({}, "https://evil.example", 403),
    ):
        answer = await report(world.client, {"Origin": origin}, **fields)
        assert answer.status == status
        assert answer.headers["Access-Control-Allow-Origin"] == origin
        assert (answer.headers["Vary"], answer.headers["Cache-Control"]) == ("Origin", "no-store")
        assert "Access-Control-Allow-Credentials" not in answer.headers


async def test_a_preflight_asks_no_store_and_options_without_one_stay(world: World) -> None:
    asked = {"Origin": "https://any.example", "Access-Control-Request-Method": "POST"}
    allowed = await world.client.request("OPTIONS", "/api/click", asked)
    assert (allowed.status, allowed.body) == (204, b"")
    assert allowed.headers["Access-Control-Allow-Origin"] == "https://any.example"
    assert allowed.headers["Access-Control-Allow-Methods"] == "POST"
    assert allowed.headers["Access-Control-Allow-Headers"] == "Content-Type"
    assert await world.services.stores.redis.keys("origins:*") == []
    plain = await world.client.request("OPTIONS", "/api/click", {"Origin": "https://any.example"})
    assert plain.headers["Allow"] == "GET, HEAD, OPTIONS, POST"
    assert "Access-Control-Allow-Origin" not in plain.headers


@each_case(
    "origin, entries, status",
    [
        (SHOP, [SHOP], 200),
        (SHOP, ["HTTPS://Shop.Example:443/"], 200),
        ("https://shop.example:8443", [SHOP], 403),
        ("http://shop.example", [SHOP], 403),
        ("http://shop.example:8080", ["shop.example"], 200),
        ("https://www.shop.example", ["shop.example"], 403),
        ("https://a.b.shop.example", ["*.shop.example"], 200),
        ("https://shop.example", ["*.shop.example"], 403),
        ("https://evilshop.example", ["*.shop.example", "shop.example"], 403),
        ("https://xn--bcher-kva.example", ["bücher.example"], 200),
        ("http://[::1]:3000", ["http://[::1]:3000"], 200),
        ("http://127.0.0.1:5500", ["http://127.0.0.1:5500"], 200),
        ("https://tracker.test", [], 200),
        ("https://ours.example", [], 200),
        ("https://theirs.example", [], 403),
        ("https://claimed.example", [], 403),
        (SHOP, [], 403),
        ("null", ["shop.example"], 403),
        ("", ["shop.example"], 403),
        (f"{SHOP}/", [SHOP], 403),
    ],
)
async def test_only_pages_of_allowed_origins_record(
    world: World, origin: str, entries: list[str], status: int
) -> None:
    services, account_id = world.services, world.account.id
    if not await services.links.links.has_slug(None, "abc"):
        await create_link(services, account_id)
        await proven(services, account_id, "ours.example")
        await proven(services, world.other_account.id, "theirs.example")
        await services.links.domains.create(account_id, "claimed.example")
    changed = await world.api.patch("/api/account", accountId=str(account_id), origins=entries)
    assert changed.status == 200
    before = len(await journaled_clicks(services))
    agent = {"User-Agent": f"{CHROME} {origin} {entries}".encode().decode("latin-1")}
    answer = await report(world.client, {"Origin": origin, **agent})
    assert answer.status == status
    if status == 403:
        assert answer.headers["X-Error-Code"] == "forbidden"
    assert len(await journaled_clicks(services)) == before + (status == 200)


@each_case(
    "fields, message",
    [
        ({"slug": None}, "slug or link_id: one of both is required"),
        ({"link_id": str(UUID(int=1))}, "slug or link_id: one of both is required"),
        ({"slug": None, "link_id": "7"}, "link_id: must be a UUID"),
        (
            {"slug": None, "link_id": str(UUID(int=1)), "domain": "go.example"},
            "domain: not with link_id",
        ),
        ({"url": None}, "url: required"),
        ({"url": "/offer"}, "url: must be an absolute http or https URL"),
        ({"url": "javascript:alert(1)"}, "url: must be an absolute http or https URL"),
        ({"url": f"{PAGE}?a=\n"}, "url: must be an absolute http or https URL"),
        ({"url": f"http://{'a' * 16_000} "}, "url: must be an absolute http or https URL"),
        ({"referrer": "a\nb"}, "referrer: no control characters"),
        ({"click_id": "x"}, "click_id: must be a UUID"),
        ({"consent": "yes"}, "consent: must be denied or granted"),
        ({"other": 1}, "other: unknown field"),
    ],
)
async def test_a_wrong_field_is_named(world: World, fields: Any, message: str) -> None:
    answer = await report(world.client, **fields)
    assert (answer.status, message in answer.error) == (400, True), answer.error


async def test_a_body_is_json_of_at_most_16_kilobytes_and_a_form_stays_a_password(
    world: World,
) -> None:
    await create_protected(world.services, world.account.id)
    too_long = await report(world.client, url=f"{PAGE}?{'x' * 16_384}")
    assert (too_long.status, too_long.error) == (413, "body: at most 16384 bytes")
    no_json = await world.client.post("/api/click", b"{", Content_Type="application/json")
    assert no_json.status == 400
    curls = await world.client.post("/api/click", b'{"slug":"abc"}')
    assert curls.error == (
        "s: required: the slug of a short link; "
        "JSON needs Content-Type application/json or text/plain"
    )
    asked = await type_in(world.client, "/api/click?s=abc", "wrong", Origin=ORIGIN)
    assert (asked.status, "Access-Control-Allow-Origin" in asked.headers) == (401, False)


async def test_a_link_is_found_by_slug_domain_or_id(world: World) -> None:
    services = world.services
    domain = await proven(services, world.account.id)
    links = [
        await create_link(services, world.account.id),
        await create_link(services, world.account.id, domain=domain),
    ]
    named: list[dict[str, Any]] = [
        {},
        {"domain": "tracker.test"},
        {"domain": "GO.example"},
        *({"slug": None, "link_id": str(one.id)} for one in links),
    ]
    found = [
        (await report(world.client, {"User-Agent": f"{n}"}, **one)).status
        for n, one in enumerate(named)
    ]
    assert found == [200, 200, 200, 200, 200]
    ids = [UUID(bytes=one.link_id) for one in await journaled_clicks(services)]
    assert ids == [links[n].id for n in (0, 0, 1, 0, 1)]
    for fields, message in (
        ({"slug": "a/b"}, "short link: not found"),
        ({"slug": None, "link_id": str(UUID(int=1))}, "short link: not found"),
        ({"domain": "none.example"}, "domain: no such domain"),
    ):
        answer = await report(world.client, **fields)
        assert (answer.status, answer.error) == (404, message)


@each_case(
    "options, status, code",
    [
        ({"expires_at": PAST, "expired_url": LANDING}, 404, "link_expired"),
        ({"starts_at": now() + timedelta(days=1), "expired_url": LANDING}, 404, "link_not_started"),
        ({"active": False}, 404, "not_found"),
        ({"password_hash": "x"}, 401, "password_required"),
    ],
)
async def test_what_would_redirect_nobody_records_nothing(
    world: World, options: dict[str, Any], status: int, code: str
) -> None:
    if "password_hash" in options:
        link = await create_protected(world.services, world.account.id, slug=None)
    else:
        link = await create_link(world.services, world.account.id, None, **options)
    answer = await report(world.client, slug=link.slug)
    assert (answer.status, answer.headers["X-Error-Code"]) == (status, code)
    assert await journaled_clicks(world.services) == []


async def test_max_clicks_counts_each_visitor_of_a_page_once(world: World) -> None:
    link = await create_link(world.services, world.account.id, max_clicks=2, expired_url=LANDING)
    agents = (CHROME, CHROME, BOT, BOT, f"{CHROME} 2", CHROME, f"{CHROME} 3", BOT)
    answers = [await report(world.client, {"User-Agent": one}) for one in agents]
    assert [one.status for one in answers] == [200, 200, 200, 200, 200, 200, 404, 200]
    assert answers[6].headers["X-Error-Code"] == "link_expired"
    ids = [one.json().get("click_id") for one in answers]
    assert (ids[0], ids[2]) == (ids[1], ids[3]) == (ids[5], ids[7])
    assert len(await journaled_clicks(world.services)) == 3
    assert (await world.client.get(f"/c/{link.slug}")).headers["Location"] == LANDING


async def test_racing_requests_of_two_processes_record_one_click(world: World) -> None:
    await create_link(world.services, world.account.id)
    await create_link(world.services, world.account.id, "limited", max_clicks=5)
    sent = [msgspec.convert({"slug": slug, "url": PAGE}, PageClick) for slug in ("abc", "limited")]
    headers = ClientHeaders.from_headers(CHROME, "", "", "")
    visit = Visit("POST", "tracker.test", None, "", "8.8.8.8", headers)
    async with scene.process(world.services.settings) as other:
        for one in sent:
            recorded = await asyncio.gather(
                *(
                    process.clicks.pages.record(one, ORIGIN, visit)
                    for _ in range(20)
                    for process in (world.services, other)
                )
            )
            assert len({each.click_id for each in recorded}) == 1
            assert sum(each.is_new for each in recorded) == 1
    assert len(await journaled_clicks(world.services)) == 2


async def test_visitors_and_links_are_told_apart_and_half_an_hour_later_a_visit_is_new(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    for slug in ("abc", "b"):
        await create_link(world.services, world.account.id, slug)
    midnight = 20_600 * 24 * 3600 * 1000
    monkeypatch.setattr(recorder, "now_ms", lambda: midnight - 60_000)
    ids = {
        (await report(world.client, one, slug=slug)).json()["click_id"]
        for slug in ("abc", "b")
        for one in ({}, {"User-Agent": "Mozilla/5.0 other"})
    }
    assert len(ids) == 4
    monkeypatch.setattr(recorder, "now_ms", lambda: midnight + 60_000)
    again = (await report(world.client)).json()
    assert (again["click_id"] in ids, again["is_new"]) == (True, False)
    claims = await world.services.stores.redis.keys("page_click:*")
    for one in claims:
        assert 1740 < await world.services.stores.redis.ttl(one) <= recorder.SAME_SECONDS
        assert b"127.0.0.1" not in one
    await world.services.stores.redis.delete(*claims)
    assert (await report(world.client)).json()["is_new"]


async def test_a_full_or_absent_redis_records_each_click_as_a_new_one(world: World) -> None:
    services = world.services
    link = await create_link(services, world.account.id)
    services.stores.budget.used = SKIPPED_FROM[OptionalWrite.PAGE_CLICK]
    full = [(await report(world.client)).json() for _ in range(2)]
    assert [one["is_new"] for one in full] == [True, True]
    await services.links.link_cache.get(f"link:/{link.slug}")
    cut_off = Services(msgspec.structs.replace(services.settings, redis_url="redis://127.0.0.1:1"))
    sent = msgspec.convert({"slug": "abc", "url": PAGE}, PageClick)
    headers = ClientHeaders.from_headers(CHROME, "", "", "")
    visit = Visit("POST", "tracker.test", None, "", "8.8.8.8", headers)
    spooled = [await cut_off.clicks.pages.record(sent, ORIGIN, visit) for _ in range(2)]
    assert [one.is_new for one in spooled] == [True, True]
    await cut_off.stop()
    await cut_off.close()
    await services.journal.journal.replay_once()
    stored = {UUID(bytes=one.id) for one in await journaled_clicks(services)}
    assert stored == {*(UUID(one["click_id"]) for one in full), *(one.click_id for one in spooled)}


async def test_an_earlier_click_is_kept_in_the_query(world: World) -> None:
    await create_link(world.services, world.account.id)
    parent = UUID(int=7)
    await report(world.client, url=f"{PAGE}?click_id=old&a=1", click_id=str(parent))
    [click] = await journaled_clicks(world.services)
    assert click.query == f"click_id={parent}&click_id=old&a=1"

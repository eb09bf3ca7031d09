"""Test clicks and test conversions: stored once and shown as tests; no figure counts them."""

from datetime import timedelta
from typing import Any
from uuid import UUID

import msgspec
import pytest
from tornado.platform.asyncio import AsyncIOLoop

from config.settings import Settings
from tests.conversions.scene import applied, drained, stored_events
from tests.factories import CHROME, create_click, create_event_config, create_link, create_webhook
from tests.ingest import ledger
from tests.web.client import Client
from tests.web.keyed_client import KeyedClient
from tests.web.records import journaled, journaled_clicks
from tests.web.world import World
from tracker.accounts.accounts import Account
from tracker.calendar import DEFAULT_ZONE, calendar_of
from tracker.clock import day_of, now
from tracker.conversions.event_config import EventConfig, PayoutType
from tracker.ids import new_id
from tracker.links.link import Link
from tracker.live.recent import live_state
from tracker.reports.repair.day_count import count_day
from tracker.reports.repair.joint_check import JointCheck
from tracker.service.services import Services

DESTINATION = "https://shop.example/offer?c={country}&b={browser}"
FIGURES = ("clicks", "uniqueClicks", "botClicks", "conversions", "value", "payout")
NOTHING = dict.fromkeys(FIGURES, 0)


@pytest.fixture
def settings(settings: Settings) -> Settings:
    """Return settings of a service behind an edge that names the country."""
    return msgspec.structs.replace(settings, country_header="CF-IPCountry")


@pytest.fixture
def link(services: Services, account: Account, io_loop: AsyncIOLoop) -> Link:
    made: Link = io_loop.run_sync(
        lambda: create_link(services, account.id, "a", DESTINATION, internal_name="Spring")
    )
    return made


@pytest.fixture
def config(services: Services, account: Account, io_loop: AsyncIOLoop) -> EventConfig:
    made: EventConfig = io_loop.run_sync(lambda: create_event_config(services, account.id))
    return made


async def clicked(client: Client, secret: str, link: Link) -> dict[str, Any]:
    """Make a test click as a browser in Germany."""
    fields: dict[str, str | bytes] = {
        "Authorization": f"Bearer {secret}",
        "User-Agent": CHROME,
        "CF-IPCountry": "DE",
    }
    response = await client.request("POST", f"/api/short-links/{link.id}/test-click", fields)
    assert response.status == 200, response.body
    found: dict[str, Any] = response.json()
    return found


async def converted(api: KeyedClient, config: EventConfig, **fields: Any) -> dict[str, Any]:
    response = await api.post(f"/api/event-configs/{config.id}/test-conversion", **fields)
    assert response.status == 200, response.body
    found: dict[str, Any] = response.json()
    return found


async def both(
    services: Services, client: Client, api: KeyedClient, secret: str, link: Link, of: EventConfig
) -> str:
    """Store a test click and its test conversion, and return the id of the click."""
    click_id: str = (await clicked(client, secret, link))["click_id"]
    await drained(services)
    await converted(api, of, click_id=click_id, value=12.5)
    await drained(services)
    return click_id


async def rows(api: KeyedClient, account: Account, path: str, query: str = "") -> list[Any]:
    response = await api.get(f"{path}?accountId={account.id}{query}")
    assert response.status == 200, response.body
    found: list[Any] = response.json()["rows"]
    return found


def recent_days() -> dict[str, str]:
    """Return today, and yesterday: what was made before midnight is of it."""
    return {"from": day_of(now() - timedelta(days=1)), "to": day_of(now())}


async def report(
    api: KeyedClient, account: Account, by: str, filters: dict[str, Any] | None = None
) -> tuple[dict[str, dict[str, Any]], dict[str, Any]]:
    """Return the figures of each row of these days by its name, and the totals."""
    response = await api.post(
        "/api/reports",
        accountId=str(account.id),
        dateRange=recent_days(),
        groupBy=by,
        filters=filters or {},
    )
    assert response.status == 200, response.body
    found = response.json()
    named = {row["name"]: {one: row[one] for one in FIGURES} for row in found["rows"]}
    return named, {one: found["totals"][one] for one in FIGURES}


async def test_a_test_click_is_what_its_caller_s_visit_would_be(world: World, link: Link) -> None:
    made = await clicked(world.client, world.secret, link)
    assert made["location"] == (
        f"https://shop.example/offer?c=DE&b=Chrome&click_id={made['click_id']}"
    )
    [click] = await journaled_clicks(world.services)
    assert (UUID(bytes=click.id), click.test) == (UUID(made["click_id"]), True)
    assert (UUID(bytes=click.account_id), UUID(bytes=click.link_id)) == (world.account.id, link.id)
    assert (click.address, click.user_agent, click.edge_country) == ("127.0.0.1", CHROME, "DE")
    assert (click.referrer, click.query) == ("", "")


async def test_lists_show_tests_as_tests_and_filter_by_them(
    world: World,
    link: Link,
    config: EventConfig,
) -> None:
    click_id = await both(world.services, world.client, world.api, world.secret, link, config)
    await world.client.get("/c/a", User_Agent=CHROME)
    await drained(world.services)
    shown = {row["id"]: row for row in await rows(world.api, world.account, "/api/clicks")}
    assert len(shown) == 2
    test = shown.pop(click_id)
    [real] = shown.values()
    assert (test["test"], test["unique"], test["conversions"]) == (True, True, 0)
    assert (real["test"], real["unique"]) == (False, True)
    for filters, expected in {
        "&tests=only": [click_id],
        f"&tests=only&link={link.id}&country=DE": [click_id],
        f"&tests=only&link={new_id()}": [],
        "&tests=exclude": [real["id"]],
        "&tests=include": [real["id"], click_id],
    }.items():
        found = await rows(world.api, world.account, "/api/clicks", filters)
        assert [row["id"] for row in found] == expected, filters
    [event] = await rows(world.api, world.account, "/api/conversions", "&status=test")
    assert (event["attribution"], event["click_id"], event["value"]) == ("test", click_id, 12.5)
    assert (event["link"]["internal_name"], event["country"]) == ("Spring", "DE")
    assert event["click"]["test"] is True


async def test_followers_of_feeds_get_tests_once(
    world: World,
    link: Link,
    config: EventConfig,
) -> None:
    since = {
        path: (await world.api.get(f"{path}?accountId={world.account.id}")).json()["since_cursor"]
        for path in ("/api/clicks", "/api/conversions")
    }
    click_id = await both(world.services, world.client, world.api, world.secret, link, config)
    [click] = await rows(world.api, world.account, "/api/clicks", f"&since={since['/api/clicks']}")
    [event] = await rows(
        world.api, world.account, "/api/conversions", f"&since={since['/api/conversions']}"
    )
    assert (click["id"], click["test"]) == (click_id, True)
    assert (event["click_id"], event["attribution"]) == (click_id, "test")
    for filters in ("&tests=exclude", "&bots=only"):
        query = f"&since={since['/api/clicks']}{filters}"
        assert await rows(world.api, world.account, "/api/clicks", query) == []


async def test_only_the_report_of_tests_has_them(
    world: World,
    link: Link,
    config: EventConfig,
) -> None:
    await both(world.services, world.client, world.api, world.secret, link, config)
    filters = {"tests": "only", "link": str(link.id), "country": "DE", "utm_source": "none"}
    for by, name in (
        *(("link", "Spring"), ("country", "Germany"), ("referrer", "Direct")),
        *(("event", "Purchase"), ("browser", "Chrome"), ("utm_source", "None")),
    ):
        tests, totals = await report(world.api, world.account, by, {"tests": "only"})
        row = {**NOTHING, "clicks": 1, "uniqueClicks": 1, "conversions": 1, "value": 12.5}
        row["payout"] = totals["payout"]
        assert totals == row
        if by == "event":
            row |= {"clicks": 0, "uniqueClicks": 0}
        assert tests[name] == row
        assert (await report(world.api, world.account, by, filters))[0] == tests
        # By one dimension from rollups, by several from the documents themselves.
        for others in (
            *(filters | {"country": "FR"}, {}, {"bots": "include"}),
            {"country": ["DE", "FR"], "browser": "Chrome"},
        ):
            assert await report(world.api, world.account, by, others) == ({}, NOTHING), others


async def test_nothing_else_counts_them(
    world: World,
    link: Link,
    config: EventConfig,
) -> None:
    await create_webhook(world.services, world.account.id)
    await both(world.services, world.client, world.api, world.secret, link, config)
    for collection in ("rollups", "deliveries"):
        assert await world.services.stores.mongodb[collection].count_documents({}) == 0
    counts = await live_state(world.services.stores.mongodb.reads, world.account.id, 0)
    assert (counts.clicks, counts.bots, counts.conversions) == (0, 0, 0)
    delays = await world.api.get(f"/api/conversions/delays?accountId={world.account.id}")
    assert delays.json()["conversions"] == 0
    async with world.services.stores.mongodb.reads.at_one_snapshot() as snapshot:
        counted = await count_day(snapshot, world.account.id, day_of(now()))
        checked = JointCheck(
            world.services.stores.mongodb.database, world.account.id, calendar_of(DEFAULT_ZONE)
        )
        assert await checked.wrong(day_of(now()), snapshot) == []
    assert (counted.clicks, counted.events, counted.differences()) == (0, 0, {})
    await ledger.check(world.services)


async def test_a_test_takes_neither_the_cap_nor_the_first_visit_of_real_ones(
    world: World,
    link: Link,
    config: EventConfig,
) -> None:
    await world.services.conversions.account_rules.change(
        world.account.id, {"max_per_click": 1, "max_value": 10}
    )
    await clicked(world.client, world.secret, link)
    await world.client.get("/c/a", User_Agent=CHROME, CF_IPCountry="DE")
    await drained(world.services)
    [real] = await rows(world.api, world.account, "/api/clicks", "&tests=exclude")
    assert real["unique"] is True
    for _ in range(2):  # also beyond the highest value
        await converted(world.api, config, click_id=real["id"], value=99)
    await drained(world.services)
    sent = await world.client.get(f"/api/event?pbk={config.pbk}&click_id={real['id']}&value=5")
    assert sent.status == 200, sent.body
    await drained(world.services)
    assert [one["status"] for one in await stored_events(world.services)] == ["test"] * 2 + [
        "attributed"
    ]
    [shown] = await rows(world.api, world.account, "/api/clicks", "&tests=exclude")
    assert shown["conversions"] == 1
    _, totals = await report(world.api, world.account, "link")
    assert (totals["clicks"], totals["conversions"], totals["value"]) == (1, 1, 5)
    await ledger.check(world.services)


@pytest.mark.parametrize("click_comes", ["first", "together", "later"])
async def test_a_conversion_that_anybody_reports_for_a_test_click_is_a_test(
    world: World,
    link: Link,
    config: EventConfig,
    click_comes: str,
) -> None:
    await create_webhook(world.services, world.account.id)
    click_id = (await clicked(world.client, world.secret, link))["click_id"]
    sent = await world.client.get(f"/api/event?pbk={config.pbk}&click_id={click_id}&value=3")
    assert sent.status == 200
    click, event = await journaled(world.services)
    batches = {"first": [[click], [event]], "together": [[click, event]]}
    for batch in batches.get(click_comes, [[event], [click]]):
        await applied(world.services, batch)
    [stored] = await stored_events(world.services)
    assert (stored["status"], stored["country"], stored["link_id"]) == ("test", "DE", link.id)
    assert (await ledger.totals(world.services))["conversions"] == 0
    assert await world.services.stores.mongodb["deliveries"].count_documents({}) == 0
    await ledger.check(world.services)


async def test_the_test_click_of_another_account_hides_no_conversion(
    world: World, link: Link
) -> None:
    """Otherwise a partner could name a test click of their own, and conversions would be free."""
    config = await create_event_config(world.services, world.other_account.id)
    await clicked(world.client, world.secret, link)
    [click] = await journaled_clicks(world.services)
    sent = await world.client.get(f"/api/event?pbk={config.pbk}&click_id={UUID(bytes=click.id)}")
    assert sent.status == 200
    await drained(world.services)
    [stored] = await stored_events(world.services)
    assert stored["status"] == "foreign_click"
    assert (await ledger.totals(world.services))["conversions"] == 1


async def test_tests_that_come_again_are_stored_once(
    world: World,
    link: Link,
    config: EventConfig,
) -> None:
    click_id = (await clicked(world.client, world.secret, link))["click_id"]
    [click] = await journaled_clicks(world.services)
    await drained(world.services)
    await converted(world.api, config, click_id=click_id, value=1)
    [event] = await journaled(world.services)
    for _ in range(3):
        await applied(world.services, [event, click])
    assert await world.services.stores.mongodb["clicks"].count_documents({}) == 1
    assert len(await stored_events(world.services)) == 1
    assert await world.services.stores.mongodb["rollups"].count_documents({}) == 0


async def test_a_test_that_cannot_be_made_is_refused_with_the_reason(
    world: World,
    link: Link,
    config: EventConfig,
) -> None:
    share = await create_event_config(
        world.services, world.account.id, payout_type=PayoutType.REV_SHARE, name="Share"
    )
    foreign = await create_click(world.services, world.other_account.id)
    await world.services.conversions.event_configs.change(config.id, {"active": False})
    await world.services.links.links.change(link.id, {"active": False})
    conversion = f"/api/event-configs/{share.id}/test-conversion"
    paused = f"/api/event-configs/{config.id}/test-conversion"
    click = f"/api/short-links/{link.id}/test-click"
    unknown: dict[str, Any] = {"value": 1, "click_id": str(new_id())}
    not_found = (404, "click_id: not found; a click is stored a moment after it was made")
    for path, sent, expected in (
        (click, {}, (400, "short link: is paused, so its visitors get 404")),
        (paused, {"value": 1}, (400, "event config: is paused, so its postback key is refused")),
        (conversion, {}, (400, "value: required, because the payout type is RevShare")),
        (conversion, {"value": "1"}, (400, "value: must be a finite number such as 12.50")),
        (conversion, {"value": True}, (400, "value: must be a finite number such as 12.50")),
        (conversion, unknown, not_found),
        (conversion, {"value": 1, "click_id": str(foreign)}, not_found),
    ):
        response = await world.api.post(path, **sent)
        assert (response.status, response.error) == expected, path
    await world.services.links.links.change(link.id, {"archived": True})
    assert (await world.api.post(click)).error == "short link: is archived, so its visitors get 404"
    assert await journaled(world.services) == []


async def test_a_share_shows_no_tests(world: World) -> None:
    response = await world.api.post(
        "/api/shares",
        accountId=str(world.account.id),
        name="Tests",
        report={"lastDays": 7, "filters": {"tests": "only"}},
    )
    assert (response.status, response.error) == (
        400,
        "report.filters.tests: a share shows no tests",
    )


async def test_a_report_of_too_many_tests_says_so(
    world: World,
    link: Link,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("tracker.reports.answers.counting_of_tests.MAX_TESTS", 1)
    for _ in range(2):
        await clicked(world.client, world.secret, link)
    await drained(world.services)
    asked: dict[str, Any] = {"dateRange": recent_days(), "groupBy": "link"}
    response = await world.api.post(
        "/api/reports", accountId=str(world.account.id), filters={"tests": "only"}, **asked
    )
    assert response.status == 400
    assert "at most 1 tests; ask for fewer days" in response.error

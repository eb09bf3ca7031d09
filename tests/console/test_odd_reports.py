"""Reports under addresses that nobody meant, and steps that are cut off."""

import asyncio
import re
from datetime import UTC, datetime, timedelta
from itertools import pairwise

import pytest
from playwright.async_api import Locator, Page, Route, expect

from tests.console.conftest import OpenPage
from tests.console.people import sign_in
from tests.console.report_queries import phones_and_desktops, query_of
from tests.conversions.scene import applied
from tests.factories import create_event_config, create_link, make_click, make_conversion
from tracker.accounts.accounts import Account
from tracker.clock import now, now_ms
from tracker.service.services import Services


@pytest.mark.parametrize(
    "query",
    [
        "period=constructor&measure=toString&panels=__proto__",
        "interval=minute&bots=maybe&compare=never&tagOperator=XOR&period=28",
        "from=2026-02-31&to=2026-03-03",
        "from=0000-01-01&to=0000-01-02&measure=%25",
    ],
)
async def test_what_an_address_cannot_mean_is_left_out(
    open_page: OpenPage, services: Services, account: Account, query: str
) -> None:
    await phones_and_desktops(services, account)
    async with open_page() as (page, _):
        await sign_in(services, page, account.id)
        await page.goto(f"/console/overview?{query}")
        await expect(page.locator(".tile").first.locator("strong")).to_have_text("5")
        await expect(page.locator(".tile", has_text="Clicks")).to_have_attribute(
            "aria-pressed", "true"
        )


async def test_a_filter_that_is_refused_can_be_removed(
    open_page: OpenPage, services: Services, account: Account
) -> None:
    await phones_and_desktops(services, account)
    async with open_page() as (page, problems):
        problems.expected.append("400 (Bad Request)")
        await sign_in(services, page, account.id)
        await page.goto("/console/overview?link=unknown&utm_campaign=spring%252C sale%2525")
        await expect(page.get_by_role("alert")).to_contain_text("filter")
        await page.get_by_role("button", name="Remove Link is").click()
        await expect(page.get_by_text("UTM campaign is spring, sale%")).to_be_visible()
        await expect(page.get_by_text("Nothing passes these filters")).to_be_visible()


async def test_conversions_without_a_link_are_no_filter(
    open_page: OpenPage, services: Services, account: Account
) -> None:
    config = await create_event_config(services, account.id, name="Purchase")
    own = {"account_id": account.id.bytes, "event_config_id": config.id.bytes}
    await applied(services, [make_conversion(1, None, at=now_ms(), **own)])
    async with open_page() as (page, _):
        await sign_in(services, page, account.id)
        await page.goto("/console/overview?measure=conversions")
        links = page.get_by_role("region", name="Links")
        await expect(links.get_by_text("No click")).to_be_visible()
        await expect(links.locator(".ranks button, .ranks a")).to_have_count(0)


async def drag(page: Page, series: Locator, begin: float, end: float) -> None:
    """Drag over a series, from one part of its width to another."""
    box = await series.locator("svg.lines").bounding_box()
    assert box is not None
    await page.mouse.move(box["x"] + begin * box["width"], box["y"] + 60)
    await page.mouse.down()
    await page.mouse.move(box["x"] + end * box["width"], box["y"] + 60, steps=3)
    await page.mouse.up()


@pytest.mark.parametrize(
    ("interval", "begin", "end", "days"),
    [
        ("month", 0.3, 0.7, ("2026-02-01", "2026-03-31")),
        ("month", 0.0, 0.3, ("2026-01-15", "2026-02-28")),
        ("week", 0.9, 1.0, ("2026-03-30", "2026-04-10")),
    ],
)
async def test_steps_that_are_dragged_over_are_all_that_is_shown_then(
    open_page: OpenPage,
    services: Services,
    account: Account,
    interval: str,
    begin: float,
    end: float,
    days: tuple[str, str],
) -> None:
    await create_link(services, account.id)
    async with open_page() as (page, _):
        await sign_in(services, page, account.id)
        await page.goto(f"/console/overview?from=2026-01-15&to=2026-04-10&interval={interval}")
        await expect(page.locator(".series svg.lines")).to_be_visible()
        await drag(page, page.locator(".series").first, begin, end)
        await expect(page.get_by_label("From")).to_have_value(days[0])
        assert (query_of(page)["from"], query_of(page)["to"]) == days


async def test_arrow_keys_scroll_a_wide_table_and_years_are_typed_digit_by_digit(
    open_page: OpenPage, services: Services, account: Account
) -> None:
    await phones_and_desktops(services, account)
    async with open_page(viewport={"width": 360, "height": 740}) as (page, _):
        await sign_in(services, page, account.id)
        await page.goto("/console/overview")
        heat = page.locator(".heat-map")
        await heat.get_by_text("As a table").click()
        table = heat.get_by_role("region")
        await table.focus()
        await page.keyboard.press("ArrowRight")
        assert "from" not in query_of(page)
        await page.get_by_label("Period").select_option("Own dates")
        asked = []
        page.on("request", lambda request: asked.append(request.url))
        await page.get_by_label("From").focus()
        await page.keyboard.type("02022026")
        await expect(page).to_have_url(re.compile("from=2026-02-02"))
        assert len([url for url in asked if "overview" in url]) <= 4


async def test_a_report_that_arrives_while_a_day_is_typed_takes_no_digit_away(
    open_page: OpenPage, services: Services, account: Account
) -> None:
    january = int(datetime(2026, 1, 15, 12, tzinfo=UTC).timestamp() * 1000)
    await applied(services, [make_click(account.id, at=january)])
    released = asyncio.Event()

    async def hold(route: Route) -> None:
        await released.wait()
        await route.continue_()

    async with open_page() as (page, _):
        await sign_in(services, page, account.id)
        await page.goto("/console/overview?from=2026-03-03&to=2026-03-05")
        clicks = page.locator(".tile", has_text="Clicks").first.locator("strong")
        await expect(clicks).to_have_text("0")
        await page.route("**/api/reports/overview*", hold)
        await page.get_by_label("From").focus()
        await page.keyboard.type("010")
        await expect(page).to_have_url(re.compile("from=2026-01-03"))
        released.set()
        await expect(clicks).to_have_text("1")
        await page.keyboard.type("22026")
        await expect(page).to_have_url(re.compile("from=2026-01-02"))


async def test_the_line_of_today_ends_now(
    open_page: OpenPage, services: Services, account: Account
) -> None:
    await applied(services, [make_click(account.id, at=now_ms())])
    moment = now()
    today, tomorrow = (one.date().isoformat() for one in (moment, moment + timedelta(days=1)))
    async with open_page() as (page, _):
        await sign_in(services, page, account.id)
        await page.goto(f"/console/overview?from={today}&to={tomorrow}&interval=hour&compare=none")
        series = page.locator(".series").first
        await series.get_by_text("As a table").click()
        rows = series.locator("tbody tr")
        await expect(rows).to_have_count(48)
        await expect(rows.last).to_contain_text("\N{EN DASH}")
        line = await series.locator("path.now").get_attribute("d")
        assert line is not None
        assert line.count("L") < 24


@pytest.mark.parametrize("days", [("2026-11-05", "2026-11-05"), ("2026-10-20", "2026-11-19")])
async def test_labels_below_the_axis_do_not_overlap(
    open_page: OpenPage, services: Services, account: Account, days: tuple[str, str]
) -> None:
    async with open_page() as (page, _):
        await sign_in(services, page, account.id)
        await page.goto(f"/console/overview?from={days[0]}&to={days[1]}&interval=hour")
        labels = page.locator(".series .labels text[text-anchor]")
        await expect(labels.first).to_be_visible()
        boxes = [await label.bounding_box() for label in await labels.all()]
        edges = [(box["x"], box["x"] + box["width"]) for box in boxes if box]
        assert len(edges) > 5
        assert all(end < start for (_, end), (start, _) in pairwise(edges))

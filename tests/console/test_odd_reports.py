"""Reports under addresses that nobody meant, and steps that are cut off."""

import asyncio
import re
from datetime import UTC, datetime

from playwright.async_api import Locator, Page, Route, expect

from tests.console.conftest import OpenConsole
from tests.console.report_queries import phones_and_desktops, query_of
from tests.conversions.scene import applied
from tests.factories import create_event_config, create_link, make_click, make_conversion
from tracker.accounts.accounts import Account
from tracker.clock import now_ms
from tracker.service.services import Services


async def test_a_filter_that_is_refused_can_be_removed(
    open_console: OpenConsole, services: Services, account: Account
) -> None:
    await phones_and_desktops(services, account)
    async with open_console(
        "/console/overview?link=unknown&utm_campaign=spring%252C sale%2525", "400 (Bad Request)"
    ) as page:
        await expect(page.get_by_role("alert")).to_contain_text("filter")
        await page.get_by_role("button", name="Remove Link is").click()
        await expect(page.get_by_text("UTM campaign is spring, sale%")).to_be_visible()
        await expect(page.get_by_text("Nothing passes these filters")).to_be_visible()


async def test_conversions_without_a_link_are_no_filter(
    open_console: OpenConsole, services: Services, account: Account
) -> None:
    config = await create_event_config(services, account.id, name="Purchase")
    own = {"account_id": account.id.bytes, "event_config_id": config.id.bytes}
    await applied(services, [make_conversion(1, None, at=now_ms(), **own)])
    async with open_console("/console/overview?measure=conversions") as page:
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


async def test_steps_that_are_dragged_over_are_all_that_is_shown_then(
    open_console: OpenConsole, services: Services, account: Account
) -> None:
    await create_link(services, account.id)
    async with open_console(
        "/console/overview?from=2026-01-15&to=2026-04-10&interval=month"
    ) as page:
        await expect(page.locator(".series svg.lines")).to_be_visible()
        await drag(page, page.locator(".series").first, 0.0, 0.3)
        await expect(page.get_by_label("From")).to_have_value("2026-01-15")
        assert (query_of(page)["from"], query_of(page)["to"]) == ("2026-01-15", "2026-02-28")


async def test_arrow_keys_scroll_a_wide_table_and_years_are_typed_digit_by_digit(
    open_console: OpenConsole, services: Services, account: Account
) -> None:
    await phones_and_desktops(services, account)
    async with open_console("/console/overview", viewport={"width": 360, "height": 740}) as page:
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
    open_console: OpenConsole, services: Services, account: Account
) -> None:
    january = int(datetime(2026, 1, 15, 12, tzinfo=UTC).timestamp() * 1000)
    await applied(services, [make_click(account.id, at=january)])
    released = asyncio.Event()

    async def hold(route: Route) -> None:
        await released.wait()
        await route.continue_()

    async with open_console("/console/overview?from=2026-03-03&to=2026-03-05") as page:
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

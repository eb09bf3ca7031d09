"""The first run: from a link over a click of one's own to the report of its conversion."""

import re
from urllib.parse import parse_qs, urlsplit
from uuid import UUID

import msgspec
import pytest
from playwright.async_api import Locator, Page, expect

from config.settings import Settings
from tests.console.conftest import OpenConsole, OpenPage
from tests.console.people import sign_in
from tests.conversions.scene import drained, stored_events
from tests.factories import CHROME, create_event_config, create_link
from tests.live.watching import telling
from tracker.access.roles import Role
from tracker.accounts.accounts import Account
from tracker.service.services import Services

FROM_GERMANY = {"CF-IPCountry": "DE"}


@pytest.fixture
def settings(settings: Settings) -> Settings:
    """Return settings of a service behind an edge that names the country."""
    return msgspec.structs.replace(settings, country_header="CF-IPCountry")


async def landed(page: Page) -> str:
    """Make the test click of the first steps, and return its id from the address it leads to."""
    async with page.expect_popup() as opening:
        await page.get_by_role("button", name="Make a test click").click()
    landing = await opening.value
    await landing.wait_for_url("**/healthz?click_id=*")
    [click_id] = parse_qs(urlsplit(landing.url).query)["click_id"]
    await landing.close()
    return click_id


async def test_a_new_account_is_led_from_a_link_to_the_report_of_its_own_conversion(
    open_page: OpenPage, services: Services, account: Account
) -> None:
    async with (
        telling(services),
        open_page(user_agent=CHROME, extra_http_headers=FROM_GERMANY) as (page, _),
    ):
        await sign_in(services, page, account.id)
        await page.goto("/console/overview")
        await page.get_by_role("link", name="Show me how it works").click()
        await expect(page.get_by_role("link", name="Live: 0 clicks")).to_be_visible()
        await page.get_by_role("button", name="Create a link").click()
        dialog = page.get_by_role("dialog")
        await dialog.get_by_label("Destination").fill(f"{services.settings.base_url}/healthz")
        await dialog.get_by_label("Name", exact=True).fill("Spring offer")
        await dialog.get_by_role("button", name="Create").click()
        click_id = await landed(page)
        await drained(services)
        await expect(page.get_by_text("Chrome on Windows, just now")).to_be_visible()
        await expect(page.get_by_text(f"click_id={click_id}")).to_be_visible()
        await page.get_by_role("button", name="Create “Purchase”").click()
        address = page.get_by_text(f"&click_id={click_id}&value=12.50")
        await expect(address).to_be_visible()
        await page.get_by_role("button", name="Send a test conversion").click()
        await expect(
            page.get_by_text(re.compile(r"^Test conversion \d+ is recorded"))
        ).to_be_visible()
        await drained(services)
        await expect(page.get_by_text("That is all there is to it.")).to_be_visible()
        await expect_live_tests(page)
        await page.go_back()
        await page.get_by_role("link", name="The report of your tests").click()
        await expect_counted_once(page)
        await page.get_by_role("button", name="Remove Only tests").click()
        await expect(tile(page, "Conversions")).to_have_text("0")
        async with page.expect_response("**/api/conversions?*status=test*"):
            await page.goto("/console/overview")
        await expect(page.get_by_role("link", name="Your links")).to_be_visible()
        await expect(page.get_by_role("link", name="Show me how it works")).to_have_count(0)
    [event] = await stored_events(services)
    assert (event["status"], event["click_id"]) == ("test", UUID(click_id))


async def expect_live_tests(page: Page) -> None:
    """Expect the click and the conversion among what landed, each as a test, and not counted."""
    await page.get_by_role("link", name="Watch clicks come in").click()
    rows = page.get_by_role("table", name="New clicks and conversions").locator("tbody tr")
    await expect(rows).to_have_count(2)
    await expect(rows.first.get_by_text("test", exact=True)).to_be_visible()
    await expect(rows.last.get_by_text("test click", exact=True)).to_be_visible()
    await expect(page.get_by_role("link", name="Live: 0 clicks in 5 minutes")).to_be_visible()


async def expect_counted_once(page: Page) -> None:
    """Expect the conversion under its link, country and source."""
    await expect(tile(page, "Conversions")).to_have_text("1")
    await expect(tile(page, "Clicks")).to_have_text("1")
    for name in ("Spring offer", "Germany", "Direct"):
        row = page.locator(".ranks li", has=page.get_by_title(name, exact=True))
        await expect(row.locator(".numeric")).to_have_text("1")


def tile(page: Page, name: str) -> Locator:
    return page.locator(".tile", has_text=name).locator("strong").first


async def test_a_visitor_s_click_and_conversion_are_no_steps(
    open_console: OpenConsole, services: Services, account: Account
) -> None:
    """Opening the link oneself is a visitor's click, as the page says."""
    link = await create_link(services, account.id, "a", f"{services.settings.base_url}/healthz")
    await create_event_config(services, account.id)
    async with open_console(f"/c/{link.slug}", user_agent=CHROME) as page:
        await drained(services)
        await page.goto("/console/start")
        await expect(page.get_by_role("button", name="Create a link")).to_be_visible()
        await page.get_by_role("button", name=f"Go on with “{link.internal_name}”").click()
        await expect(page.get_by_text("click, and it counts")).to_be_visible()
        await expect(page.get_by_text("First make the click.").last).to_be_visible()
        await landed(page)
        await drained(services)
        await expect(page.get_by_role("button", name="Send a test conversion")).to_be_visible()


async def test_who_may_change_nothing_is_told_who_can(
    open_console: OpenConsole, services: Services, account: Account
) -> None:
    await create_link(services, account.id)
    async with open_console("/console/start", role=Role.VIEWER) as page:
        await expect(page.get_by_text("Somebody who may change links")).to_be_visible()
        await expect(page.get_by_role("button", name="Make a test click")).to_have_count(0)

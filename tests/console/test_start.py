"""The first run: from a link over a live click to the report of its conversion."""

from playwright.async_api import expect

from tests.console.conftest import OpenPage
from tests.console.people import sign_in
from tests.conversions.scene import drained
from tests.factories import CHROME
from tests.live.watching import telling
from tracker.access.accounts import Account
from tracker.service.services import Services


async def test_a_new_account_is_led_from_a_link_to_its_report(
    open_page: OpenPage, services: Services, account: Account
) -> None:
    async with telling(services), open_page(user_agent=CHROME) as (page, _):
        await sign_in(services, page, account.id)
        await page.goto("/console/overview")
        await page.get_by_role("link", name="Show me how it works").click()
        await expect(page.get_by_role("link", name="Live: 0 clicks")).to_be_visible()
        await services.live.heard()
        await page.get_by_role("button", name="Create a link").click()
        dialog = page.get_by_role("dialog")
        await dialog.get_by_label("Destination").fill(f"{services.settings.base_url}/healthz")
        await dialog.get_by_role("button", name="Create").click()
        async with page.expect_popup() as opening:
            await page.get_by_role("link", name="Open http").click()
        landing = await opening.value
        await landing.wait_for_url("**/healthz?click_id=*")
        await landing.close()
        await drained(services)
        await expect(page.get_by_text("Chrome on Windows, just now")).to_be_visible()
        await page.get_by_role("button", name="Create “Purchase”").click()
        await page.get_by_role("button", name="Send a test conversion").click()
        await expect(page.get_by_text("Sent; it counts in a moment")).to_be_visible()
        await drained(services)
        await page.get_by_role("link", name="s report").click()
        tile = page.locator(".tile", has_text="Conversions").locator("strong")
        await expect(tile).to_have_text("1")

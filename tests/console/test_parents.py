"""The way of a visitor from link to link: pages of links and clicks, and panels of reports."""

from uuid import UUID

from playwright.async_api import expect

from tests.console.accessibility import assert_accessible
from tests.console.conftest import OpenConsole
from tests.conversions.scene import applied
from tests.factories import create_link, make_click, make_conversion
from tracker.accounts.accounts import Account
from tracker.clock import now_ms
from tracker.service.services import Services


async def test_a_link_shows_what_it_led_to_and_a_click_its_way(
    open_console: OpenConsole, services: Services, account: Account
) -> None:
    lander, offer = [
        await create_link(services, account.id, name, internal_name=name.title())
        for name in ("lander", "offer")
    ]
    first = make_click(account.id, link_id=lander.id.bytes, at=now_ms() - 5000)
    first_id = UUID(bytes=first.id)
    async with open_console(f"/console/links/{lander.id}") as page:
        await expect(page.get_by_role("heading", name="Report")).to_be_visible()
        await expect(page.get_by_role("heading", name="What it led to")).to_have_count(0)
    second = make_click(
        account.id, link_id=offer.id.bytes, at=now_ms(), query=f"click_id={first_id}"
    )
    sale = make_conversion(1, second.id, account_id=account.id.bytes, value="12", at=now_ms())
    await applied(services, [first, second, sale])
    async with open_console(f"/console/links/{lander.id}") as page:
        row = page.get_by_role("table", name="Links that it led to").locator("tbody tr")
        await expect(row).to_have_text(["Offer1112.00"])
        await page.get_by_role("link", name="Their report").click()
        await expect(page.get_by_text("Parent link is Lander")).to_be_visible()
        await page.get_by_role("button", name="Parent links").click()
        await expect(page.get_by_role("button", name="Lander", exact=True)).to_be_visible()
        await expect(page.locator(".tile").first).to_contain_text("1")
    async with open_console(f"/console/clicks/{first_id}") as page:
        rows = page.get_by_role("table", name="The way").locator("tbody tr")
        await expect(rows.first).to_contain_text("this click")
        await assert_accessible(page)
        await rows.last.get_by_role("link").first.click()
        await expect(page).to_have_url(f"/console/clicks/{UUID(bytes=second.id)}")
        await expect(rows.first).to_contain_text("Lander")
        await expect(rows.last).to_contain_text("this click")

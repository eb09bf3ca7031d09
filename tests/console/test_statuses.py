"""A report of conversions of every status, and in two currencies, as people look at it."""

from datetime import timedelta

from playwright.async_api import expect

from tests.console.conftest import OpenConsole
from tests.reports.api.statuses import with_statuses
from tracker.accounts.accounts import Account
from tracker.clock import now
from tracker.service.services import Services

RARE = ("Pending", "Rejected", "Refunded")


async def test_what_is_not_approved_is_told_beside_it_and_money_as_its_currency_does(
    open_console: OpenConsole, services: Services, account: Account
) -> None:
    async with open_console("/console/overview?period=7d") as page:
        await expect(page.locator(".tile")).to_have_count(7)
        await expect(page.get_by_role("button", name="Currencies")).to_have_count(0)
    await with_statuses(services, account, now() - timedelta(minutes=2))
    async with open_console("/console/overview?period=7d&measure=value") as page:
        tile = page.locator(".tile")
        await expect(tile).to_have_count(11)
        await expect(tile.filter(has_text="Payout")).to_contain_text("€4.00")
        await expect(tile.filter(has_text="Payout")).to_contain_text("+ US$50.00")
        await expect(tile.filter(has_text="Refunded")).to_contain_text("€43.00")
        await expect(tile.filter(has_text="Pending value")).to_contain_text("€20.00")
        links = page.get_by_role("region", name="Links")
        await expect(links.locator(".numeric")).to_have_text("€7.00 + US$500.00")
        await page.get_by_role("button", name="Currencies").click()
        region = page.get_by_role("region", name="Currencies")
        await expect(region.locator("li")).to_contain_text(["EUR", "USD"])
        await links.get_by_role("button", name="Details").click()
        table = page.get_by_role("dialog").get_by_role("table")
        for name in RARE:
            await expect(table.get_by_role("columnheader", name=name).first).to_be_visible()
        await expect(table).to_contain_text("€7.00 + US$500.00")

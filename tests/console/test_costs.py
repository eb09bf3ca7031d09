"""The page of costs, as people use it."""

from urllib.parse import parse_qs, urlsplit

from playwright.async_api import expect

from tests.console.conftest import OpenConsole
from tests.conversions.scene import applied, drained
from tests.factories import (
    CHROME,
    create_cost,
    create_event_config,
    create_link,
    make_click,
    make_conversion,
)
from tracker.accounts.accounts import Account
from tracker.clock import day_of, moment, now, now_ms
from tracker.service.services import Services

DAY_MS = 86_400_000
PERSON = {"User-Agent": CHROME}


async def test_yesterdays_cost_of_a_campaign_is_entered_and_replaced_and_restored(
    open_console: OpenConsole, services: Services, account: Account
) -> None:
    link = await create_link(services, account.id)
    clicks = [
        make_click(account.id, link_id=link.id.bytes, at=now_ms() - DAY_MS, query=query)
        for query in ("utm_campaign=spring", "utm_campaign=spring", "utm_campaign=summer")
    ]
    await applied(services, clicks)
    async with open_console("/console/costs") as page:
        for amount in ("30", "45.50"):
            await page.get_by_role("button", name="Enter a cost").click()
            await page.get_by_label("UTM campaign", exact=True).select_option("spring")
            await page.get_by_label("Amount").fill(amount)
            await page.get_by_role("button", name="Store").click()
            await expect(page.get_by_role("cell", name=amount)).to_be_visible()
        row = page.get_by_role("row").filter(has_text="spring")
        await expect(row.get_by_role("cell", name="2", exact=True)).to_be_visible()
        await row.get_by_role("button", name="Actions for spring").click()
        await page.get_by_role("menuitem", name="Earlier amounts").click()
        await page.get_by_role("button", name="Restore").click()
        await expect(row.get_by_role("cell", name="30.00")).to_be_visible()
        await row.get_by_role("button", name="Actions for spring").click()
        await page.get_by_role("menuitem", name="Delete").click()
        await page.get_by_role("button", name="Delete the cost").click()
        await expect(page.get_by_text("No costs yet")).to_be_visible()


async def test_the_cost_of_a_campaign_shows_its_roi(
    open_console: OpenConsole, services: Services, account: Account
) -> None:
    link, config = (
        await create_link(services, account.id),
        await create_event_config(services, account.id),
    )
    click = make_click(
        account.id, link_id=link.id.bytes, at=now_ms() - DAY_MS, query="utm_campaign=spring"
    )
    sale = make_conversion(
        1,
        click.id,
        at=click.at + 1,
        account_id=account.id.bytes,
        event_config_id=config.id.bytes,
        value="100",
        payout="50",
    )
    await applied(services, [click, sale])
    day = day_of(moment(click.at))
    await create_cost(services, account.id, first=day, last=day, value="nobody", amount=5 * 10**9)
    async with open_console("/console/costs") as page:
        await page.get_by_role("button", name="Enter a cost").click()
        await page.get_by_label("UTM campaign", exact=True).select_option("spring")
        await page.get_by_label("Amount").fill("40")
        await page.get_by_role("button", name="Store").click()
        await expect(page.get_by_role("cell", name="40.00")).to_be_visible()
        await page.goto(f"/console/overview?period=custom&from={day}&to={day}")
        cost = page.get_by_role("button", name="Cost", exact=False).filter(has_text="45.00")
        await expect(cost).to_contain_text("5.00 without a click")
        await page.goto(f"/console/overview?from={day}&to={day}&utm_campaign=spring")
        await expect(page.get_by_role("button").filter(has_text="ROI")).to_contain_text("25%")


async def test_the_cost_of_a_click_that_its_link_says_shows_its_roi(
    open_console: OpenConsole, services: Services, account: Account
) -> None:
    link = await create_link(services, account.id, "spring")
    config = await create_event_config(services, account.id, payout="0.5")
    async with open_console(f"/console/links/{link.id}") as page:
        await page.get_by_role("button", name="Edit", exact=True).click()
        dialog = page.get_by_role("dialog")
        await dialog.get_by_text("More options").click()
        await dialog.get_by_label("Cost of a click").fill("0.2")
        await dialog.get_by_role("button", name="Save").click()
        await expect(dialog).not_to_be_visible()
        clicked = await page.request.get("/c/spring", max_redirects=0, headers=PERSON)
        [click_id] = parse_qs(urlsplit(clicked.headers["location"]).query)["click_id"]
        query = f"pbk={config.pbk}&click_id={click_id}"
        assert (await page.request.get(f"/api/event?{query}")).ok
        await drained(services)
        await page.reload()
        await expect(page.locator(".tile", has_text="Cost").first).to_contain_text("0.20")
        await expect(page.locator(".tile", has_text="ROI")).to_contain_text("150%")


async def test_costs_are_found_by_their_days_and_one_without_a_click_says_so(
    open_console: OpenConsole, services: Services, account: Account
) -> None:
    day = now().date().isoformat()
    await create_cost(services, account.id, value="nobody")
    await create_cost(services, account.id, value="today", first=day, last=day)
    async with open_console("/console/costs?from=2026-01-31&to=2026-01-31") as page:
        row = page.get_by_role("row").filter(has_text="nobody")
        await expect(row.get_by_text("no click")).to_be_visible()
        await expect(page.get_by_text("today", exact=True)).to_have_count(0)

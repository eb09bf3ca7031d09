"""The overview, as people use it: its figures, filters, times and files."""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random
from typing import Any

import pytest
from playwright.async_api import Page, expect

from tests.console.conftest import OpenConsole, OpenPage
from tests.console.people import sign_in
from tests.console.report_queries import phones_and_desktops, query_of, share
from tests.console.scene import HOSTILE
from tests.factories import (
    create_event_config,
    create_link,
    create_webhook,
    make_click_document,
)
from tests.reports.history import store
from tracker.accounts.accounts import Account
from tracker.calendar import calendar_of
from tracker.clock import now
from tracker.service.services import Services


async def tile(page: Page, name: str) -> str:
    """Return the value of a tile."""
    return await page.locator(".tile", has_text=name).locator("strong").inner_text()


async def overview(page: Page) -> Any:
    """Return what the API answers to the request that the page made last."""
    async with page.expect_response("**/api/reports/overview") as answering:
        await page.reload()
    answer = await answering.value
    assert answer.status == 200, await answer.text()
    return await answer.json()


async def table(page: Page) -> list[list[str]]:
    """Return the rows of the series' table: when, now, before, change."""
    series = page.locator(".series").first
    await series.get_by_text("As a table").click()
    await expect(series.locator("tbody tr").first).to_be_visible()
    rows = await series.locator("tbody tr").all()
    return [await row.locator("th, td").all_inner_texts() for row in rows]


@pytest.mark.parametrize(
    ("zone", "interval", "steps"),
    [("Europe/Berlin", "hour", 49), ("Australia/Lord_Howe", "day", 27)],
)
async def test_the_figures_on_the_page_are_those_of_the_api_over_a_change_of_clocks(
    open_console: OpenConsole,
    services: Services,
    account: Account,
    zone: str,
    interval: str,
    steps: int,
) -> None:
    await services.stores.mongodb["accounts"].update_one(
        {"_id": account.id}, {"$set": {"time_zone": zone}}
    )
    link = await create_link(services, account.id)
    # Clocks change on 4 October at Lord Howe, and on 25 October in Berlin.
    start = datetime(2026, 10, 2, tzinfo=UTC)
    clicks = [
        make_click_document(
            account_id=account.id, link_id=link.id, at=start + n * timedelta(minutes=50)
        )
        for n in range(700)
    ]
    await store(services, Random(0), clicks, [], {account.id.bytes: calendar_of(zone)})
    days = ("2026-10-01", "2026-10-27") if interval == "day" else ("2026-10-24", "2026-10-25")
    async with open_console(
        f"/console/overview?from={days[0]}&to={days[1]}&interval={interval}"
    ) as page:
        await expect(page.locator(".tile")).to_have_count(7)
        answer = await overview(page)
        await expect(page.get_by_text(f"Times and days are those of {zone}.")).to_be_visible()
        rows = await table(page)
        assert [row[1] for row in rows] == [f"{step['clicks']}" for step in answer["series"]]
        assert await tile(page, "Clicks") == f"{answer['totals']['clicks']}"
        assert len(rows) == steps


async def test_clicking_rows_filters_and_the_address_keeps_it(
    open_console: OpenConsole, services: Services, account: Account
) -> None:
    await phones_and_desktops(services, account)
    async with open_console("/console") as page:
        await expect(page).to_have_url(f"{services.settings.base_url}/console/overview")
        await expect(page.locator(".tile").first.locator("strong")).to_have_text("5")
        await page.get_by_role("button", name="Germany").click()
        await expect(page.get_by_text("Country is Germany")).to_be_visible()
        await expect(page.locator(".tile").first.locator("strong")).to_have_text("3")
        await page.get_by_role("button", name="Campaign").click()
        scrolled = await page.evaluate("(scrollTo(0, 600), scrollY)")
        await page.get_by_role("button", name="spring, sale").click()
        await expect(page.get_by_text("UTM campaign is spring, sale")).to_be_visible()
        assert await page.evaluate("scrollY") == scrolled > 0
        await page.locator(".tile", has_text="Conversions").click()
        await page.reload()
        await expect(page.get_by_text("Country is Germany")).to_be_visible()
        await expect(page.get_by_text("UTM campaign is spring, sale")).to_be_visible()
        await expect(page.get_by_role("heading", name="Overview")).to_be_visible()
        assert query_of(page)["measure"] == "conversions"
        await page.go_back()
        await expect(page.get_by_text("UTM campaign is")).to_have_count(0)
        await page.get_by_role("button", name="Remove Country is Germany").click()
        await expect(page.locator(".tile").first.locator("strong")).to_have_text("5")
        await page.get_by_role("button", name=HOSTILE, exact=True).click()
        await expect(page.get_by_text(f"Link is {HOSTILE}")).to_be_visible()
        await expect(page.locator(".tile").first.locator("strong")).to_have_text("2")


async def test_filters_have_their_names_whatever_panels_are_open(
    open_page: OpenPage, services: Services, account: Account
) -> None:
    """There are no clicks, so no panel has a row either."""
    link = await create_link(services, account.id, internal_name="Spring")
    sale = await create_event_config(services, account.id, name="Sale")
    async with open_page() as (page, _):
        await sign_in(services, page, account.id)
        await page.goto(
            f"/console/overview?country=DE&device=tv&referrer=direct&bot=none"
            f"&link={link.id}&event={sale.id}&panels=map,domain"
        )
        for text in (
            "Country is Germany",
            "Device is TV",
            "Referrer is Direct",
            "Bot is People",
            "Link is Spring",
            "Event is Sale",
        ):
            await expect(page.get_by_text(text)).to_be_visible()


async def test_a_filter_is_found_by_search_and_the_long_tail_in_details(
    open_console: OpenConsole, services: Services, account: Account
) -> None:
    await phones_and_desktops(services, account)
    async with open_console("/console/overview") as page:
        await page.get_by_role("button", name="Filter").click()
        dialog = page.get_by_role("dialog")
        await dialog.get_by_label("By", exact=True).select_option("browser")
        await dialog.get_by_label("Search").fill("safa")
        await dialog.get_by_role("checkbox", name="Safari").check()
        await dialog.get_by_role("button", name="Apply").click()
        await expect(page.get_by_text("Browser is Safari")).to_be_visible()
        await expect(page.locator(".tile").first.locator("strong")).to_have_text("3")
        await page.get_by_role("button", name="Remove Browser").click()
        await page.locator(".report-card", has_text="Countries").get_by_text("Details of").click()
        await expect(dialog.get_by_role("row", name="France")).to_contain_text("2")
        await dialog.get_by_label("Search names").fill("germ")
        await expect(dialog.get_by_role("row", name="France")).to_have_count(0)
        await dialog.get_by_role("button", name="Germany").click()
        await expect(page.get_by_text("Country is Germany")).to_be_visible()


async def test_a_filter_says_what_is_left_out_and_a_click_on_its_chip_changes_it(
    open_console: OpenConsole, services: Services, account: Account
) -> None:
    await phones_and_desktops(services, account)
    async with open_console("/console/overview") as page:
        clicks, dialog = page.locator(".tile").first.locator("strong"), page.get_by_role("dialog")
        await page.get_by_role("button", name="Filter", exact=True).click()
        await dialog.get_by_label("Passes if it").select_option("is not")
        await dialog.get_by_role("checkbox", name="France").check()
        await dialog.get_by_label("By", exact=True).select_option("utm_campaign")
        await dialog.get_by_label("Passes if it").select_option("contains")
        await dialog.get_by_label("Texts").fill("SALE\nautumn, winter")
        await dialog.get_by_role("button", name="Apply").click()
        await expect(
            page.get_by_text("UTM campaign contains SALE or autumn, winter")
        ).to_be_visible()
        await expect(clicks).to_have_text("3")
        await page.get_by_role("button", name="Country is not France", exact=True).click()
        await expect(dialog.get_by_label("By", exact=True)).to_have_value("country")
        await expect(dialog.get_by_label("Passes if it")).to_have_value("is_not")
        await dialog.get_by_role("checkbox", name="France").uncheck()
        await dialog.get_by_role("checkbox", name="Germany").check()
        await dialog.get_by_role("button", name="Apply").click()
        await expect(clicks).to_have_text("0")
        await page.get_by_role("button", name="Remove UTM campaign").click()
        await expect(clicks).to_have_text("2")
        assert query_of(page) == {"country!not": "DE"}
        stranger_sees = await share(page, "Without Germany")
        await page.reload()
        await expect(page.get_by_text("Country is not Germany")).to_be_visible()
        await page.goto(stranger_sees)
        await expect(page.get_by_text("Country is not Germany")).to_be_visible()


async def test_periods_are_chosen_stepped_and_compared(
    open_console: OpenConsole, services: Services, account: Account
) -> None:
    await phones_and_desktops(services, account)
    async with open_console("/console/overview?period=yesterday") as page:
        clicks = page.locator(".tile").first
        await expect(clicks.locator("strong")).to_have_text("5")
        await expect(clicks).to_contain_text("new")
        await page.keyboard.press("ArrowLeft")
        await expect(clicks.locator("strong")).to_have_text("0")
        await expect(clicks).to_contain_text("\N{EN DASH}")
        day = (now() - timedelta(days=2)).date().isoformat()
        assert (query_of(page)["from"], query_of(page)["to"]) == (day, day)
        await expect(page.get_by_label("From")).to_have_value(day)
        await page.keyboard.press("ArrowRight")
        await expect(clicks.locator("strong")).to_have_text("5")
        await page.get_by_label("Comparison").select_option("Not compared")
        await expect(clicks).not_to_contain_text("new")
        await page.get_by_label("Period").select_option("Today")
        await expect(clicks.locator("strong")).to_have_text("0")
        await expect(page.get_by_role("button", name="The time after")).to_be_disabled()
        await page.goto("/console/overview?from=2026-03-01&to=2026-03-31")
        await expect(clicks.locator("strong")).to_have_text("0")
        await page.keyboard.press("ArrowLeft")
        await expect(page.get_by_label("From")).to_have_value("2026-02-01")
        assert query_of(page)["to"] == "2026-02-28"


async def test_a_file_has_exactly_what_is_shown(
    open_console: OpenConsole, services: Services, account: Account, tmp_path: Path
) -> None:
    await phones_and_desktops(services, account)
    async with open_console("/console/overview?country=DE&compare=none") as page:
        await expect(page.locator(".tile").first.locator("strong")).to_have_text("3")
        await page.get_by_role("button", name="Download as CSV").click()
        async with page.expect_download() as downloading:
            await page.get_by_role("menuitem", name="Links").click()
        await (await downloading.value).save_as(tmp_path / "links.csv")
    rows = (tmp_path / "links.csv").read_text().splitlines()
    assert rows[0].startswith("key,name,clicks,")
    assert [row.split(",")[1:3] for row in rows[1:]] == [["Spring", "3"]]


async def test_a_link_has_its_own_report_and_its_last_clicks(
    open_console: OpenConsole, services: Services, account: Account
) -> None:
    link = await phones_and_desktops(services, account)
    async with open_console(f"/console/links/{link.id}") as page:
        await expect(page.locator(".tile").first.locator("strong")).to_have_text("3")
        await expect(page.get_by_role("button", name="Germany")).to_be_visible()
        clicks = page.get_by_role("table", name="Last clicks")
        await expect(clicks.locator("tbody tr")).to_have_count(3)
        await expect(clicks.get_by_role("link", name="1", exact=True)).to_have_count(1)
        await page.get_by_role("button", name="Germany").click()
        await expect(page.get_by_text("Country is Germany")).to_be_visible()
        assert "/console/links/" in page.url


async def test_the_charts_of_a_webhook_are_shown(
    open_console: OpenConsole, services: Services, account: Account
) -> None:
    webhook = await create_webhook(services, account.id)
    await phones_and_desktops(services, account)
    done = {"at": now(), "milliseconds": 42, "code": 200, "answer": "", "error": None}
    change = {"$set": {"status": "delivered", "attempts": [done]}}
    await services.stores.mongodb["deliveries"].update_many({}, change)
    async with open_console(f"/console/webhooks/{webhook.id}") as page:
        await expect(page.get_by_text("42 ms").first).to_be_visible()
        await expect(page.get_by_text("The last 1 delivery by day").first).to_be_visible()

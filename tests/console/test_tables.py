"""Cross tables, and the rows that gained and lost most, as people use them."""

from collections import Counter
from datetime import timedelta
from pathlib import Path
from urllib.parse import urlsplit

from playwright.async_api import Page, Request, expect

from tests.console.accessibility import NARROW, assert_accessible
from tests.console.conftest import OpenConsole, OpenPage
from tests.console.people import sign_in
from tests.console.report_queries import IPHONE, query_of, share
from tests.conversions.scene import applied
from tests.factories import CHROME, create_link, make_click
from tracker.accounts.accounts import Account
from tracker.clock import now
from tracker.service.services import Services

OTHER_COUNTRIES = (
    *("AT", "AU", "BE", "BR", "CA", "CH", "CL", "CN", "CZ", "DK", "ES", "FI", "GB", "GR"),
    *("HU", "IE", "IN", "IT", "JP", "KR", "MX", "NL", "NO", "NZ", "PL", "PT", "SE"),
)


async def two_weeks(services: Services, account: Account) -> None:
    """Store clicks of yesterday and, of France alone, of the week before."""
    link = await create_link(services, account.id, "spring", internal_name="Spring")
    yesterday, before = ((now() - timedelta(days=days)).timestamp() for days in (1, 9))
    people = [("DE", IPHONE, "mail", yesterday)] * 3 + [("DE", CHROME, "social", yesterday)] * 2
    people += [("FR", CHROME, "mail", yesterday)] * 2 + [("FR", CHROME, "mail", before)] * 6
    people += [(country, CHROME, "", yesterday) for country in OTHER_COUNTRIES]
    clicks = [
        make_click(
            account.id,
            link_id=link.id.bytes,
            at=int(at * 1000),
            edge_country=country,
            user_agent=agent,
            address=f"203.0.113.{number}",
            query=f"utm_source={source}",
        )
        for number, (country, agent, source, at) in enumerate(people)
    ]
    await applied(services, clicks)


def requests_of(page: Page) -> Counter[str]:
    """Return the numbers of requests for reports that a page makes from now on, by path."""
    found: Counter[str] = Counter()

    def count(request: Request) -> None:
        path = urlsplit(request.url).path
        if path.startswith("/api/reports"):  # what is live loads when it likes
            found[path] += 1

    page.on("request", count)
    return found


async def names(page: Page) -> list[str]:
    """Return the names of the rows of the table that are seen, without the sums of all."""
    return await page.locator("tbody .cross-name > :last-child").all_inner_texts()


async def test_rows_unfold_by_keyboard_and_have_an_order_columns_and_conditions(
    open_console: OpenConsole, services: Services, account: Account
) -> None:
    await two_weeks(services, account)
    async with open_console("/console/overview?period=7d") as page:
        await page.get_by_role("link", name="Table", exact=True).last.click()
        await expect(page.get_by_role("heading", name="Table")).to_be_visible()
        assert query_of(page)["period"] == "7d"
        table = page.get_by_role("table")
        await expect(table.get_by_role("row", name="All")).to_contain_text("34")
        await expect(page.get_by_role("button", name="Germany", exact=True)).to_be_visible()
        assert (await names(page))[:2] == ["Germany", "France"]
        asked = requests_of(page)
        fold = page.get_by_role("button", name="Germany by device")
        await expect(fold).to_have_attribute("aria-expanded", "false")
        await fold.focus()
        await page.keyboard.press("Enter")
        await expect(table.get_by_role("row", name="Mobile")).to_contain_text("3")
        await expect(fold).to_have_attribute("aria-expanded", "true")
        assert asked == {"/api/reports": 1}
        assert (await names(page))[:4] == ["Germany", "Mobile", "Desktop", "France"]
        await table.get_by_role("button", name="Clicks").click()
        await expect(table.get_by_role("columnheader", name="Clicks")).to_have_attribute(
            "aria-sort", "ascending"
        )
        rows = page.locator("tbody .cross-name")
        await table.get_by_role("button", name="Change").click()
        await expect(rows.first).to_contain_text("France")
        await table.get_by_role("button", name="Change").click()
        await expect(rows.nth(0)).to_contain_text("Germany")
        await expect(rows.nth(1)).to_contain_text("Mobile")
        await expect(rows.nth(2)).to_contain_text("Desktop")
        assert query_of(page)["sort"] == "-change.clicks"
        more = page.get_by_role("button", name="more of")
        await more.click()
        await expect(more).to_have_count(0)
        countries = page.get_by_role("button", name="by device")
        await expect(countries).to_have_count(len(OTHER_COUNTRIES) + 2)
        await page.get_by_label("At least").fill("2")
        await page.keyboard.press("Enter")
        await expect(countries).to_have_count(2)
        await expect(table.get_by_role("row", name="All")).to_contain_text("34")
        assert query_of(page)["having"] == "clicks>=2"
        await page.get_by_label("Level 3").select_option("utm_source")
        await page.get_by_text("Columns").click()
        await page.get_by_role("checkbox", name="Value", exact=True).uncheck()
        await expect(table.get_by_role("columnheader", name="Value")).to_have_count(0)
        await page.reload()
        await fold.click()
        await page.get_by_role("button", name="Mobile by utm source").click()
        await expect(table.get_by_role("row", name="mail")).to_contain_text("3")
        await expect(table.get_by_role("columnheader", name="Value")).to_have_count(0)
        await page.goto("/console/table?levels=device")
        await expect(table.get_by_role("row", name="Mobile")).to_contain_text("3")
        await expect(table.get_by_role("columnheader", name="Value")).to_have_count(0)
        await expect(table.get_by_role("columnheader", name="Payout")).to_have_count(1)
        await page.goto("/console/table?period=7d&levels=weekday&columns=clicks")
        await expect(page.get_by_role("row", name="All")).to_contain_text("34")
        await page.goto(await share(page, "Weekdays"))
        await expect(page.get_by_role("row", name="All")).to_contain_text("34")


async def test_a_table_is_filtered_from_its_cells_saved_downloaded_and_shared(
    open_page: OpenPage, services: Services, account: Account, tmp_path: Path
) -> None:
    await two_weeks(services, account)
    query = "period=7d&levels=link,device,utm_source&columns=clicks,payout&having=clicks%3E%3D2"
    async with open_page() as (page, _), open_page(viewport=NARROW) as (client, _):
        await sign_in(services, page, account.id)
        await page.goto(f"/console/table?{query}&country=DE")
        await page.get_by_role("button", name="Spring by device").click()
        await page.get_by_role("button", name="Desktop", exact=True).click()
        await expect(page.get_by_text("Device is Desktop")).to_be_visible()
        await page.reload()
        await expect(page.get_by_text("Country is Germany")).to_be_visible()
        await page.get_by_role("button", name="Remove Device is Desktop").click()
        await expect(page.get_by_role("row", name="All")).to_contain_text("5")
        await page.get_by_role("button", name="Views").click()
        dialog = page.get_by_role("dialog")
        await dialog.get_by_label("Save what is shown as").fill("Sources")
        await page.keyboard.press("Enter")
        await page.goto("/console/overview")
        await page.get_by_role("button", name="Views").click()
        await dialog.get_by_role("link", name="Sources").click()
        await expect(page.get_by_role("heading", name="Table")).to_be_visible()
        await expect(page.get_by_label("Level 2")).to_have_value("device")
        async with page.expect_download() as downloading:
            await page.get_by_role("button", name="CSV").click()
        await (await downloading.value).save_as(tmp_path / "table.csv")
        rows = [row.split(",") for row in (tmp_path / "table.csv").read_text().splitlines()]
        columns = [rows[0].index(name) for name in ("name1", "name2", "name3", "clicks")]
        assert [[row[column] for column in columns] for row in rows[1:]] == [
            ["Spring", "", "", "5"],
            ["Spring", "Mobile", "", "3"],
            ["Spring", "Mobile", "mail", "3"],
            ["Spring", "Desktop", "", "2"],
            ["Spring", "Desktop", "social", "2"],
        ]
        assert {"value", "cost"}.isdisjoint(rows[0])
        await client.goto(await share(page, "Sources"))
        await client.get_by_role("button", name="Spring by device").click()
        await client.get_by_role("button", name="Mobile by utm source").click()
        row = client.get_by_role("row", name="mail")
        await expect(row).to_contain_text("3")
        await expect(row.get_by_role("button")).to_have_count(0)
        await assert_accessible(client)
        assert await client.evaluate("document.documentElement.scrollWidth") <= NARROW["width"]


async def test_the_overview_shows_what_gained_and_lost_most_within_its_request(
    open_console: OpenConsole, services: Services, account: Account
) -> None:
    await two_weeks(services, account)
    async with open_console("/console/overview?period=7d&movers=country") as page:
        gained, lost = (
            page.get_by_role("region", name=name) for name in ("Gained most", "Lost most")
        )
        await expect(gained.locator("li")).to_have_count(5)
        await expect(gained.locator("li").first).to_contain_text("Germany")
        await expect(lost.locator("li")).to_have_count(1)
        await expect(lost.locator("li")).to_contain_text("France")
        await expect(lost.locator("li")).to_contain_text("66.7%")
        asked = requests_of(page)
        await page.get_by_label("Gained and lost by").select_option("device")
        await expect(gained.locator("li").first).to_contain_text("Desktop")
        await expect(lost.locator("li")).to_have_count(0)
        assert asked == {"/api/reports/overview": 1}
        await gained.get_by_role("button", name="Desktop").click()
        await expect(page.get_by_text("Device is Desktop")).to_be_visible()
        await page.get_by_label("Comparison").select_option("Not compared")
        await expect(gained).to_have_count(0)

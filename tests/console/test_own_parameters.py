"""The sender's own parameters, from the settings over a click to its report, cost and share."""

from playwright.async_api import Page, expect

from tests.console.conftest import OpenConsole
from tests.console.report_queries import share
from tests.conversions.scene import applied, drained
from tests.factories import CHROME, create_event_config, create_link, make_conversion
from tracker.accounts.accounts import Account
from tracker.clock import now_ms
from tracker.service.services import Services


async def name_parameters(page: Page, names: str) -> None:
    """Name the account's parameters on the settings page."""
    form = page.locator("form", has=page.get_by_role("heading", name="Own parameters"))
    await form.get_by_label("Own parameters").fill(names)
    await form.get_by_role("button", name="Save").click()
    await expect(page.get_by_text("Saved")).to_be_visible()


async def open_links(services: Services, page: Page, account: Account, *queries: str) -> None:
    """Open a link of the account with each query, as visitors do."""
    await create_link(services, account.id, "spring")
    for query in queries:
        url = f"{services.settings.base_url}/c/spring?{query}"
        answer = await page.request.get(url, headers={"User-Agent": CHROME}, max_redirects=0)
        assert answer.status == 302
    await drained(services)


async def test_a_parameter_is_named_and_clicks_are_counted_and_filtered_by_it(
    open_console: OpenConsole, services: Services, account: Account
) -> None:
    async with open_console("/console/settings/account") as page:
        await name_parameters(page, "sub1, place")
        await open_links(services, page, account, "sub1=red", "sub1=red&place=top", "sub1=blue", "")
        await page.get_by_role("link", name="Overview").click()
        card = page.get_by_role("region", name="sub1")
        await expect(card.get_by_role("listitem")).to_contain_text(["red"])
        await card.get_by_role("button", name="red", exact=True).click()
        await expect(page.get_by_text("sub1 is red")).to_be_visible()
        await expect(page.locator(".tile").first.locator("strong")).to_have_text("2")
        await card.get_by_role("button", name="place").click()
        place = page.get_by_role("region", name="place")
        await expect(place.get_by_role("listitem").filter(has_text="top")).to_be_visible()
        await page.reload()
        await expect(page.get_by_text("sub1 is red")).to_be_visible()
        await place.get_by_role("button", name="Details of 2").click()
        await page.get_by_role("dialog").get_by_role("button", name="top").click()
        await expect(page.get_by_text("place is top")).to_be_visible()
        await expect(page.locator(".tile").first.locator("strong")).to_have_text("1")
        await page.get_by_role("button", name="Filter", exact=True).click()
        await page.get_by_label("By", exact=True).select_option("sub1")
        await expect(page.get_by_label("blue")).to_be_visible()


async def test_a_click_and_its_conversion_show_their_parameters(
    open_console: OpenConsole, services: Services, account: Account
) -> None:
    async with open_console("/console/settings/account") as page:
        await name_parameters(page, "sub1, place")
        await open_links(services, page, account, "sub1=a%3Db&place=top")
        click = await services.stores.mongodb["clicks"].find_one({})
        assert click is not None
        config = await create_event_config(services, account.id)
        own = {"account_id": account.id.bytes, "event_config_id": config.id.bytes}
        await applied(services, [make_conversion(7, click["_id"].bytes, at=now_ms(), **own)])
        await page.goto(f"/console/links/{click['link_id']}")
        await expect(page.get_by_role("cell", name="sub1=a=b, place=top")).to_be_visible()
        await page.goto("/console/conversions/7")
        await expect(page.get_by_text("a=b", exact=True)).to_be_visible()


async def test_a_cost_is_entered_and_a_report_is_shared_by_a_parameter(
    open_console: OpenConsole, services: Services, account: Account
) -> None:
    async with open_console("/console/settings/account") as page:
        await name_parameters(page, "sub1")
        await open_links(services, page, account, "sub1=red")
        await page.goto("/console/costs")
        await page.get_by_role("button", name="Enter a cost").click()
        await page.get_by_label("Clicks by").select_option("sub1")
        await page.get_by_label("sub1", exact=True).select_option("red")
        await page.get_by_label("Amount").fill("40")
        await page.get_by_role("button", name="Store").click()
        await expect(page.get_by_role("row").filter(has_text="red")).to_contain_text("sub1")
        await page.goto("/console/overview?parameter:sub1=red")
        await page.goto(await share(page, "Reds"))
        await expect(page.get_by_text("sub1 is red")).to_be_visible()
        card = page.get_by_role("region", name="sub1")
        await expect(card.get_by_role("listitem")).to_contain_text(["red"])


async def test_a_view_by_a_parameter_that_was_taken_out_says_so(
    open_console: OpenConsole, services: Services, account: Account
) -> None:
    await services.accounts.accounts.set_parameters(account.id, ["place"])
    path = "/console/overview?parameter:sub1=red&parameter:place=top"
    async with open_console(path, "400 (Bad Request)") as page:
        await expect(page.get_by_text("the account has no parameter sub1")).to_be_visible()
        await page.get_by_role("button", name="Remove sub1 is red").click()
        await expect(page.get_by_text("the account has no parameter sub1")).to_be_hidden()
        await expect(page.get_by_text("place is top")).to_be_visible()

"""UTM parameters in the list of links, and on the page of one."""

from playwright.async_api import Page, expect

from tests.console.conftest import OpenConsole
from tests.conversions.scene import applied
from tests.factories import create_link, make_click
from tracker.accounts.accounts import Account
from tracker.clock import now_ms
from tracker.service.services import Services


async def names(page: Page, *expected: str) -> None:
    links = page.locator("tbody a[href^='/console/links/']")
    await expect(links).to_have_text(list(expected))
    await expect(links).to_have_count(len(expected))


async def test_the_list_shows_utm_values_and_finds_the_links_that_share_one(
    open_console: OpenConsole, services: Services, account: Account
) -> None:
    for name, query in {
        "One": "utm_source=a,b&utm_medium=email",
        "Two": "utm_source=a,b",
        "Three": "utm_source=b",
    }.items():
        url = f"https://shop.example/?{query}"
        await create_link(services, account.id, name, url, internal_name=name)
    async with open_console("/console/links?sort=oldest") as page:
        await names(page, "One", "Two", "Three")
        await page.get_by_role("link", name="a,b", exact=True).first.click()
        await names(page, "One", "Two")
        await page.get_by_role("link", name="email", exact=True).click()
        await names(page, "One")
        await page.reload()
        await names(page, "One")
        await expect(page.get_by_text("UTM medium is email")).to_be_visible()
        href = await page.get_by_role("link", name="CSV").get_attribute("href")
        assert href is not None
        assert "&utm_source=a%2Cb&utm_medium=email" in href
        await page.get_by_role("button", name="Remove UTM medium is email").click()
        await names(page, "One", "Two")
        await page.goto("/console/links?utm_source=nobody")
        await page.get_by_role("button", name="Show all links").click()
        await names(page, "Three", "Two", "One")
        await page.locator("tbody").get_by_role("link", name="One", exact=True).click()
        facts = page.locator("dl.facts").first
        await expect(facts.get_by_text("UTM medium")).to_be_visible()
        await expect(facts.get_by_text("email", exact=True)).to_be_visible()


async def test_the_form_proposes_values_in_use(
    open_console: OpenConsole, services: Services, account: Account
) -> None:
    link = await create_link(services, account.id)
    clicks = [
        make_click(account.id, link_id=link.id.bytes, at=now_ms(), query=query)
        for query in ("utm_source=mail", "utm_source=face%22book", "")
    ]
    await applied(services, clicks)
    async with open_console("/console/links") as page:
        await page.get_by_role("button", name="New link").click()
        dialog = page.get_by_role("dialog")
        await dialog.get_by_label("Destination").fill("shop.example")
        await dialog.get_by_text("UTM parameters").click()
        await dialog.get_by_label("Source").focus()
        options = dialog.locator("datalist option[value]")
        await expect(options).to_have_count(2)
        values = [await one.get_attribute("value") for one in await options.all()]
        assert values == ['face"book', "mail"]
        await page.keyboard.type("mail")
        await dialog.get_by_label("Name of the template").fill("Weekly")
        await dialog.get_by_role("button", name="Save these values as a template").click()
        await expect(dialog.get_by_label("Template", exact=True)).to_have_value("Weekly")
        destination = dialog.get_by_label("Destination")
        await destination.fill("https://shop.example/a?utm_source=x&utm_term=y&b=1")
        await dialog.get_by_label("Template", exact=True).select_option("")
        await dialog.get_by_label("Template", exact=True).select_option("Weekly")
        await expect(destination).to_have_value("https://shop.example/a?b=1&utm_source=mail")
        await dialog.get_by_role("button", name="Delete it").click()
        await expect(dialog.get_by_label("Template", exact=True)).to_have_count(0)

"""UTM parameters of links: from the form or a file into the report, and in the list of links."""

from playwright.async_api import Page, expect

from tests.console.conftest import OpenConsole
from tests.conversions.scene import drained
from tests.factories import CHROME, create_link
from tracker.accounts.accounts import Account
from tracker.service.services import Services


async def test_a_link_of_the_form_is_reported_by_its_utm_source(
    open_console: OpenConsole, services: Services
) -> None:
    landing = f"{services.settings.base_url}/healthz"
    async with open_console("/console/links", user_agent=CHROME) as page:
        await page.get_by_role("button", name="New link").click()
        dialog = page.get_by_role("dialog")
        await dialog.get_by_label("Destination").fill(landing)
        await dialog.get_by_label("Slug").fill("spring")
        await dialog.get_by_text("UTM parameters").click()
        await expect(dialog.get_by_text("clicks count by them")).to_be_visible()
        await dialog.get_by_label("Source").fill("newsletter")
        await dialog.get_by_role("button", name="Create", exact=True).click()
        await expect(page.get_by_role("link", name="newsletter", exact=True)).to_be_visible()
        visitor = await page.context.new_page()
        await visitor.goto("/c/spring")
        assert visitor.url.startswith(f"{landing}?utm_source=newsletter&click_id=")
        await visitor.close()
        assert await drained(services) == 1
        await page.goto("/console/overview?period=today&panels=utm_source")
        source = page.get_by_role("button", name="newsletter")
        await expect(source).to_be_visible()
        await expect(page.get_by_role("button", name="None", exact=True)).to_have_count(0)
        await source.click()
        await expect(page.get_by_text("UTM source is newsletter")).to_be_visible()
        await expect(page.locator(".tile").first.locator("strong")).to_have_text("1")


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

from playwright.async_api import expect

from tests.console.conftest import OpenPage
from tests.console.people import sign_in
from tests.factories import create_link
from tracker.access.accounts import Account
from tracker.links.store import LinkFilter
from tracker.service.services import Services

LINES = """https://shop.example/offer spring Spring offer

https://shop.example/news - Newsletter of May
https://shop.example/sale?a=1,2"""


async def test_many_links_are_created_together_or_none(
    open_page: OpenPage, services: Services, account: Account
) -> None:
    taken = await create_link(services, account.id, "spring", internal_name="The first")
    async with open_page() as (page, problems):
        problems.expected.append("400 (Bad Request)")
        await sign_in(services, page, account.id)
        await page.goto("/console/links")
        await page.get_by_role("button", name="Create many").click()
        await page.get_by_label("One link a line").fill(LINES)
        await page.get_by_role("button", name="Create 3 links").click()
        await expect(page.get_by_role("alert")).to_contain_text("line 1: slug: already taken")
        assert (await services.links.page(account.id, LinkFilter(), 1, 25))[0] == [taken]
        await page.get_by_label("One link a line").fill(LINES.replace(" spring ", " may "))
        await page.get_by_role("button", name="Create 3 links").click()
        await expect(page.get_by_role("row")).to_have_count(5)
    made, _ = await services.links.page(account.id, LinkFilter(), 1, 25)
    assert {(one.internal_name, one.destination_url) for one in made} == {
        ("The first", taken.destination_url),
        ("Spring offer", "https://shop.example/offer"),
        ("Newsletter of May", "https://shop.example/news"),
        ("shop.example/sale", "https://shop.example/sale?a=1,2"),
    }

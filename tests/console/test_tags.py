"""The page of tags, as people use it."""

from playwright.async_api import expect

from tests.console.conftest import OpenConsole
from tests.factories import create_link
from tracker.accounts.accounts import Account
from tracker.service.services import Services


async def test_a_tag_is_created_renamed_undone_and_deleted(open_console: OpenConsole) -> None:
    async with open_console("/console/tags", "400") as page:
        await page.get_by_role("button", name="Create your first tag").click()
        await page.get_by_label("Name", exact=True).fill("Spring")
        await page.keyboard.press("Enter")
        await expect(page.get_by_role("cell", name="Spring", exact=True)).to_be_visible()
        await page.get_by_role("button", name="New tag").click()
        await page.get_by_label("Name", exact=True).fill("spring")
        await page.keyboard.press("Enter")
        await expect(page.get_by_label("Name", exact=True)).to_have_attribute(
            "aria-invalid", "true"
        )
        await page.keyboard.press("Escape")
        await page.get_by_role("button", name="Actions for Spring").click()
        await page.get_by_role("menuitem", name="Rename").click()
        await page.get_by_label("Name", exact=True).fill("Summer")
        await page.get_by_role("button", name="Rename").click()
        await expect(page.get_by_role("cell", name="Summer", exact=True)).to_be_visible()
        await page.get_by_role("button", name="Undo").click()
        await expect(page.get_by_role("cell", name="Spring", exact=True)).to_be_visible()
        await page.get_by_role("button", name="Actions for Spring").click()
        await page.get_by_role("menuitem", name="Delete").click()
        await page.get_by_role("button", name="Delete the tag").click()
        await expect(page.get_by_text("No tags yet")).to_be_visible()


async def test_the_number_of_links_leads_to_them(
    open_console: OpenConsole, services: Services, account: Account
) -> None:
    tag = await services.links.tags.create(account.id, "<img src=x onerror=alert(1)>")
    await create_link(services, account.id, tags=[tag.id])
    async with open_console("/console/tags") as page:
        link = page.get_by_role("link", name="1 link with <img src=x onerror=alert(1)>")
        await expect(link).to_have_attribute("href", f"/console/links?tags={tag.id}")

"""The dialogs of a report: accessible, wide enough for a phone, and usable by keyboard alone."""

import pytest
from playwright.async_api import Page, expect

from tests.console.accessibility import NARROW, assert_accessible
from tests.console.conftest import OpenConsole, OpenPage
from tests.console.people import sign_in
from tests.console.scene import HOSTILE, create_scene
from tests.factories import create_share, create_view
from tracker.access.roles import Role
from tracker.accounts.accounts import Account
from tracker.service.services import Services

LONG = HOSTILE + "W" * 20


async def open_dialog(page: Page, name: str) -> None:
    """Open a dialog by the keyboard alone."""
    if name == "palette":
        await page.keyboard.press("Control+k")
        await expect(page.get_by_role("combobox", name="Page, link or tag")).to_be_focused()
        await page.keyboard.type("onerror")
        await expect(page.get_by_role("option", name=HOSTILE).first).to_be_visible()
        return
    button = page.get_by_role("button", name=name, exact=name != "Details of").first
    await button.focus()
    await page.keyboard.press("Enter")
    if name == "Views":
        await page.get_by_label("Save what is shown as").fill(LONG)
        await page.keyboard.press("Enter")
        await expect(page.get_by_role("link", name=LONG)).to_be_visible()


@pytest.mark.parametrize("name", ["Filter", "Views", "Share", "Details of", "palette"])
async def test_a_dialog_of_the_report_is_accessible_and_fits_a_phone(
    open_console: OpenConsole, services: Services, account: Account, name: str
) -> None:
    await create_scene(services, account.id)
    async with open_console(
        "/console/overview?bots=include", viewport=NARROW, reduced_motion="reduce"
    ) as page:
        await expect(page.locator(".tile").first.locator("strong")).to_have_text("1")
        await open_dialog(page, name)
        dialog = page.get_by_role("dialog")
        await expect(dialog).to_be_visible()
        await expect(page.locator(".skeleton, [aria-busy=true]")).to_have_count(0)
        await assert_accessible(page)
        wide = "[...document.querySelectorAll('dialog, dialog *')].filter((one) =>"
        wide += f" one.getBoundingClientRect().right > {NARROW['width']} && !one.closest('svg'))"
        wide += ".map((one) => one.outerHTML.slice(0, 90))"
        assert await page.evaluate(wide) == []
        await page.keyboard.press("Escape")
        await expect(dialog).to_have_count(0)


async def test_a_viewer_is_offered_nothing_that_a_viewer_may_not_do(
    open_page: OpenPage, services: Services, account: Account
) -> None:
    scene = await create_scene(services, account.id)
    report = '{"lastDays":28,"panels":[]}'
    await create_share(services, account.id, HOSTILE, report)
    await create_view(services, account.id, HOSTILE)
    async with open_page(viewport=NARROW) as (page, _):
        await sign_in(services, page, account.id, Role.VIEWER)
        for path in ("/console/overview", f"/console/links/{scene.link}"):
            await page.goto(path)
            await expect(page.locator(".tile").first).to_be_visible()
            await expect(page.get_by_role("button", name="Share", exact=True)).to_have_count(0)
        await page.goto("/console/overview")
        await page.get_by_role("button", name="Views").click()
        dialog = page.get_by_role("dialog")
        await expect(dialog.get_by_role("link", name=HOSTILE)).to_be_visible()
        await expect(dialog.get_by_role("button", name="Delete")).to_have_count(0)
        await expect(dialog.get_by_label("Save what is shown as")).to_have_count(0)
        await page.keyboard.press("Enter")
        await page.goto("/console/settings/shares")
        await expect(page.get_by_text(HOSTILE)).to_be_visible()
        await expect(page.get_by_role("button", name="Revoke")).to_have_count(0)

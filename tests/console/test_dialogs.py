"""Every dialog of the console is accessible in both themes, with a click or two from its page."""

from typing import Final

import pytest
from playwright.async_api import expect

from tests.console.accessibility import assert_accessible, path_of
from tests.console.conftest import OpenConsole
from tests.console.scene import create_scene
from tracker.accounts.accounts import Account
from tracker.service.services import Services

MENU: Final = "Actions for"
DIALOGS: Final = {
    "/console/links": ["New link", "Create many", "Tags"],
    "/console/links/:id": ["Edit"],
    "/console/tags": ["New tag", f"{MENU} Rename", f"{MENU} Delete"],
    "/console/domains": ["Add a domain"],
    "/console/events": ["New event configuration", f"{MENU} Archive"],
    "/console/webhooks": ["New webhook"],
    "/console/webhooks/:id": ["Edit", "Rotate the secret"],
    "/console/settings/keys": ["Generate New Key"],
    "/console/settings/members": ["Invite"],
    "/console/costs": ["Enter a cost", f"{MENU} Earlier amounts", f"{MENU} Delete"],
    "/console/table": ["Filter", "Views", "Share"],
    "/console/conversions/:id": ["Correct"],
    "/console/imports": ["New import"],
}
"""The buttons that open them, by page. Some are in the menu of a row."""


@pytest.mark.parametrize("route", DIALOGS)
async def test_the_dialogs_of_a_page_are_accessible(
    open_console: OpenConsole, services: Services, account: Account, route: str
) -> None:
    scene = await create_scene(services, account.id)
    async with open_console(path_of(route, scene), reduced_motion="reduce") as page:
        for name in DIALOGS[route]:
            if name.startswith(MENU):
                await page.get_by_role("button", name=MENU).first.click()
                await page.get_by_role("menuitem", name=name.removeprefix(f"{MENU} ")).click()
            else:
                await page.get_by_role("button", name=name, exact=True).first.click()
            dialog = page.get_by_role("dialog")
            await expect(dialog).to_be_visible()
            await expect(page.locator(".skeleton, [aria-busy=true]")).to_have_count(0)
            await dialog.locator("details").evaluate_all(
                "(all) => all.forEach((one) => (one.open = true))"
            )
            await assert_accessible(page)
            await page.emulate_media(color_scheme="light")
            await page.keyboard.press("Escape")
            await expect(dialog).to_have_count(0)

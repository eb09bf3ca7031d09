"""Every page of the console, with hostile data in it: axe finds nothing, and nothing runs."""

from hashlib import sha256
from typing import Final

import pytest
from playwright.async_api import Page, expect

from tests.console.accessibility import AXE, NARROW, ROUTES, assert_accessible, path_of
from tests.console.conftest import OpenPage
from tests.console.people import sign_in
from tests.console.scene import HOSTILE, create_scene
from tests.factories import create_share
from tracker.accounts.accounts import Account
from tracker.service.services import Services

AXE_SHA256: Final = "29348999450cdf2849a8e70b7912fc2da85a849da39c0d0d5394f51d4a9ed95c"
STYLE: Final = "/console/style"
SHARED: Final = "/console/shared"
OUTSIDE: Final = ["/console/sign-in", "/console/join", SHARED, STYLE]
UNKNOWN: Final = "/console/no-such-page"

WIDER_LETTERS: Final = """
  const sheet = new CSSStyleSheet();
  sheet.replaceSync("* { letter-spacing: 0.12em !important }");
  document.adoptedStyleSheets.push(sheet);
"""
"""As in a browser with wider fonts, and as WCAG 1.4.12 asks for."""


def test_axe_is_the_file_of_its_makers() -> None:
    assert sha256(AXE.encode()).hexdigest() == AXE_SHA256


async def show(page: Page, path: str) -> None:
    """Open a page, and wait until nothing is loading and every part that folds is open."""
    await page.goto(path)
    await expect(page.locator("h1").first).to_be_visible()
    if path != STYLE:  # which shows what is loading
        await expect(page.locator(".skeleton, [aria-busy=true]")).to_have_count(0)
    await page.evaluate("document.querySelectorAll('details').forEach((one) => (one.open = true))")


async def share_token(services: Services, account: Account) -> str:
    """Share a report with the names of links; return the token."""
    report = (
        '{"lastDays":28,"bots":"include",'
        '"panels":[{"groupBy":"link"},{"groupBy":"country"},{"groupBy":"tag"}]}'
    )
    return (await create_share(services, account.id, HOSTILE, report, show_link_names=True))[1]


@pytest.mark.parametrize("route", [*ROUTES, *OUTSIDE, UNKNOWN])
async def test_a_page_is_accessible_in_both_themes_and_fits_a_phone(
    open_page: OpenPage, services: Services, account: Account, route: str
) -> None:
    scene = await create_scene(services, account.id)
    async with open_page(color_scheme="light", reduced_motion="reduce") as (page, _):
        if route not in OUTSIDE:
            await sign_in(services, page, account.id)
        path = path_of(route, scene)
        if route == SHARED:
            path += f"#{await share_token(services, account)}"
        await show(page, path)
        await assert_accessible(page)
        await page.set_viewport_size(NARROW)
        await page.evaluate(WIDER_LETTERS)
        width = await page.evaluate("document.documentElement.scrollWidth")
        assert width <= NARROW["width"]
        assert await page.locator("[onerror], img[src=x], [href^='javascript:' i]").count() == 0

"""The frame of every page: addresses, themes, shortcuts, and what signing in and out leaves."""

import pytest
from playwright.async_api import expect

from tests.console.conftest import OpenConsole, OpenPage
from tests.console.people import sign_in
from tests.factories import create_webhook
from tests.live.watching import telling
from tracker.access.roles import Role
from tracker.accounts.accounts import Account
from tracker.service.services import Services

HOME = "/console/overview"


async def test_a_stranger_is_asked_to_sign_in(open_page: OpenPage) -> None:
    async with open_page() as (page, _):
        await page.goto("/console/webhooks?page=2")
        await expect(page.get_by_role("heading", name="Sign in")).to_be_visible()
        await expect(page).to_have_url("/console/sign-in?next=%2Fconsole%2Fwebhooks%3Fpage%3D2")


@pytest.mark.parametrize("path", ["/", "/console", "/console/", HOME])
async def test_the_first_address_leads_to_the_overview(
    open_page: OpenPage, services: Services, account: Account, path: str
) -> None:
    async with open_page() as (page, _):
        await page.goto(path)
        await expect(page.get_by_role("heading", name="Sign in")).to_be_visible()
        await sign_in(services, page, account.id)
        await page.goto(path)
        await expect(page.get_by_role("heading", name="Overview", exact=True)).to_be_visible()
        await expect(page).to_have_url(HOME)


async def test_the_menu_is_one_row_on_a_small_laptop_beside_all_that_the_head_may_show(
    open_console: OpenConsole, services: Services, account: Account
) -> None:
    webhook = await create_webhook(services, account.id)
    await services.webhooks.webhooks.record_failure(webhook.id, webhook.created_at)
    name = {"$set": {"name": "Acme Outdoor Equipment and Travel"}}
    await services.stores.mongodb["accounts"].update_one({"_id": account.id}, name)
    # As wide as 1280 pixels are beside a scroll bar.
    size = {"width": 1265, "height": 800}
    async with telling(services), open_console("/console/tags", viewport=size) as page:
        await expect(page.get_by_role("link", name="Live: 0 clicks")).to_be_visible()
        menu = page.get_by_role("navigation", name="Main")
        await expect(menu.locator(".badge")).to_have_text("1 failing")
        rows = "links => new Set(links.map((one) => one.getBoundingClientRect().bottom | 0)).size"
        assert await menu.get_by_role("link").evaluate_all(rows) == 1


async def test_a_person_in_many_accounts_searches_for_another(
    open_page: OpenPage, services: Services, account: Account, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tracker.accounts.api.session.MAX_ACCOUNTS", 2)
    async with open_page() as (page, _):
        await sign_in(services, page, account.id)
        [member] = await services.accounts.members.list(account.id)
        for name in ("Berlin", "Paris", "Rome"):
            other = await services.accounts.accounts.create(name)
            await services.accounts.members.add(other.id, member.person_id, Role.EDITOR)
        await page.goto("/console/tags")
        await page.get_by_role("button", name=account.name).click()
        dialog = page.get_by_role("dialog", name="Switch account")
        await expect(dialog.get_by_role("listitem")).to_have_count(4)
        await dialog.get_by_label("Name").fill("ROM")
        await expect(dialog.get_by_role("listitem")).to_have_count(1)
        await dialog.get_by_role("button", name="Rome").click()
        await expect(page).to_have_url(HOME)
        await expect(page.get_by_role("button", name="Rome")).to_be_visible()


async def test_a_chosen_theme_outlives_a_reload_before_any_script_runs(open_page: OpenPage) -> None:
    background = "getComputedStyle(document.documentElement).backgroundColor"
    async with open_page(color_scheme="light") as (page, problems):
        problems.expected.append("ERR_FAILED")
        await page.goto("/console/style")
        light = await page.evaluate(background)
        await page.context.add_cookies(
            [{"name": "theme", "value": "dark", "url": page.url, "sameSite": "Lax"}]
        )
        await page.route("**/*.*js", lambda route: route.abort())
        await page.reload()
        assert await page.evaluate(background) != light


async def test_the_skip_link_leads_past_the_navigation_and_the_theme_button_goes_round(
    open_console: OpenConsole,
) -> None:
    async with open_console("/console/tags") as page:
        await expect(page.get_by_role("heading", name="Tags", level=1)).to_be_visible()
        await page.keyboard.press("Tab")
        await expect(page.get_by_role("link", name="Skip to the page")).to_be_focused()
        await page.keyboard.press("Enter")
        await expect(page.locator("main")).to_be_focused()
        root = page.locator("html")
        for label, theme in (("as the system", "light"), ("light", "dark"), ("dark", "")):
            await page.get_by_role("button", name=f"Theme: {label}").click()
            await expect(root).to_have_attribute("data-theme", theme)


async def test_keys_list_the_shortcuts_and_lead_to_pages(open_console: OpenConsole) -> None:
    async with open_console("/console/settings/security") as page:
        await expect(page.get_by_role("heading", name="Security")).to_be_visible()
        await page.keyboard.press("g")
        await page.keyboard.press("t")
        await expect(page).to_have_url("/console/tags")
        await expect(page.get_by_role("heading", name="Tags", level=1)).to_be_focused()
        await page.keyboard.press("?")
        dialog = page.get_by_role("dialog", name="Keyboard shortcuts")
        await expect(dialog.get_by_text("Create a tag")).to_be_visible()
        await page.keyboard.press("Escape")
        await expect(dialog).to_have_count(0)
        await page.keyboard.press("c")
        await page.get_by_label("Name", exact=True).fill("g?/c are text here")
        await expect(page.get_by_role("dialog")).to_have_count(1)


async def test_an_unknown_page_says_so_and_leads_back(open_console: OpenConsole) -> None:
    async with open_console("/console/tags/x/y") as page:
        await expect(page.get_by_role("heading", name="There is no such page")).to_be_visible()
        await expect(page.get_by_role("link", name="To the overview")).to_have_attribute(
            "href", HOME
        )


NETWORK = {"latency": 1, "downloadThroughput": -1, "uploadThroughput": -1}
"""A network of the browser's own, which is there also on a machine without one."""


async def test_a_lost_network_is_named(open_console: OpenConsole) -> None:
    async with open_console("/console/tags", "ERR_INTERNET_DISCONNECTED") as page:
        await expect(page.get_by_role("heading", name="Tags", level=1)).to_be_visible()
        network = await page.context.new_cdp_session(page)
        await network.send("Network.emulateNetworkConditions", {"offline": True, **NETWORK})
        await expect(page.get_by_text("This device is offline")).to_be_visible()
        await network.send("Network.emulateNetworkConditions", {"offline": False, **NETWORK})
        await expect(page.get_by_text("This device is offline")).to_have_count(0)

"""Shared reports, saved views, and the command palette, as people use them."""

from urllib.parse import urlsplit

from playwright.async_api import expect

from tests.console.conftest import OpenConsole, OpenPage
from tests.console.people import sign_in
from tests.console.report_queries import share
from tests.console.scene import HOSTILE
from tests.conversions.scene import applied
from tests.factories import create_link, create_share, make_click
from tracker.access.roles import Role
from tracker.accounts.accounts import Account
from tracker.clock import now_ms
from tracker.service.services import Services

PASSWORD = "a few unrelated words"


async def a_click(services: Services, account: Account) -> None:
    link = await create_link(services, account.id, "spring", internal_name="Secret offer")
    click = make_click(account.id, link_id=link.id.bytes, at=now_ms(), edge_country="DE")
    await applied(services, [click])


async def test_a_stranger_sees_what_is_shared_until_it_is_revoked(
    open_page: OpenPage, services: Services, account: Account
) -> None:
    await a_click(services, account)
    async with open_page() as (page, _), open_page() as (stranger, problems):
        problems.expected += ["401 (Unauthorized)", "404 (Not Found)"]
        await sign_in(services, page, account.id)
        await page.goto("/console/overview?country=DE")
        link = await share(page, HOSTILE, PASSWORD)
        asked: set[str] = set()
        stranger.on("request", lambda request: asked.add(urlsplit(request.url).path))
        await stranger.goto(link)
        await stranger.get_by_label("Password").fill("another one of words")
        await stranger.get_by_role("button", name="Show it").click()
        await expect(stranger.get_by_text("That password is not right")).to_be_visible()
        await stranger.get_by_label("Password").fill(PASSWORD)
        await stranger.get_by_role("button", name="Show it").click()
        await expect(stranger.get_by_role("heading", name=HOSTILE)).to_be_visible()
        await expect(stranger.locator(".tile").first.locator("strong")).to_have_text("1")
        await expect(stranger.get_by_text("Link 1", exact=True)).to_be_visible()
        await expect(stranger.get_by_text("Country is Germany")).to_be_visible()
        assert "Secret offer" not in await stranger.content()
        await expect(stranger.get_by_role("button", name="Filter")).to_have_count(0)
        await expect(stranger.get_by_role("button", name="Germany")).to_have_count(0)
        await services.sharing.share_opens.store()
        await page.goto("/console/settings/shares")
        await expect(page.get_by_role("cell", name="1 time")).to_be_visible()
        await expect(page.get_by_text("by Ada")).to_be_visible()
        await page.get_by_role("button", name="Revoke").click()
        await page.get_by_role("dialog").get_by_role("button", name="Revoke").click()
        await expect(page.get_by_role("row", name=HOSTILE)).to_contain_text("Revoked")
        await stranger.reload()
        await expect(stranger.get_by_text("This link opens no report")).to_be_visible()
        assert {path for path in asked if path.startswith("/api/")} == {"/api/shared"}


async def test_a_view_is_saved_opened_and_deleted(
    open_console: OpenConsole, services: Services, account: Account
) -> None:
    await a_click(services, account)
    async with open_console(
        "/console/overview?country=DE&period=7d&measure=uniqueClicks", role=Role.EDITOR
    ) as page:
        await page.get_by_role("button", name="Views").click()
        dialog = page.get_by_role("dialog")
        await dialog.get_by_label("Save what is shown as").fill(HOSTILE)
        await dialog.get_by_role("button", name="Save this view").click()
        await expect(dialog.get_by_role("link", name=HOSTILE)).to_be_visible()
        await page.goto("/console/overview")
        await page.get_by_role("button", name="Views").click()
        await dialog.get_by_role("link", name=HOSTILE).click()
        await expect(page.get_by_text("Country is Germany")).to_be_visible()
        await expect(page.get_by_label("Period")).to_have_value("7d")
        await page.get_by_role("button", name="Views").click()
        await dialog.get_by_role("button", name="Delete").click()
        await expect(dialog.get_by_text("No views yet")).to_be_visible()


async def test_the_palette_finds_pages_links_and_tags_for_the_text_as_it_is(
    open_console: OpenConsole, services: Services, account: Account
) -> None:
    tag = await services.links.tags.create(account.id, HOSTILE)
    link = await create_link(services, account.id, "spring", internal_name="Spring offer")
    async with open_console("/console/tags") as page:
        await expect(page.get_by_role("heading", name="Tags")).to_be_visible()
        search = page.get_by_role("combobox", name="Page, link or tag")
        for text, option, leads in (
            ("spri", "Spring offer", f"/console/links/{link.id}"),
            ("onerror", HOSTILE, f"/console/overview?tag={tag.id}"),
            ("webh", "Webhooks", "/console/webhooks"),
        ):
            await page.keyboard.press("Control+k")
            await search.fill(text)
            await expect(page.get_by_role("option", name=option)).to_be_visible()
            await page.keyboard.press("Enter")
            await expect(page).to_have_url(f"{services.settings.base_url}{leads}")
        await page.keyboard.press("Control+k")
        await search.fill("spri")
        await expect(page.get_by_role("option", name="Spring offer")).to_be_visible()
        await search.fill("summer")
        await page.keyboard.press("Enter")
        await expect(page.get_by_text("Nothing is called that")).to_be_visible()
        await expect(page).to_have_url(f"{services.settings.base_url}/console/webhooks")


async def test_a_share_that_was_only_read_for_a_measure_is_not_called_never_opened(
    open_console: OpenConsole, services: Services, account: Account
) -> None:
    share, _ = await create_share(services, account.id)
    services.sharing.share_opens.count(share.id, 0)
    await services.sharing.share_opens.store()
    async with open_console("/console/settings/shares") as page:
        cell = page.get_by_role("cell").filter(has_text="0 times")
        await expect(cell.locator("time")).to_have_count(1)

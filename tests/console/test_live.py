"""Clicks as they land: in every browser that watches, with one stream for its tabs."""

import asyncio
from typing import Any

import pytest
from playwright.async_api import Page, Route, expect

from tests.console.browser import PATIENCE_MS
from tests.console.conftest import OpenPage
from tests.console.people import sign_in
from tests.console.scene import HOSTILE
from tests.conversions.scene import applied
from tests.factories import create_event_config, create_link, make_click, make_conversion
from tests.live.watching import telling
from tests.waiting import eventually
from tracker.access.roles import Role
from tracker.accounts.accounts import Account
from tracker.clock import now_ms
from tracker.service.services import Services


async def opened_live(services: Services, page: Page, account: Account) -> None:
    """Show the live page, and wait until it is told what lands."""
    await sign_in(services, page, account.id)
    await page.goto("/console/live")
    await expect(page.get_by_role("link", name="Live: 0 clicks in 5 minutes")).to_be_visible()


async def test_conversions_and_bots_are_told_apart(
    open_page: OpenPage, services: Services, account: Account
) -> None:
    config = await create_event_config(services, account.id, name=HOSTILE)
    click = make_click(account.id, at=now_ms(), user_agent="Googlebot/2.1")
    event = make_conversion(
        1,
        click.id,
        at=now_ms(),
        account_id=account.id.bytes,
        event_config_id=config.id.bytes,
        value="12.50",
    )
    async with telling(services), open_page() as (page, _):
        await opened_live(services, page, account)
        await applied(services, [click, event])
        table = page.get_by_role("table", name="New clicks and conversions")
        await expect(table.get_by_role("row", name="crawler")).to_be_visible()
        await expect(table.get_by_role("row", name=HOSTILE)).to_contain_text("12.50")


async def test_tabs_of_a_browser_share_a_stream_which_ends_with_the_session(
    open_page: OpenPage, services: Services, account: Account
) -> None:
    async with telling(services), open_page() as (page, problems):
        await opened_live(services, page, account)
        tabs = [await page.context.new_page() for _ in range(7)]
        for tab in tabs:
            await tab.goto("/console/tags")
            await expect(tab.get_by_role("link", name="Live: 0 clicks")).to_be_visible()
        assert len([*services.live.live.streams()]) == 1
        await applied(services, [make_click(account.id, at=now_ms())])
        for tab in tabs:
            await expect(tab.get_by_role("link", name="Live: 1 click in")).to_be_visible()
        problems.expected.append("401 (Unauthorized)")
        await services.stores.mongodb["sessions"].delete_many({})
        await eventually(lambda: not [*services.live.live.streams()])
        await expect(page.get_by_role("heading", name="Sign in")).to_be_visible()


@pytest.mark.parametrize("deed", ["signs out", "switches"])
async def test_what_the_tab_with_the_stream_does_to_the_session_all_tabs_notice(
    open_page: OpenPage, services: Services, account: Account, deed: str
) -> None:
    other = await services.accounts.accounts.create("Other")
    async with telling(services), open_page() as (page, _):
        await opened_live(services, page, account)
        members = services.stores.mongodb["members"]
        [member] = [row async for row in members.find({"account_id": account.id})]
        await services.accounts.members.add(other.id, member["person_id"], Role.VIEWER)
        await page.reload()
        await expect(page.get_by_role("link", name="Live: 0 clicks")).to_be_visible()
        tab = await page.context.new_page()
        await tab.goto("/console/tags")
        await expect(tab.get_by_role("link", name="Live: 0 clicks")).to_be_visible()
        if deed == "signs out":
            await page.get_by_role("button", name="Sign out").click()
            await expect(tab.get_by_role("heading", name="Sign in")).to_be_visible()
        else:
            await page.get_by_label("Account").select_option("Other")
            await expect(tab.get_by_label("Account")).to_have_value(str(other.id))
        await expect(tab.locator(".live-count.late")).to_have_count(0)


async def test_the_page_begins_with_what_landed_in_the_last_minutes(
    open_page: OpenPage, services: Services, account: Account
) -> None:
    link = await create_link(services, account.id, internal_name="Spring")
    own: dict[str, Any] = {"link_id": link.id.bytes}
    click = make_click(account.id, at=now_ms() - 60_000, referrer="https://news.example/a", **own)
    earlier = make_click(account.id, at=now_ms() - 6 * 60_000, **own)
    event = make_conversion(
        1, click.id, at=now_ms() - 30_000, account_id=account.id.bytes, value="12.50"
    )
    await applied(services, [earlier, click, event])
    async with telling(services), open_page() as (page, _):
        await sign_in(services, page, account.id)
        await page.goto("/console/live")
        rows = page.get_by_role("table", name="New clicks and conversions").locator("tbody tr")
        await expect(rows).to_contain_text(["12.50", "news.example"])
        await expect(page.get_by_text("Nothing yet")).to_have_count(0)
        await applied(services, [make_click(account.id, at=now_ms(), **own)])
        await expect(rows).to_have_count(3)
        # Another page, and back: each row is still there once.
        await page.get_by_role("navigation").get_by_role("link", name="Tags").click()
        await page.get_by_role("navigation").get_by_role("link", name="Live").click()
        await expect(rows).to_contain_text(["", "12.50", "news.example"])


async def test_what_lands_while_the_last_minutes_are_read_is_there_once(
    open_page: OpenPage, services: Services, account: Account
) -> None:
    async with telling(services), open_page() as (page, _):
        await opened_live(services, page, account)
        navigation = page.get_by_role("navigation")
        await navigation.get_by_role("link", name="Tags").click()
        asked, go_on = asyncio.Event(), asyncio.Event()

        async def hold(route: Route) -> None:
            asked.set()
            await go_on.wait()
            await route.continue_()

        await page.route("**/api/clicks*", hold)
        await navigation.get_by_role("link", name="Live").click()
        await asyncio.wait_for(asked.wait(), PATIENCE_MS / 1000)
        # It is both heard and read, as the feed is read after this.
        await applied(services, [make_click(account.id, at=now_ms())])
        rows = page.get_by_role("table", name="New clicks and conversions").locator("tbody tr")
        await expect(rows).to_have_count(1)
        async with page.expect_response("**/api/clicks*") as answering:
            go_on.set()
        assert len((await (await answering.value).json())["rows"]) == 1
        await page.evaluate("() => new Promise((done) => setTimeout(done))")
        await expect(rows).to_have_count(1)


async def test_what_landed_between_two_streams_is_shown_too(
    open_page: OpenPage, services: Services, account: Account
) -> None:
    async with telling(services), open_page() as (page, _):
        await opened_live(services, page, account)
        for stream in services.live.live.streams():
            stream.end("too_slow")
        await eventually(lambda: not [*services.live.live.streams()])
        await applied(services, [make_click(account.id, at=now_ms())])
        rows = page.get_by_role("table", name="New clicks and conversions").locator("tbody tr")
        await expect(rows).to_have_count(1)


async def test_a_conversion_that_settles_stays_one_row(
    open_page: OpenPage, services: Services, account: Account
) -> None:
    click = make_click(account.id, at=now_ms())
    event = make_conversion(1, click.id, at=now_ms(), account_id=account.id.bytes)
    async with telling(services), open_page() as (page, _):
        await opened_live(services, page, account)
        await applied(services, [event])
        row = page.locator("tbody tr", has=page.locator("a[href='/console/conversions/1']"))
        await expect(row).to_contain_text("pending")
        await applied(services, [click])
        await page.get_by_role("navigation").get_by_role("link", name="Tags").click()
        await page.get_by_role("navigation").get_by_role("link", name="Live").click()
        await expect(row).to_have_count(1)
        await expect(row).to_contain_text("attributed")

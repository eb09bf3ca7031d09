"""A report that takes longer than one request may: its page goes on by itself."""

import asyncio
from typing import Any

import pytest
from playwright.async_api import expect

from tests.console.conftest import OpenConsole, OpenPage
from tests.factories import create_share
from tracker.accounts.accounts import Account
from tracker.errors import TooSlow
from tracker.reports.answers import one_report
from tracker.reports.joint_counts.report_run import PROGRESS_HEADER
from tracker.service.services import Services


@pytest.fixture
def released(monkeypatch: pytest.MonkeyPatch) -> asyncio.Event:
    """Let reports take three requests, of which the last one waits for this event."""
    found, event, shares = one_report.found_rows, asyncio.Event(), iter(["0.30", "0.62"])

    async def slow(*given: Any) -> object:
        if share := next(shares, None):
            raise TooSlow("report: not done", 1, {PROGRESS_HEADER: share})
        await event.wait()
        return await found(*given)

    monkeypatch.setattr(one_report, "found_rows", slow)
    return event


async def test_a_long_report_shows_how_far_it_is_and_goes_on_by_itself(
    open_console: OpenConsole, released: asyncio.Event
) -> None:
    async with open_console("/console/overview", "503") as page:
        await expect(page.get_by_text("62% is counted")).to_be_visible()
        await expect(page.get_by_role("alert")).to_have_count(0)
        released.set()
        await expect(page.locator(".tile").first).to_be_visible()
        await expect(page.get_by_text("is counted")).to_have_count(0)


async def test_a_long_report_that_is_shared_goes_on_by_itself(
    open_page: OpenPage, services: Services, account: Account, released: asyncio.Event
) -> None:
    released.set()
    made = await create_share(services, account.id)
    async with open_page() as (page, problems):
        problems.expected.append("503")
        await page.goto(f"/console/shared#{made[1]}")
        await expect(page.locator(".tile").first).to_be_visible()


async def test_a_report_that_gets_no_further_is_an_error_with_a_way_to_try_again(
    open_console: OpenConsole, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def stuck(*_: object) -> object:
        raise TooSlow("report: not done", 1, {PROGRESS_HEADER: "0.30"})

    monkeypatch.setattr(one_report, "found_rows", stuck)
    async with open_console("/console/overview", "503") as page:
        await expect(page.get_by_role("alert")).to_contain_text("takes too long")
        await expect(page.get_by_role("button", name="Try again")).to_be_visible()

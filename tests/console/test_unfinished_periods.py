"""Periods that are not over, and changes: what the page says of them is what was compared."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any

import pytest
from playwright.async_api import Locator, Page, expect

from tests.console.accessibility import NARROW, violations
from tests.console.conftest import OpenPage
from tests.console.people import sign_in
from tests.factories import create_link, make_click_document, make_event_document
from tests.reports.history import store
from tracker.accounts.accounts import Account
from tracker.service.services import Services

NOW = datetime(2026, 10, 15, 4, 14, 37, tzinfo=UTC)
TODAY, YESTERDAY = datetime(2026, 10, 15, tzinfo=UTC), datetime(2026, 10, 14, tzinfo=UTC)


@pytest.fixture
def at_night(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let reports be read at NOW, by people whose day it is."""
    monkeypatch.setattr("tracker.reports.answers.reports.now", lambda: NOW)
    monkeypatch.setattr("tracker.accounts.api.session.now", lambda: NOW)


@asynccontextmanager
async def opened(
    open_page: OpenPage, services: Services, account: Account, query: str, **options: Any
) -> AsyncIterator[Page]:
    """Yield the overview in a browser whose clock shows NOW."""
    async with open_page(**options) as (page, _):
        await page.clock.set_fixed_time(NOW)
        await sign_in(services, page, account.id)
        await page.goto(f"/console/overview?{query}")
        await expect(page.locator(".tile").first).to_be_visible()
        yield page


async def visits(
    services: Services, account: Account, days: Mapping[datetime, int], **fields: Any
) -> None:
    """Store so many clicks of each day, from 00:10 on every 20 minutes."""
    link = await create_link(services, account.id, None, internal_name="Spring")
    clicks = [
        make_click_document(
            **{"account_id": account.id, "link_id": link.id, "country": "DE", **fields},
            at=day + timedelta(minutes=10 + 20 * number),
        )
        for day, count in days.items()
        for number in range(count)
    ]
    await store(services, Random(0), clicks, [])


def tile(page: Page, name: str) -> Locator:
    return page.locator(".tile", has_text=name)


def panel(page: Page, name: str) -> Locator:
    return page.get_by_role("region", name=name)


@pytest.mark.usefixtures("at_night")
async def test_today_is_compared_with_yesterday_up_to_now_and_says_so(
    open_page: OpenPage, services: Services, account: Account
) -> None:
    await visits(services, account, {TODAY: 12, YESTERDAY: 60})
    async with opened(open_page, services, account, "period=today") as page:
        # Yesterday had 13 clicks by 04:14, and 60 in all.
        clicks = tile(page, "Clicks")
        await expect(clicks.locator(".change")).to_have_text(
            "\N{MINUS SIGN}7.7% against 13 until 04:14 before"
        )
        await expect(page.get_by_text("Compared with Wed 14 Oct until 04:14")).to_be_visible()
        germany = panel(page, "Countries").get_by_role("listitem")
        await expect(germany).to_contain_text("Germany")
        await expect(germany.locator(".change")).to_contain_text("\N{MINUS SIGN}7.7%")
        line = page.get_by_role("slider")
        await line.focus()
        await line.press("Home")
        for _ in range(4):
            await line.press("ArrowRight")
        # 04:10 of today is missing.
        await expect(line).to_have_attribute(
            "aria-valuetext",
            "Thu 15 Oct, 04:00 (unfinished, until 04:14): 0 "
            "(before, Wed 14 Oct, 04:00 until 04:14: 1, \N{MINUS SIGN}100%)",
        )
        await page.get_by_text("As a table").first.click()
        row = page.get_by_role("row", name="04:00")
        await expect(row).to_have_text(
            "Thu 15 Oct, 04:00 (unfinished, until 04:14)01\N{MINUS SIGN}100%"
        )
        later = page.get_by_role("row", name="05:00")
        await expect(later).to_have_text("Thu 15 Oct, 05:00\N{EN DASH}3\N{EN DASH}")
        await page.get_by_label("Comparison").select_option("Not compared")
        await expect(page.get_by_text("Compared with")).to_have_count(0)
        await expect(page.locator("path.unfinished")).to_have_count(1)


@pytest.mark.usefixtures("at_night")
@pytest.mark.parametrize("measure", ["clicks", "conversionRate"])
@pytest.mark.parametrize(
    ("query", "steps"),
    [
        ("period=today", 5),
        ("period=7d", 7),
        ("period=28d&interval=week", 5),
        ("from=2026-08-01&to=2026-10-15&interval=month", 3),
        ("from=2026-10-12&to=2026-10-18", 4),
    ],
)
async def test_only_the_last_step_is_dashed_while_it_is_not_over(
    open_page: OpenPage, services: Services, account: Account, measure: str, query: str, steps: int
) -> None:
    await visits(services, account, {TODAY: 12, YESTERDAY: 30})
    async with opened(open_page, services, account, f"{query}&measure={measure}") as page:
        whole, dashed = page.locator("path.now"), page.locator("path.unfinished")
        await expect(dashed).to_have_css("stroke-dasharray", "5px, 5px")
        lines = [await one.get_attribute("d") or "" for one in (whole, dashed)]
        # The dashed line goes on from the end of the others.
        assert [line.count("L") for line in lines] == [steps - 2, 1]
        assert lines[0].replace("M", "L").split("L")[-1] == lines[1].split("L")[0].removeprefix("M")


@pytest.mark.usefixtures("at_night")
async def test_a_day_alone_that_is_not_over_is_a_dashed_dot_and_days_that_are_over_are_whole(
    open_page: OpenPage, services: Services, account: Account
) -> None:
    await visits(services, account, {TODAY: 12, YESTERDAY: 30})
    async with opened(open_page, services, account, "period=today&interval=day") as page:
        await expect(page.locator(".lines .dot.unfinished")).to_have_count(1)
        await page.get_by_label("Period").select_option("Yesterday")
        await expect(tile(page, "Clicks").locator("strong")).to_have_text("30")
        await expect(page.locator(".lines .unfinished")).to_have_count(0)
        await expect(page.get_by_text("Compared with Tue 13 Oct", exact=True)).to_be_visible()


@pytest.mark.usefixtures("at_night")
async def test_last_days_up_to_yesterday_are_chosen_and_kept(
    open_page: OpenPage, services: Services, account: Account
) -> None:
    await visits(services, account, {TODAY: 12, YESTERDAY: 30})
    async with opened(open_page, services, account, "period=7d") as page:
        clicks = tile(page, "Clicks").locator("strong")
        await expect(clicks).to_have_text("42")
        await page.get_by_label("Last day").select_option("Up to yesterday")
        await expect(clicks).to_have_text("30")
        await expect(page.get_by_text("Thu 8 Oct to Wed 14 Oct", exact=True)).to_be_visible()
        await expect(
            page.get_by_text("Compared with Thu 1 Oct to Wed 7 Oct", exact=True)
        ).to_be_visible()
        await page.reload()
        await expect(clicks).to_have_text("30")
        assert "until=yesterday" in page.url
        await page.get_by_label("Period").select_option("This month")
        await expect(clicks).to_have_text("42")
        await expect(page.get_by_label("Last day")).to_have_count(0)


async def trade(services: Services, account: Account) -> None:
    """Store clicks of two weeks: of four countries, two of them in one week only, and of bots."""
    link = await create_link(services, account.id, internal_name="Spring")
    counts = {
        YESTERDAY: {"DE": (200, 6), "FR": (100, 1), "TR": (50, 0)},
        YESTERDAY - timedelta(days=7): {"DE": (100, 2), "FR": (200, 5), "IT": (40, 0)},
    }
    clicks, events = [], []
    for day, of_day in counts.items():
        for country, (count, conversions) in of_day.items():
            for number in range(count):
                click = make_click_document(
                    account_id=account.id,
                    link_id=link.id,
                    country=country,
                    at=day + timedelta(minutes=number),
                )
                clicks.append(click)
                if number < conversions:
                    own = {"_id": len(clicks), "status": "attributed", "click_id": click["_id"]}
                    events.append(make_event_document(len(clicks), **(click | own)))
        bots = 9 if day == YESTERDAY else 3
        clicks += [
            make_click_document(
                account_id=account.id, link_id=link.id, at=day, bot="crawler", country="DE"
            )
            for _ in range(bots)
        ]
    await store(services, Random(0), clicks, events)


@pytest.mark.usefixtures("at_night")
async def test_each_row_of_a_panel_and_of_details_shows_its_change_in_a_column(
    open_page: OpenPage, services: Services, account: Account
) -> None:
    await trade(services, account)
    async with opened(open_page, services, account, "period=7d", viewport=NARROW) as page:
        countries = panel(page, "Countries")
        await expect(countries.get_by_text("Change", exact=True)).to_be_visible()
        for name, count, change in (
            ("Germany", "200", "+100%"),
            ("France", "100", "\N{MINUS SIGN}50%"),
            ("Türkiye", "50", "new"),
            ("Italy", "0", "\N{MINUS SIGN}100%"),
        ):
            row = countries.get_by_role("listitem").filter(has_text=name)
            await expect(row.locator(".numeric")).to_have_text(count)
            await expect(row.locator(".change")).to_contain_text(change)
        await expect(tile(page, "Rate").locator(".change")).to_contain_text("points")
        edges = "[...document.querySelectorAll('.ranks .change')]"
        edges += ".map((one) => one.getBoundingClientRect().right)"
        assert max(await page.evaluate(edges)) < NARROW["width"]
        await countries.get_by_text("Details of").click()
        dialog = page.get_by_role("dialog")
        france = dialog.get_by_role("row", name="France")
        await expect(france.locator(".change")).to_contain_text("\N{MINUS SIGN}50%")
        await expect(
            dialog.get_by_text("Compared with Fri 2 Oct to Thu 8 Oct until 04:14")
        ).to_be_visible()
        await dialog.get_by_role("button", name="Rate").click()
        await expect(france.locator(".change")).to_contain_text("\N{MINUS SIGN}1.5 points")
        cells = await france.locator("td").evaluate_all(
            "(all) => all.map((one) => one.dataset.label)"
        )
        assert cells[4:7] == ["Rate", "Change", "Value"]
        await expect(page.locator(".skeleton, [aria-busy=true]")).to_have_count(0)
        assert await violations(page) == []


@pytest.mark.usefixtures("at_night")
async def test_more_bots_are_neither_good_nor_bad(
    open_page: OpenPage, services: Services, account: Account
) -> None:
    await trade(services, account)
    async with opened(open_page, services, account, "period=7d&panels=bot") as page:
        for change in (
            tile(page, "Bots").locator(".change"),
            panel(page, "Bots").locator(".ranks .change"),
        ):
            await expect(change).to_contain_text("+200%")
            classes = await change.get_attribute("class") or ""
            assert not {"up", "down"} & set(classes.split())
        await expect(tile(page, "Clicks").locator(".change")).to_have_class("change up")

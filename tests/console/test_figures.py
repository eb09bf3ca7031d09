"""How figures are laid out: numbers on one line, scales with their meaning."""

from datetime import timedelta
from random import Random
from typing import Any

import pytest
from bson import Decimal128
from playwright.async_api import Locator, expect

from tests.console.conftest import OpenConsole
from tests.factories import (
    create_link,
    make_click_document,
    make_event_document,
)
from tests.reports.history import store
from tracker.accounts.accounts import Account
from tracker.clock import now
from tracker.service.services import Services

BROKEN = """(all) => all.filter((one) => {
  const range = document.createRange();
  range.selectNodeContents(document.createTreeWalker(one, NodeFilter.SHOW_TEXT).nextNode());
  const lines = new Set([...range.getClientRects()].map(({ top }) => Math.round(top)));
  const box = one.closest("button, td, li, div").getBoundingClientRect();
  const text = range.getBoundingClientRect();
  return lines.size > 1 || text.right > box.right + 1 || text.left < box.left - 1;
}).map((one) => one.textContent)"""
"""The texts of elements that take more than one line, or stick out of their box."""


async def broken(numbers: Locator) -> Any:
    await expect(numbers.first).to_be_visible()
    return await numbers.evaluate_all(BROKEN)


async def with_large_sums(services: Services, account: Account, value: str) -> None:
    link = await create_link(services, account.id)
    at = now() - timedelta(minutes=1)
    click = make_click_document(account_id=account.id, link_id=link.id, at=at)
    taken = {name: click[name] for name in click if name not in ("_id", "unique", "at")}
    event = make_event_document(
        1,
        **taken,
        at=at,
        click_id=click["_id"],
        status="attributed",
        value=Decimal128(value),
        payout=Decimal128("26111.99"),
    )
    await store(services, Random(0), [click], [event])


@pytest.mark.parametrize(
    ("width", "value", "shown_value"),
    [
        (1440, "1261119.98", "1,261,119.98"),
        (1024, "1261119.98", "1,261,119.98"),
        (390, "9007199254740991", "9,007,199,254,740,991"),
    ],
)
async def test_numbers_are_on_one_line_and_whole_in_tiles_and_details(
    open_console: OpenConsole,
    services: Services,
    account: Account,
    width: int,
    value: str,
    shown_value: str,
) -> None:
    await with_large_sums(services, account, value)
    async with open_console(
        "/console/overview?period=7d", viewport={"width": width, "height": 900}
    ) as page:
        await expect(page.locator(".tile", has_text="Value")).to_contain_text(shown_value)
        assert await broken(page.locator(".tile strong")) == []
        assert await page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        await page.get_by_role("region", name="Links").get_by_role("button", name="Details").click()
        dialog = page.get_by_role("dialog")
        await expect(dialog.get_by_role("table")).to_contain_text("26,111.99")
        assert await broken(dialog.locator("td.numeric")) == []
        if width > 390:
            main = await page.locator("main").bounding_box()
            shown = await dialog.bounding_box()
            assert main and shown
            assert shown["width"] >= main["width"] - 40
            box = dialog.locator(".table-box")
            assert await box.evaluate("(one) => one.scrollWidth <= one.clientWidth")


@pytest.mark.parametrize("theme", ["light", "dark"])
async def test_maps_say_what_their_shades_stand_for(
    open_console: OpenConsole, services: Services, account: Account, theme: str
) -> None:
    link = await create_link(services, account.id)
    at = now() - timedelta(minutes=1)
    clicks = [
        make_click_document(account_id=account.id, link_id=link.id, at=at, country=country)
        for country in ["DE"] * 36 + ["FR"] * 4 + ["unknown"] * 200
    ]
    await store(services, Random(0), clicks, [])
    async with open_console("/console/overview?panels=map", color_scheme=theme) as page:
        world, heat = page.locator(".world-map"), page.locator(".heat-map")
        await expect(world.locator(".legend > span")).to_have_text(["0", "36"])
        await expect(heat.locator(".legend > span")).to_have_text(["0", "240"])
        await expect(page.get_by_text("The darker")).to_have_count(0)
        # The shade of a value is the one that the legend has for it: 4 of 36 by a square root.
        fr = world.locator("title", has_text="up to 4")
        await expect(fr).to_have_text("over 1, up to 4")
        shades = "(one) => getComputedStyle(one.parentElement).fill"
        colour = await fr.evaluate(shades)
        shown = await world.locator("svg path.choosable.shade-2").evaluate_all(
            "(all) => all.map((one) => getComputedStyle(one).fill)"
        )
        assert shown == [colour]

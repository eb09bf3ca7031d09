"""The log of conversions and the page of one, as people use them."""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import orjson
import pytest
from playwright.async_api import expect

from tests.console.conftest import OpenPage
from tests.console.people import sign_in
from tests.conversions.scene import applied
from tests.factories import (
    create_event_config,
    create_link,
    create_webhook,
    make_click,
    make_event,
)
from tracker.access.accounts import Account
from tracker.clock import now_ms
from tracker.service.services import Services

DAY_MS = 86_400_000


async def test_the_log_is_filtered_by_its_address(
    open_page: OpenPage, services: Services, account: Account
) -> None:
    link = await create_link(services, account.id, "a", internal_name="Spring")
    config = await create_event_config(services, account.id, name="Purchase")
    click = make_click(account.id, link_id=link.id.bytes, at=now_ms())
    common: dict[str, Any] = {"account_id": account.id.bytes, "checked": True}
    found = make_event(1, click.id, at=now_ms(), event_config_id=config.id.bytes, **common)
    earlier = make_event(2, at=now_ms() - 5 * DAY_MS, value="12.50", **common)
    await applied(services, [click, found, earlier])
    async with open_page() as (page, _):
        await sign_in(services, page, account.id)
        await page.goto("/console/conversions")
        rows = page.locator("tbody tr")
        await expect(rows).to_have_count(2)
        await page.get_by_label("State").select_option("no click")
        await expect(rows).to_have_count(1)
        await expect(rows).to_contain_text("12.50")
        async with page.expect_download() as downloading:
            await page.get_by_role("link", name="CSV").click()
        _, row = Path(await (await downloading.value).path()).read_text().splitlines()
        assert ",12.50," in row
        await page.get_by_label("State").select_option("Every state")
        await page.get_by_label("Event configuration").select_option("Purchase")
        await expect(rows.get_by_role("link", name="Spring")).to_be_visible()
        await expect(page).to_have_url(f"/console/conversions?event_config_id={config.id}")
        await page.reload()
        await expect(rows).to_have_count(1)
        await page.get_by_label("Event configuration").select_option("Every event")
        until = (datetime.now(UTC) - timedelta(days=3)).date().isoformat()
        await page.get_by_label("to", exact=True).fill(until)
        await expect(rows).to_contain_text(["12.50"])
        await page.goto(f"/console/conversions?link_id={link.id}")
        await expect(rows).to_have_count(1)
        await page.get_by_role("button", name="Remove the filter by link").click()
        await expect(rows).to_have_count(2)
        await page.get_by_label("State").select_option("refused")
        await page.get_by_role("button", name="Show all").click()
        await expect(rows).to_have_count(2)


async def test_older_conversions_are_shown_below(
    open_page: OpenPage, services: Services, account: Account
) -> None:
    at = now_ms()
    events = [make_event(n, account_id=account.id.bytes, at=at - n) for n in range(1, 121)]
    await applied(services, events)
    async with open_page() as (page, _):
        await sign_in(services, page, account.id)
        await page.goto("/console/conversions")
        rows = page.locator("tbody tr")
        await expect(rows).to_have_count(50)
        await page.get_by_role("button", name="Show older ones").click()
        await expect(rows).to_have_count(100)
        await page.get_by_role("button", name="Show older ones").click()
        await expect(rows).to_have_count(120)
        await expect(page.get_by_role("button", name="Show older ones")).to_have_count(0)
        paths = await page.locator("tbody a").evaluate_all("all => all.map((one) => one.pathname)")
        assert paths == [f"/console/conversions/{number}" for number in range(1, 121)]


async def test_a_conversion_shows_its_click_metadata_and_deliveries(
    open_page: OpenPage, services: Services, account: Account
) -> None:
    link = await create_link(services, account.id, "a", internal_name="Spring")
    webhook = await create_webhook(services, account.id)
    click = make_click(account.id, link_id=link.id.bytes, at=now_ms(), query="utm_source=news")
    metadata = orjson.dumps({"plan": "gold", "order": 12345678901234567890}).decode()
    event = make_event(7, click.id, at=now_ms(), account_id=account.id.bytes, metadata=metadata)
    await applied(services, [click, event])
    async with open_page() as (page, _):
        await page.clock.install()
        await sign_in(services, page, account.id)
        await page.goto("/console/conversions")
        await page.locator("tbody a").first.click()
        await expect(page.get_by_role("heading", name="Conversion 7")).to_be_visible()
        await expect(page.get_by_text("found", exact=True)).to_be_visible()
        await expect(page.get_by_role("link", name="Spring")).to_be_visible()
        await expect(page.get_by_text("utm_source=news")).to_be_visible()
        await expect(page.locator(".json")).to_contain_text('"gold"')
        await expect(page.locator(".json")).to_contain_text("12345678901234567890")
        delivery = page.locator("details.delivery")
        await expect(delivery).to_contain_text(webhook.name)
        await delivery.locator("summary").click()
        await expect(delivery.get_by_text("waiting")).to_be_visible()
        await delivery.get_by_role("link", name=webhook.name).click()
        await expect(page.locator("summary", has_text="Conversion 7")).to_be_visible()
        failed = {"$set": {"status": "failed", "due_at": None}}
        await services.database["deliveries"].update_many({}, failed)
        await page.clock.fast_forward(6_000)  # after which the page looks again
        await expect(page.get_by_text("failed", exact=True)).to_be_visible()


@pytest.mark.parametrize("event_id", ["12", "nothing"])
async def test_a_conversion_that_is_none_is_said_to_be_none(
    open_page: OpenPage, services: Services, account: Account, event_id: str
) -> None:
    async with open_page() as (page, problems):
        problems.expected += ["404", "400"]
        await sign_in(services, page, account.id)
        await page.goto(f"/console/conversions/{event_id}")
        await expect(page.get_by_role("alert")).to_be_visible()

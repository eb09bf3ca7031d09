"""A shared report beside the one that was shared: the same days, measure, panels and rows."""

from datetime import timedelta
from typing import Any
from uuid import UUID

import msgspec
import orjson
from playwright.async_api import Page, Request, expect

from tests.console.conftest import OpenConsole, OpenPage
from tests.console.people import sign_in
from tests.console.report_queries import share
from tests.conversions.scene import applied
from tests.factories import create_link, create_share, make_click, make_conversion
from tracker.accounts.accounts import Account
from tracker.clock import now, now_ms
from tracker.service.services import Services
from tracker.sharing.api.shared_report import SharedReport


def sent(request: Request) -> Any:
    """Return the body of a request."""
    return orjson.loads(request.post_data or "")


async def nine_small_links_and_a_large_one(services: Services, account: Account) -> None:
    """Store nine links whose only click converts, and one of 22 clicks without a conversion."""
    records: list[Any] = []
    for number in range(10):
        link = await create_link(services, account.id, f"l{number}", internal_name=f"L{number}")
        source = f"utm_source={'mail' if number else 'social'}"
        click: dict[str, Any] = {
            "link_id": link.id.bytes,
            "at": now_ms(),
            "edge_country": "DE",
            "query": source,
        }
        count = 22 if number == 9 else 1
        records += [make_click(account.id, **click) for _ in range(count)]
        if number < 9:
            event = make_conversion(
                number, records[-1].id, at=now_ms(), account_id=account.id.bytes
            )
            records.append(event)
    await applied(services, records)


async def panels_of(page: Page) -> list[str]:
    """Return the text of each panel, its name and its rows."""
    await expect(page.locator(".ranks li").first).to_be_visible()
    cards = await page.locator(".report-card").all()
    return [await card.get_attribute("aria-label") or "" for card in cards]


async def rows_of(page: Page, panel: str) -> list[str]:
    return await page.get_by_role("region", name=panel).locator(".ranks li").all_inner_texts()


async def test_the_client_sees_the_measure_the_panels_and_the_rows_that_were_shared(
    open_page: OpenPage, services: Services, account: Account
) -> None:
    await nine_small_links_and_a_large_one(services, account)
    query = "period=today&country=DE&measure=conversionRate&panels=utm_source,map"
    async with open_page() as (page, _), open_page() as (client, _):
        await sign_in(services, page, account.id)
        await page.goto(f"/console/overview?{query}")
        shared_panels = await panels_of(page)
        assert {"Source", "Map"} < set(shared_panels)
        shared_rows = [await rows_of(page, panel) for panel in ("Links", "Source")]
        assert len(shared_rows[0]) == 8
        link = await share(page, "Rates", show_names=True)
        await client.goto(link)
        assert await panels_of(client) == shared_panels
        rate, clicks = (client.locator(".tile", has_text=name) for name in ("Rate", "Clicks"))
        await expect(rate).to_have_attribute("aria-pressed", "true")
        assert [(await rows_of(client, panel))[:8] for panel in ("Links", "Source")] == shared_rows
        await expect(client.get_by_role("button", name="Referrers")).to_have_count(0)
        await expect(client.locator(".change").first).to_be_visible()
        await clicks.click()
        links = client.get_by_role("region", name="Links").locator(".ranks li")
        await expect(links.first).to_have_text("L922 new")
        await page.goto(f"/console/overview?{query.replace('conversionRate', 'clicks')}")
        await panels_of(page)
        for panel in ("Links", "Source"):
            assert (await rows_of(client, panel))[:8] == await rows_of(page, panel)
        await rate.click()
        await expect(links.first).to_have_text("L0100% new")
        assert [(await rows_of(client, panel))[:8] for panel in ("Links", "Source")] == shared_rows


async def test_a_client_sees_costs_only_where_the_switch_is_on(
    open_page: OpenPage, services: Services, account: Account
) -> None:
    link = await create_link(services, account.id, "spring")
    click = make_click(account.id, link_id=link.id.bytes, at=now_ms())
    await applied(services, [msgspec.structs.replace(click, cost="0.2")])
    async with open_page() as (page, _), open_page() as (client, _):
        await sign_in(services, page, account.id)
        await page.goto("/console/overview?period=today")
        for costs in (True, False):
            await client.goto(await share(page, f"Costs {costs}", costs=costs))
            await expect(client.locator(".tile", has_text="Clicks")).to_be_visible()
            await expect(client.locator(".tile", has_text="ROI")).to_have_count(int(costs))


async def test_a_share_without_a_measure_has_the_first_rows_by_clicks(
    open_page: OpenPage, services: Services, account: Account
) -> None:
    await nine_small_links_and_a_large_one(services, account)
    report = '{"lastDays":1,"panels":[{"groupBy":"link","limit":2,"sort":"-conversionRate"}]}'
    _, token = await create_share(services, account.id, "Old", report, show_link_names=True)
    async with open_page() as (page, _):
        await page.goto(f"/console/shared#{token}")
        rows = page.locator(".ranks li")
        await expect(rows).to_have_text(["L922", "L01"])
        await page.locator(".tile", has_text="Rate").click()
        await expect(rows).to_have_text(["L0100%", "L1100%"])


async def test_every_period_of_the_overview_rolls_and_the_dialog_says_its_days(
    open_console: OpenConsole,
) -> None:
    async with open_console("/console/overview") as page:
        options = page.get_by_label("Period").locator("option")
        await expect(options.first).to_be_attached()
        periods = [await one.get_attribute("value") or "" for one in await options.all()]
        names = await options.all_inner_texts()
        assert {"yesterday", "week", "last_week", "month", "last_month", "90d"} < set(periods)
        for period, name in zip(periods, names, strict=True):
            if period == "own":
                continue
            before = now().date()
            async with page.expect_request("**/api/reports/overview") as asking:
                await page.goto(f"/console/overview?period={period}")
            seen = sent(await asking.value)["dateRange"]
            hint = await page.locator(".report-controls > .hint").first.inner_text()
            await page.get_by_role("button", name="Share", exact=True).click()
            dialog = page.get_by_role("dialog")
            await expect(dialog.get_by_text(f"Days: {hint} now.")).to_be_visible()
            await expect(dialog.get_by_text(f"“{name}” rolls")).to_be_visible()
            await dialog.get_by_label("Title").fill(period)
            async with page.expect_request("**/api/shares") as sharing:
                await dialog.get_by_role("button", name="Make the link").click()
            await expect(dialog.get_by_text("The report is shared")).to_be_visible()
            report = msgspec.convert(sent(await sharing.value)["report"], SharedReport)
            opened = [report.overview(UUID(int=0), day) for day in (before, now().date())]
            ranges = [(one.date_range.first, one.date_range.last) for one in opened]
            assert (seen["from"], seen["to"]) in ranges
            assert report.date_range is msgspec.UNSET
        await page.goto("/console/overview?from=2026-01-05&to=2026-01-11")
        await page.get_by_role("button", name="Share", exact=True).click()
        await expect(page.get_by_role("dialog").get_by_text("These days stay")).to_be_visible()
        await page.goto("/console/settings/shares")
        await expect(page.get_by_role("cell", name="Last week", exact=True)).to_be_visible()


async def test_the_list_says_which_shares_are_active_ended_and_revoked(
    open_console: OpenConsole, services: Services, account: Account
) -> None:
    shares = {
        name: await create_share(services, account.id, name)
        for name in ("Endless", "Ending", "Over", "Taken back")
    }
    ends = {"Ending": now() + timedelta(days=30), "Over": now() - timedelta(days=1)}
    for name, at in ends.items():
        change = {"$set": {"expires_at": at}}
        await services.stores.mongodb["shares"].update_one({"_id": shares[name][0].id}, change)
    revoked_id = shares["Taken back"][0].id
    await services.sharing.shares.revoke(revoked_id)
    revoked = await services.stores.mongodb["shares"].find_one({"_id": revoked_id})
    assert revoked is not None
    async with open_console("/console/settings/shares") as page:
        for name, state in (
            ("Endless", "Active, no end"),
            ("Ending", f"Active until {ends['Ending']:%-d %b %Y}"),
            ("Over", f"Ended {ends['Over']:%-d %b %Y}"),
            ("Taken back", f"Revoked {revoked['revoked_at']:%-d %b %Y}"),
        ):
            await expect(page.get_by_role("row", name=name)).to_contain_text(state)
        row = page.get_by_role("row", name="Taken back")
        await expect(row.get_by_role("button")).to_have_count(0)
        await expect(page.get_by_role("columnheader", name="Until")).to_have_count(0)


async def test_a_map_without_all_countries_is_a_list_of_the_first(
    open_page: OpenPage, services: Services, account: Account
) -> None:
    countries = ("DE", "DE", "FR")
    await applied(
        services, [make_click(account.id, at=now_ms(), edge_country=one) for one in countries]
    )
    async with open_page() as (page, _):
        for limit, name in ((1, "Countries"), (2, "Map")):
            report = {
                "lastDays": 1,
                "panels": [{"groupBy": "country", "limit": limit}],
                "measure": "clicks",
                "shown": ["map"],
            }
            stored = orjson.dumps(report).decode()
            _, token = await create_share(services, account.id, name, stored)
            await page.goto("/console/sign-in")
            await page.goto(f"/console/shared#{token}")
            await expect(page.get_by_role("heading", name=name, level=1)).to_be_visible()
            card = page.locator(".report-card")
            await expect(card).to_have_count(1)
            await expect(card).to_have_attribute("aria-label", name)

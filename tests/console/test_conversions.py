"""The log of conversions and the page of one, as people use them."""

import re
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, get_args
from uuid import UUID

import orjson
from playwright.async_api import expect

from tests.console.conftest import OpenConsole, OpenPage
from tests.console.people import sign_in
from tests.conversions.scene import applied, drained
from tests.factories import (
    create_event_config,
    create_link,
    create_webhook,
    make_click,
    make_conversion,
)
from tracker.access.roles import Role
from tracker.accounts.accounts import Account
from tracker.clicks.bots import REASONS
from tracker.clock import now_ms
from tracker.conversions.postbacks.aliases import AliasedParameter
from tracker.feeds.api.correction_schema import CorrectionReason
from tracker.service.services import Services

DAY_MS = 86_400_000


async def test_the_log_is_filtered_by_its_address(
    open_console: OpenConsole, services: Services, account: Account
) -> None:
    link = await create_link(services, account.id, "a", internal_name="Spring")
    config = await create_event_config(services, account.id, name="Purchase")
    click = make_click(account.id, link_id=link.id.bytes, at=now_ms())
    common: dict[str, Any] = {"account_id": account.id.bytes, "checked": True}
    found = make_conversion(1, click.id, at=now_ms(), event_config_id=config.id.bytes, **common)
    earlier = make_conversion(2, at=now_ms() - 5 * DAY_MS, value="12.50", **common)
    await applied(services, [click, found, earlier])
    async with open_console("/console/conversions") as page:
        rows = page.locator("tbody tr")
        await expect(rows).to_have_count(2)
        await page.get_by_label("State").select_option("no click")
        await expect(rows).to_have_count(1)
        await expect(rows).to_contain_text("12.50")
        async with page.expect_download() as downloading:
            await page.get_by_role("link", name="CSV").click()
        _, row = Path(await (await downloading.value).path()).read_text().splitlines()
        assert ",12.50," in row
        await page.get_by_role("button", name="Ads: files for platforms").click()
        async with page.expect_download() as downloading:
            await page.get_by_role("menuitem", name="Google Ads").click()
        [head] = Path(await (await downloading.value).path()).read_text().splitlines()
        assert head.startswith("Google Click ID,")
        await page.get_by_label("State").select_option("Every state")
        await page.get_by_label("Event configuration").select_option("Purchase")
        await expect(rows.get_by_role("link", name="Spring")).to_be_visible()
        await expect(page).to_have_url(f"/console/conversions?event={config.id}")
        await page.reload()
        await expect(rows).to_have_count(1)
        await page.get_by_label("Event configuration").select_option("Every event")
        until = (datetime.now(UTC) - timedelta(days=3)).date().isoformat()
        await page.get_by_label("to", exact=True).fill(until)
        await expect(rows).to_contain_text(["12.50"])
        await page.goto(f"/console/conversions?link={link.id}")
        await expect(rows).to_have_count(1)
        await page.get_by_role("button", name="Remove the filter by link").click()
        await expect(rows).to_have_count(2)
        await page.get_by_label("State").select_option("refused")
        await page.get_by_role("button", name="Show all").click()
        await expect(rows).to_have_count(2)


async def test_older_conversions_are_shown_below(
    open_console: OpenConsole, services: Services, account: Account
) -> None:
    at = now_ms()
    events = [make_conversion(n, account_id=account.id.bytes, at=at - n) for n in range(1, 121)]
    await applied(services, events)
    async with open_console("/console/conversions") as page:
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
    event = make_conversion(
        7, click.id, at=now_ms(), account_id=account.id.bytes, metadata=metadata
    )
    await applied(services, [click, event])
    async with open_page() as (page, _):
        await page.clock.install()
        await sign_in(services, page, account.id)
        await page.goto("/console/conversions")
        await page.locator("tbody a").first.click()
        await expect(page.get_by_role("heading", name="Conversion 7")).to_be_visible()
        await expect(page.get_by_text("attributed", exact=True)).to_be_visible()
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
        await services.stores.mongodb["deliveries"].update_many({}, failed)
        await page.clock.fast_forward(6_000)  # after which the page looks again
        await expect(page.get_by_text("failed", exact=True)).to_be_visible()


async def test_a_conversion_is_found_by_its_transaction_or_its_click(
    open_console: OpenConsole, services: Services, account: Account
) -> None:
    click = make_click(account.id, at=now_ms())
    common: dict[str, Any] = {"account_id": account.id.bytes, "at": now_ms()}
    scoped = {**common, "transaction_id": "T-1", "transaction_scope": account.id.bytes}
    order = "D9B1D7DB-3C4A-4A6B-8E0F-2F5D1C7A9E55"  # shops have such numbers too
    guid = make_conversion(3, **{**scoped, "transaction_id": order})
    await applied(
        services, [make_conversion(1, click.id, **common), make_conversion(2, **scoped), guid]
    )
    async with open_console("/console/conversions") as page:
        rows = page.locator("tbody tr")
        await expect(rows).to_have_count(3)
        search = page.get_by_label("Find by id")
        await search.fill(" T-1 ")
        await search.press("Enter")
        await expect(rows).to_have_count(1)
        await expect(rows).to_contain_text("T-1")
        await search.fill(str(UUID(bytes=click.id)).upper())
        await search.press("Enter")
        await expect(rows.locator('a[href="/console/conversions/1"]')).to_be_visible()
        await expect(rows).to_have_count(1)
        await search.fill(order)
        await search.press("Enter")
        await expect(rows).to_contain_text(order)
        await expect(rows).to_have_count(1)
        csv = await page.get_by_role("link", name="CSV").get_attribute("href")
        assert f"transaction_id={order}" in (csv or "")
        await search.fill("2")
        await search.press("Enter")
        await expect(rows.locator('a[href="/console/conversions/2"]')).to_be_visible()
        await page.get_by_label("State").select_option("no click")
        await expect(page).to_have_url("/console/conversions?attribution=no_click")
        await search.fill("T-9")
        await search.press("Enter")
        await expect(page.get_by_text("A conversion that was never accepted")).to_be_visible()
        await expect(
            page.get_by_role("heading", name="No conversion has the id T-9")
        ).to_be_visible()
        await expect(page.locator("figure")).to_have_count(0)


async def test_a_missing_conversion_is_found_out_by_its_postback_and_its_click(
    open_console: OpenConsole, services: Services, account: Account
) -> None:
    link = await create_link(services, account.id, "a", internal_name="Spring")
    config = await create_event_config(services, account.id, name="Sale", payout="2.55")
    click = make_click(
        *(account.id,), link_id=link.id.bytes, at=now_ms() - 200_000, query="gclid=G-1"
    )
    own = account.id.bytes
    paid = make_conversion(
        1, click.id, at=now_ms(), account_id=own, transaction_id="T-1", transaction_scope=own
    )
    await applied(services, [click, paid])
    click_id = str(UUID(bytes=click.id))
    async with open_console("/console/conversions", "400 (Bad Request)") as page:
        await page.evaluate(
            "(url) => fetch(url)", f"/api/event?pbk={config.pbk}&click_id={click_id}&value=a"
        )
        await services.conversions.refusals.store()
        await page.reload()
        await expect(page.get_by_role("link", name="Refused postbacks 1")).to_be_visible()
        search = page.get_by_label("Find by id")
        note = page.get_by_role("status").filter(has_text="Nothing was recorded")
        await search.fill(f"https://else.example/?pbk={config.pbk}&click_id={click_id}")
        await search.press("Enter")
        words = "Event 'Sale'. Click found, 3 minutes old. Would pay 2.55."
        await expect(note).to_contain_text(words)
        await expect(page).to_have_url("/console/conversions")  # which has no key
        await page.keyboard.press("Control+k")
        palette = page.get_by_role("combobox", name="Page, link or tag")
        await palette.fill(f"/api/event?pbk={config.pbk}&clickid={click_id}")
        await page.get_by_role("option", name="find as an id").click()
        await expect(note).to_contain_text("`clickid` is not known here: add it as a name.")
        await expect(note).to_have_class("note warning")
        named = f"/console/events?edit={config.id}&name=clickid&parameter=click_id"
        name = note.get_by_role("link", name="Add it as a name")
        await expect(name).to_have_attribute("href", named)
        await page.goto("/console/tags")
        await expect(page.get_by_role("heading", name="Tags", exact=True)).to_be_visible()
        await page.keyboard.press("Control+k")
        await palette.fill(click_id)
        await page.keyboard.press("Enter")
        await expect(page).to_have_url(f"/console/conversions?find={click_id}")
        await page.get_by_role("link", name="The click of Spring").click()
        await expect(page).to_have_url(f"/console/clicks/{click_id}")
        await expect(page.locator(".facts")).to_contain_text("gclid=G-1")
        await expect(page.locator("tbody tr")).to_contain_text("T-1")
        await page.get_by_role("link", name="1 refused postback").click()
        await expect(page.get_by_role("row", name="value: must be a finite number")).to_be_visible()
        await page.get_by_label("Click id, transaction id, or a part").fill("T-1")
        await expect(page.get_by_role("heading", name="None of them fits")).to_be_visible()


async def test_refused_postbacks_are_listed_with_their_reason(
    open_console: OpenConsole, services: Services, account: Account
) -> None:
    config = await create_event_config(services, account.id, name="Purchase")
    async with open_console("/console/conversions/refused", "400 (Bad Request)") as page:
        await expect(page.get_by_role("heading", name="Nothing was refused")).to_be_visible()
        for sent in ("click_id={click_id}", "value=a", "value=b"):
            await page.evaluate("(url) => fetch(url)", f"/api/event?pbk={config.pbk}&{sent}")
        await services.conversions.refusals.store()
        await page.goto("/console/conversions")
        await page.get_by_role("link", name="Refused postbacks").click()
        rows = page.locator("tbody tr")
        await expect(rows).to_have_count(3)
        await expect(rows.last).to_contain_text("click id")
        await expect(rows.last).to_contain_text("click_id: an unfilled macro")
        await expect(rows.last).to_contain_text("Purchase")
        await page.get_by_label("Reason").select_option("value (2)")
        await expect(rows).to_have_count(2)
        await expect(page).to_have_url("/console/conversions/refused?reason=value")


async def test_an_ignored_parameter_is_told_and_becomes_a_name(
    open_console: OpenConsole, services: Services, account: Account
) -> None:
    aliases = {"cid": AliasedParameter.CLICK_ID}
    config = await create_event_config(
        services, account.id, name="Purchase", parameter_aliases=aliases
    )
    async with open_console("/console/conversions") as page:
        url = f"/api/event?pbk={config.pbk}&clickid=x&txid=T-1"
        for _ in range(3):
            await page.evaluate("(url) => fetch(url)", url)
        await drained(services)
        await services.conversions.repeats.store()
        await page.reload()
        note = page.get_by_role("status").filter(has_text="have warnings")
        await expect(note).to_contain_text("1 of “Purchase”: clickid: ignored; did you mean")
        await expect(page.locator("tbody .badge")).to_have_text(["approved", "no click", "warning"])
        await page.locator("tbody a").first.click()
        facts = page.locator(".facts")
        await expect(facts).to_contain_text("Sent again 2 times, last")
        await expect(facts).to_contain_text("sent again; counted once")
        await facts.get_by_role("link", name="Add it as a name").click()
        dialog = page.get_by_role("dialog")
        await expect(dialog.get_by_label("Other names of click_id")).to_have_value("cid, clickid")
        await expect(page).to_have_url("/console/events")
        await dialog.get_by_role("button", name="Save").click()
        await expect(dialog).to_have_count(0)
        await page.goto("/console/conversions")
        await expect(note).to_contain_text("sent again")
        await expect(note).not_to_contain_text("clickid")


async def test_charts_obey_the_filters_beside_them(
    open_console: OpenConsole, services: Services, account: Account
) -> None:
    config = await create_event_config(services, account.id, name="Purchase")
    click = make_click(account.id, at=now_ms() - 90_000)
    common: dict[str, Any] = {"account_id": account.id.bytes, "checked": True}
    await applied(
        services,
        [
            click,
            make_conversion(1, click.id, at=now_ms(), event_config_id=config.id.bytes, **common),
            make_conversion(2, at=now_ms(), **common),
            make_conversion(3, at=now_ms() - 40 * DAY_MS, **common),
        ],
    )

    def day(days: int) -> str:
        return (datetime.now(UTC) - timedelta(days=days)).date().isoformat()

    async with open_console("/console/conversions") as page:
        charted = page.locator(".panel-tabs button", has_text="Conversions")
        await expect(charted).to_have_text("Conversions 2")
        await expect(
            page.get_by_text(re.compile(r"^Compared with .* until \d\d:\d\d$"))
        ).to_be_visible()
        await expect(
            page.get_by_text("One conversion, within 2 minutes of its click.")
        ).to_be_visible()
        await page.get_by_label("From").fill(day(45))
        await expect(charted).to_have_text("Conversions 3")
        await expect(page.get_by_text("From click to conversion")).to_have_count(0)
        await page.get_by_label("to", exact=True).fill(day(35))
        await expect(charted).to_have_text("Conversions 1")
        await page.goto("/console/conversions?attribution=attributed")
        await expect(charted).to_have_text("Conversions 1")
        await expect(page.locator(".panel-tabs button", has_text="Rate")).to_have_text("Rate 100%")
        await page.get_by_label("Event configuration").select_option("Purchase")
        await expect(page.locator(".panel-tabs button", has_text="Rate")).to_have_count(0)
        await page.goto("/console/conversions?attribution=no_click")
        await expect(page.get_by_text("of attributed conversions")).to_be_visible()
        await expect(charted).to_have_count(0)


async def test_a_conversion_is_corrected_and_the_report_and_its_history_tell(
    open_console: OpenConsole, services: Services, account: Account
) -> None:
    click = make_click(account.id, at=now_ms() - 90_000)
    own: dict[str, Any] = {"account_id": account.id.bytes, "checked": True, "value": "10"}
    await applied(services, [click, make_conversion(1, click.id, at=now_ms(), **own)])
    async with open_console("/console/conversions", "400 (Bad Request)") as page:
        charted = page.locator(".panel-tabs button", has_text="Conversions")
        await expect(charted).to_have_text("Conversions 1")
        await page.locator("tbody a").first.click()
        await page.get_by_role("button", name="Correct").click()
        dialog = page.get_by_role("dialog")
        save = dialog.get_by_role("button", name="Correct")
        await expect(save).to_be_disabled()
        await dialog.get_by_label("Refunded value").fill("12")
        await dialog.get_by_label("Reason").select_option("customer refund")
        await save.click()
        await expect(dialog.get_by_text("at most the value of the conversion")).to_be_visible()
        await dialog.get_by_label("Refunded value").fill("4")
        await dialog.get_by_label("Status").select_option("refunded")
        await dialog.get_by_label("Note").fill("Returned")
        await save.click()
        await expect(dialog).to_have_count(0)
        await expect(page.locator(".facts .badge").first).to_have_text("refunded")
        rows = page.get_by_role("table", name="History").locator("tbody tr")
        await expect(rows).to_have_count(2)
        await expect(rows.last).to_contain_text("person")
        await expect(rows.last).to_contain_text("customer refund")
        await expect(rows.last).to_contain_text("Returned")
        await expect(rows.last.locator("del").first).to_have_text("approved")
        await drained(services)
        await page.reload()
        await expect(rows).to_have_count(2)
        await page.goto("/console/conversions?status=refunded")
        await expect(page.locator("tbody .badge")).to_have_text(["refunded", "attributed"])
        await page.get_by_label("Status").select_option("Every status")
        await expect(charted).to_have_text("Conversions 0")


async def test_who_may_not_correct_sees_no_button(
    open_page: OpenPage, services: Services, account: Account
) -> None:
    own: dict[str, Any] = {"account_id": account.id.bytes, "at": now_ms()}
    await applied(services, [make_conversion(1, **own), make_conversion(2, test=True, **own)])
    async with open_page() as (page, _):
        await sign_in(services, page, account.id, Role.VIEWER)
        await page.goto("/console/conversions/1")
        await expect(page.locator(".facts .badge").first).to_have_text("approved")
        await expect(page.get_by_role("button", name="Correct")).to_have_count(0)
    async with open_page() as (page, _):
        await sign_in(services, page, account.id)
        await page.goto("/console/conversions/2")
        await expect(page.locator(".facts .badge").nth(1)).to_have_text("test")
        await expect(page.get_by_role("button", name="Correct")).to_have_count(0)


def test_the_dialog_has_every_reason_of_a_correction() -> None:
    text = Path("tracker/console/static/conversions/correction.js").read_text()
    reasons = text.partition("const REASONS =")[2].partition(";")[0]
    assert re.findall(r"\w+", reasons) == [*get_args(CorrectionReason)]


async def test_a_delay_below_a_second_is_no_delay_below_none(
    open_console: OpenConsole, services: Services, account: Account
) -> None:
    at = now_ms()
    click = make_click(account.id, at=at)
    events = [make_conversion(n, click.id, at=at, account_id=account.id.bytes) for n in (1, 2)]
    await applied(services, [click, *events])
    async with open_console("/console/conversions") as page:
        words = "Half of 2 conversions came within a second of their click."
        await expect(page.get_by_text(words)).to_be_visible()


def test_the_chart_of_attributed_conversions_names_every_reason_to_be_a_bot() -> None:
    text = Path("tracker/console/static/conversions/charts.js").read_text()
    _, _, reasons = text.partition("const WITH_CLICK = [")
    assert set(re.findall(r'"(\w+)"', reasons.partition("]")[0])) == {"none", *REASONS}


async def test_times_are_in_the_zone_of_the_days_wherever_the_reader_is(
    open_console: OpenConsole, services: Services, account: Account
) -> None:
    chosen = {"$set": {"time_zone": "Europe/Berlin"}}
    await services.stores.mongodb["accounts"].update_one({"_id": account.id}, chosen)
    at = datetime(2026, 10, 27, 23, 30, tzinfo=UTC)
    common: dict[str, Any] = {"account_id": account.id.bytes, "checked": True}
    await applied(services, [make_conversion(1, at=int(at.timestamp() * 1000), **common)])
    async with open_console(
        "/console/conversions?from=2026-10-28&to=2026-10-28", timezone_id="America/Los_Angeles"
    ) as page:
        when = page.locator("tbody tr time")
        await expect(when).to_have_text("28 Oct 2026, 00:30")
        await expect(when).to_have_attribute("title", re.compile("Europe/Berlin$"))

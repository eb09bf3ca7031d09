"""Event configurations, and the snippets that report their conversions."""

import re
from decimal import Decimal

from playwright.async_api import expect

from tests.console.conftest import OpenPage
from tests.console.people import sign_in
from tests.conversions.scene import drained, stored_events
from tests.factories import create_click, create_event_config, create_link
from tests.web.client import Client
from tracker.access.roles import Role
from tracker.accounts.accounts import Account
from tracker.conversions.document import ConversionStatus
from tracker.service.services import Services


async def test_every_snippet_reports_a_conversion_as_it_stands(
    open_page: OpenPage, services: Services, account: Account
) -> None:
    async with open_page() as (page, _):
        await sign_in(services, page, account.id)
        await page.goto("/console/events")
        await page.get_by_role("button", name="New event configuration").click()
        dialog = page.get_by_role("dialog")
        await dialog.get_by_label("Name", exact=True).fill("Purchase")
        await dialog.get_by_label("Pays").select_option("RevShare")
        await dialog.get_by_label("Percentage").fill("10")
        await dialog.get_by_role("button", name="Create").click()
        await expect(dialog.get_by_role("heading", name="Report “Purchase”")).to_be_visible()
        snippets = await dialog.locator("pre").all_inner_texts()
        await dialog.get_by_role("button", name="Send a test conversion").click()
        await expect(page.get_by_text("is recorded")).to_be_visible()
        click_id = str(await create_click(services, account.id))
        given = f"const clickId = '{click_id}'; const orderId = 'order-3';"
        await page.evaluate(f"async () => {{ {given} {snippets[-1]} }}")
    [config] = await services.conversions.event_configs.list(account.id)
    assert len(snippets) == 5
    assert all(config.pbk in text for text in snippets)
    postback, pixel, curl, python, _ = snippets

    def filled(text: str, number: int) -> str:
        return text.replace("CLICK_ID", click_id).replace("ORDER_ID", f"order-{number}")

    client = Client(services.settings.port)
    url = re.search(r'src="([^"]+)"', filled(pixel, 1))
    body = re.search(r"-d '(.+)'", filled(curl, 2), re.DOTALL)
    assert url is not None
    assert body is not None
    origin = services.settings.base_url
    forgotten = postback.replace("CLICK_ID", click_id).removeprefix(origin)
    assert (await client.get(forgotten)).error.startswith("transaction_id: a placeholder, ORDER_ID")
    for target in (filled(postback, 0), url[1].replace("&amp;", "&")):
        assert (await client.get(target.removeprefix(origin))).json()["clickStatus"] == "found"
    sent = await client.post("/api/event", body[1].encode(), Content_Type="application/json")
    assert sent.json()["clickStatus"] == "found"
    assert f'"{origin}/api/event"' in python
    compile(python, "snippet", "exec")
    await drained(services)
    events = await stored_events(services)
    assert (events[0]["status"], events[0].get("transaction_id")) == ("test", None)
    assert {one["transaction_id"] for one in events[1:]} == {f"order-{n}" for n in range(4)}
    assert [(one["payout"].to_decimal(), one["status"]) for one in events[1:]] == [
        (Decimal("1.25"), "attributed")
    ] * 4


async def test_names_of_a_network_are_given_to_parameters_and_edited(
    open_page: OpenPage, services: Services, account: Account
) -> None:
    async with open_page() as (page, _):
        await sign_in(services, page, account.id)
        await page.goto("/console/events")
        await page.get_by_role("button", name="New event configuration").click()
        dialog = page.get_by_role("dialog")
        await dialog.get_by_label("Name", exact=True).fill("Purchase")
        await dialog.get_by_label("Amount").fill("2")
        await dialog.get_by_text("Names that your network uses").click()
        await dialog.get_by_label("Other names of click_id").fill("cid, subid")
        await dialog.get_by_label("Other names of value").fill("payout, cid")
        await dialog.get_by_role("button", name="Create").click()
        await expect(dialog.get_by_text("“cid” can stand for one parameter only.")).to_be_visible()
        await dialog.get_by_label("Other names of value").fill("payout")
        await dialog.get_by_role("button", name="Create").click()
        await expect(dialog.get_by_role("heading", name="Report “Purchase”")).to_be_visible()
        [config] = await services.conversions.event_configs.list(account.id)
        names = {"cid": "click_id", "subid": "click_id", "payout": "value"}
        assert config.parameter_aliases == names
        await dialog.get_by_role("button", name="Close", exact=True).last.click()
        await page.get_by_role("button", name="Actions for Purchase").click()
        await page.get_by_role("menuitem", name="Edit").click()
        await expect(dialog.get_by_label("Other names of click_id")).to_have_value("cid, subid")
        await dialog.get_by_label("Other names of click_id").fill("cid")
        await dialog.get_by_role("button", name="Save").click()
        await expect(dialog).to_have_count(0)
    [config] = await services.conversions.event_configs.list(account.id)
    assert config.parameter_aliases == {"cid": "click_id", "payout": "value"}


async def test_an_event_configuration_is_paused_and_archived(
    open_page: OpenPage, services: Services, account: Account
) -> None:
    await create_link(services, account.id)
    await create_event_config(services, account.id)
    async with open_page() as (page, _):
        await sign_in(services, page, account.id)
        await page.goto("/console/events")
        await page.get_by_role("button", name="Actions for Purchase").click()
        await page.get_by_role("menuitem", name="Pause").click()
        await expect(page.get_by_text("paused", exact=True)).to_be_visible()
        await page.get_by_role("button", name="Actions for Purchase").click()
        await page.get_by_role("menuitem", name="Archive").click()
        await page.get_by_role("dialog").get_by_role("button", name="Archive").click()
        await expect(
            page.get_by_role("heading", name="No event configurations yet")
        ).to_be_visible()


async def test_a_viewer_sees_the_beginning_of_a_postback_key_and_no_snippet(
    open_page: OpenPage, services: Services, account: Account
) -> None:
    config = await create_event_config(services, account.id)
    async with open_page() as (page, _):
        await sign_in(services, page, account.id, Role.VIEWER)
        await page.goto("/console/events")
        await expect(page.get_by_text(f"{config.pbk[:4]}…")).to_be_visible()
        assert config.pbk not in await page.content()
        await expect(page.get_by_role("button", name="Snippets")).to_have_count(0)
        await expect(page.get_by_role("button", name="Copy")).to_have_count(0)


async def test_the_state_of_a_conversion_is_worded_alike_by_toast_log_and_api(
    open_page: OpenPage, services: Services, account: Account
) -> None:
    await create_event_config(services, account.id, name="Purchase")
    async with open_page() as (page, _):
        await sign_in(services, page, account.id)
        await page.goto("/console/events")
        await page.get_by_role("button", name="Snippets").click()
        await page.get_by_role("button", name="Send a test conversion").click()
        await expect(page.get_by_text("Test conversion 1 is recorded")).to_be_visible()
        await drained(services)
        async with page.expect_response("**/api/conversions?*") as answering:
            await page.goto("/console/conversions")
        [row] = (await (await answering.value).json())["rows"]
        assert row["status"] == "test"
        await expect(page.locator("tbody .badge")).to_have_text("test")
        options = await page.get_by_label("State").locator("option").all_inner_texts()
        named = {
            one.value.replace("_", " ")
            for one in ConversionStatus
            if one != ConversionStatus.CLAIMED
        }
        assert set(options[1:]) == named

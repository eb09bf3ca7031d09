"""Event configurations and the first run, up to a conversion that counts."""

import re
from decimal import Decimal

from playwright.async_api import expect

from tests.api.client import Client
from tests.console.conftest import OpenPage
from tests.console.people import sign_in
from tests.conversions.scene import drained, stored_events
from tests.factories import CHROME, create_click, create_event_config, create_link
from tracker.access.accounts import Account
from tracker.access.roles import Role
from tracker.service.services import Services


async def test_every_snippet_reports_a_conversion_as_it_stands(
    open_page: OpenPage, services: Services, account: Account
) -> None:
    async with open_page() as (page, _):
        await sign_in(services, page, account.id)
        await page.goto("/console/events")
        await page.get_by_role("button", name="New event configuration").click()
        dialog = page.get_by_role("dialog")
        await dialog.get_by_label("Name").fill("Purchase")
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
    [config] = await services.event_configs.list(account.id)
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
    for target in (filled(postback, 0), url[1].replace("&amp;", "&")):
        assert (await client.get(target.removeprefix(origin))).json()["clickStatus"] == "found"
    sent = await client.post("/api/event", body[1].encode(), Content_Type="application/json")
    assert sent.json()["clickStatus"] == "found"
    assert f'"{origin}/api/event"' in python
    compile(python, "snippet", "exec")
    await drained(services)
    events = await stored_events(services)
    assert {one["transaction_id"] for one in events[1:]} == {f"order-{n}" for n in range(4)}
    assert [(one["payout"].to_decimal(), one["status"]) for one in events[1:]] == [
        (Decimal("1.25"), "attributed")
    ] * 4


async def test_a_new_account_is_led_through_a_link_a_click_and_a_conversion(
    open_page: OpenPage, services: Services, account: Account
) -> None:
    async with open_page(user_agent=CHROME) as (page, _):
        await page.clock.install()
        await sign_in(services, page, account.id)
        await page.goto("/console/links")
        await page.get_by_role("link", name="Show me how it works").click()
        await page.get_by_role("button", name="Create a link").click()
        dialog = page.get_by_role("dialog")
        await dialog.get_by_label("Destination").fill(f"{services.settings.base_url}/healthz")
        await dialog.get_by_role("button", name="Create", exact=True).click()
        async with page.expect_popup() as opening:
            await page.get_by_role("link", name=re.compile("^Open http")).click()
        landing = await opening.value
        await landing.wait_for_url("**/healthz?click_id=*")
        await landing.close()
        assert await drained(services) == 1
        await page.clock.fast_forward(3_000)  # after which the page looks again
        await expect(page.get_by_text("1 click since yesterday")).to_be_visible()
        await page.get_by_role("button", name="Create “Purchase”").click()
        await page.get_by_role("button", name="Send a test conversion").click()
        await expect(page.get_by_text("Sent; it counts in a moment")).to_be_visible()
        assert await drained(services) == 1
        await page.clock.fast_forward(3_000)
        await expect(page.get_by_text("1 conversion since yesterday")).to_be_visible()
        await expect(page.get_by_text("That is all there is to it.")).to_be_visible()


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

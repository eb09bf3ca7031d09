"""Event configurations, and the snippets that report their conversions."""

import ast
import re
import shlex
from decimal import Decimal
from html import unescape
from urllib.parse import parse_qsl, urlsplit

from playwright.async_api import expect

from tests.console.conftest import OpenConsole
from tests.conversions.api.reporting import by_form, by_query
from tests.conversions.scene import drained, stored_events
from tests.factories import create_click, create_event_config, create_link
from tests.web.client import Client
from tracker.access.roles import Role
from tracker.accounts.accounts import Account
from tracker.clicks.api.page_script import INTEGRITY, PATH
from tracker.conversions.document import Attribution
from tracker.conversions.postbacks.aliases import AliasedParameter
from tracker.service.services import Services


def sent_by(snippets: list[str]) -> list[dict[str, str]]:
    """Return the parameters that each of the snippets sends."""
    postback, _, _, pixel, curl, python, javascript = snippets
    src = re.findall(r'src="([^"]+)"', pixel)[0]
    options = shlex.split(curl.replace("\\\n", ""))
    [body] = [one.value for one in ast.walk(ast.parse(python)) if isinstance(one, ast.keyword)][:1]
    return [
        dict(parse_qsl(urlsplit(postback).query)),
        dict(parse_qsl(urlsplit(unescape(src)).query)),
        dict(one.split("=", 1) for one in options if "=" in one),
        ast.literal_eval(body),
        dict(re.findall(r'^ +"(.+)": "(.+)",$', javascript, re.MULTILINE)),
    ]


async def test_every_snippet_reports_a_conversion_once_its_placeholders_are_replaced(
    open_console: OpenConsole, services: Services, account: Account
) -> None:
    async with open_console("/console/events") as page:
        await page.get_by_role("button", name="New event configuration").click()
        dialog = page.get_by_role("dialog")
        await dialog.get_by_label("Name", exact=True).fill("Purchase")
        await dialog.get_by_label("Pays").select_option("RevShare")
        await dialog.get_by_label("Percentage").fill("10")
        await dialog.get_by_text("Names that your network uses").click()
        await dialog.get_by_label("Other names of click_id").fill("cid, subid")
        await dialog.get_by_label("Other names of value").fill("payout")
        await dialog.get_by_role("button", name="Create").click()
        await expect(dialog.get_by_role("heading", name="Report “Purchase”")).to_be_visible()
        await expect(dialog.locator("pre")).to_have_count(7)
        snippets = await dialog.locator("pre").all_inner_texts()
        await dialog.get_by_role("button", name="Send a test conversion").click()
        await expect(page.get_by_text("is recorded")).to_be_visible()
        click_id = str(await create_click(services, account.id))
        real = {"CLICK_ID": click_id, "VALUE": "12.50", "ORDER_ID": "order-1"}
        filled = snippets[-1]
        for placeholder, text in real.items():
            filled = filled.replace(placeholder, text)
        await page.evaluate(f"async () => {{ {filled} }}")
    [config] = await services.conversions.event_configs.list(account.id)
    template = {
        "pbk": config.pbk,
        "cid": "CLICK_ID",
        "payout": "VALUE",
        "transaction_id": "ORDER_ID",
    }
    assert sent_by(snippets) == [template] * 5
    origin = services.settings.base_url
    assert snippets[1] == (
        f'<script defer src="{origin}{PATH}" integrity="{INTEGRITY}" crossorigin="anonymous">'
        "</script>"
    )
    own = {"pbk": config.pbk, "value": "VALUE", "transaction_id": "ORDER_ID"}
    assert dict(re.findall(r'^ +"(.+)": "(.+)",$', snippets[2], re.MULTILINE)) == own
    client = Client(services.settings.port)
    whole = {name: real.get(text, text) for name, text in template.items()}
    for name in ("cid", "payout", "transaction_id"):
        refused = await by_form(client, {**whole, name: template[name]})
        assert (refused.status, refused.error.split(":")[0]) == (400, name)
    sent = await by_query(client, {**whole, "transaction_id": "order-2"})
    assert sent.json()["clickStatus"] == "found"
    await drained(services)
    test, *events = await stored_events(services)
    assert (test["status"], test.get("transaction_id")) == ("test", None)
    assert {one["transaction_id"] for one in events} == {"order-1", "order-2"}
    assert [(one["payout"].to_decimal(), one["status"]) for one in events] == [
        (Decimal("1.25"), "attributed")
    ] * 2


async def test_a_network_s_postback_is_built_with_its_macros_and_seen_as_it_arrives(
    open_console: OpenConsole, services: Services, account: Account
) -> None:
    """The URL has the names of the configuration; the words of the network are added to its."""
    config = await create_event_config(services, account.id)
    aliases = {"subid": AliasedParameter.CLICK_ID}
    await services.conversions.event_configs.change(config.id, {"parameter_aliases": aliases})
    click_id = str(await create_click(services, account.id))
    client = Client(services.settings.port)
    async with open_console("/console/events") as page:
        await page.get_by_role("button", name="Snippets").click()
        dialog = page.get_by_role("dialog")
        waiting = dialog.get_by_text("Waiting for the first postback…")
        await expect(waiting).to_be_visible()
        networks = dialog.get_by_role("combobox", name="Network")
        await expect(networks.locator("option")).to_have_count(21)
        await networks.select_option("Affise")
        await dialog.get_by_role("button", name="Add these words").click()
        await expect(dialog.get_by_text("It says 1 for approved")).to_have_count(0)
        url = await dialog.locator("pre").first.inner_text()
        query = dict(parse_qsl(urlsplit(url).query))
        assert query == {
            "pbk": config.pbk,
            "subid": "{sub1}",
            "value": "{sum}",
            "transaction_id": "{transactionid}",
            "status": "{status}",
            "currency": "{currency}",
        }
        filled = {**query, "subid": click_id, "transaction_id": "1", "status": "2"}
        filled |= {"currency": "USD", "value": "2.55"}
        assert (await by_query(client, {**filled, "subid": "no id"})).status == 400
        await services.conversions.refusals.store()
        await expect(dialog.get_by_text("Refused: subid: ")).to_be_visible(timeout=20_000)
        assert (await by_query(client, filled)).status == 200
        await drained(services)
        await expect(dialog.get_by_text("Received: value 2.55")).to_be_visible(timeout=20_000)
    [event] = await stored_events(services)
    assert (event["status"], event["reported"]) == ("attributed", "pending")


async def test_a_word_that_nobody_has_mapped_is_mapped_where_it_is_listed(
    open_console: OpenConsole, services: Services, account: Account
) -> None:
    await create_link(services, account.id)
    config = await create_event_config(services, account.id)
    for word in ("zwart", "wit", "zwart"):
        await by_query(Client(services.settings.port), {"pbk": config.pbk, "status": word})
    await drained(services)
    async with open_console("/console/events") as page:
        words = page.get_by_role("region", name="Words that nobody has mapped")
        await expect(words.get_by_role("listitem")).to_have_count(2)
        await expect(words.get_by_role("listitem").first).to_contain_text("2 conversions")
        await words.get_by_label("Meaning of zwart").select_option("rejected")
        await words.get_by_role("button", name="Map zwart").click()
        earlier = "“zwart” is rejected from now on, and of 2 earlier conversions"
        await expect(page.get_by_text(earlier)).to_be_visible()
        await drained(services)
        told = [(one["reported"], one.get("unknown_word")) for one in await stored_events(services)]
        assert told == [("rejected", None), ("pending", "wit"), ("rejected", None)]
        await expect(words.get_by_role("listitem")).to_have_count(1)
        await page.get_by_role("button", name="Actions for Purchase").click()
        await page.get_by_role("menuitem", name="Edit").click()
        dialog = page.get_by_role("dialog")
        await expect(dialog.get_by_label("Words for rejected")).to_have_value("zwart")
        await dialog.get_by_label("Words for one more conversion").fill("upsell, cross")
        await dialog.get_by_text("Repeats, times and currency").click()
        await dialog.get_by_label("A repeat").select_option("first")
        await dialog.get_by_label("Days after the click").fill("30")
        await dialog.get_by_role("button", name="Save").click()
        await expect(dialog).to_have_count(0)
    [changed] = await services.conversions.event_configs.list(account.id)
    assert changed.statuses == {"zwart": "rejected", "upsell": "count", "cross": "count"}
    assert (changed.on_repeat, changed.window_days, changed.min_seconds) == ("first", 30, None)


async def test_an_event_configuration_is_paused_and_archived(
    open_console: OpenConsole, services: Services, account: Account
) -> None:
    await create_link(services, account.id)
    await create_event_config(services, account.id)
    async with open_console("/console/events") as page:
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
    open_console: OpenConsole, services: Services, account: Account
) -> None:
    config = await create_event_config(services, account.id)
    async with open_console("/console/events", role=Role.VIEWER) as page:
        await expect(page.get_by_text(f"{config.pbk[:4]}…")).to_be_visible()
        assert config.pbk not in await page.content()
        await expect(page.get_by_role("button", name="Snippets")).to_have_count(0)
        await expect(page.get_by_role("button", name="Copy")).to_have_count(0)


async def test_the_state_of_a_conversion_is_worded_alike_by_toast_log_and_api(
    open_console: OpenConsole, services: Services, account: Account
) -> None:
    await create_event_config(services, account.id, name="Purchase")
    async with open_console("/console/events") as page:
        await page.get_by_role("button", name="Snippets").click()
        await page.get_by_role("button", name="Send a test conversion").click()
        await expect(page.get_by_text("Test conversion 1 is recorded")).to_be_visible()
        await drained(services)
        async with page.expect_response("**/api/conversions?*") as answering:
            await page.goto("/console/conversions")
        [row] = (await (await answering.value).json())["rows"]
        assert row["attribution"] == "test"
        await expect(page.locator("tbody .badge").last).to_have_text("test")
        options = await page.get_by_label("State").locator("option").all_inner_texts()
        named = {one.value.replace("_", " ") for one in Attribution if one != Attribution.CLAIMED}
        assert set(options[1:]) == named

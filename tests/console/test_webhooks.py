"""Webhooks as people use them, against a real receiver."""

import json
import re

import msgspec
from playwright.async_api import expect

from tests.console.accessibility import assert_accessible
from tests.console.conftest import OpenConsole, OpenPage
from tests.console.people import sign_in
from tests.conversions import scene
from tests.factories import create_event_config, create_view, create_webhook, make_click
from tests.webhooks.receiver import receiving
from tests.webhooks.sending.scene import converted, sending
from tracker.accounts.accounts import Account
from tracker.clock import now, now_ms
from tracker.ids import new_id
from tracker.service.services import Services
from tracker.stores.mongodb.transaction import run_in_transaction
from tracker.webhooks.operational_messages import create_messages, webhook_disabled
from tracker.webhooks.schedule import Disabled


async def test_a_webhook_is_made_with_a_preview_and_its_secret_is_shown_once(
    open_console: OpenConsole, private_allowed: None
) -> None:
    async with (
        receiving() as receiver,
        open_console("/console/webhooks", "400 (Bad Request)") as page,
    ):
        await page.get_by_role("button", name="New webhook").click()
        dialog = page.get_by_role("dialog")
        await dialog.get_by_label("Target").fill(f"{receiver.url}/hook")
        await dialog.get_by_label("Payload").fill("no JSON")
        await dialog.get_by_role("button", name="Create").click()
        await expect(dialog.locator(".field .error")).to_have_count(1)
        await expect(dialog.locator(".field .error")).to_contain_text("not JSON")
        await dialog.get_by_label("Payload").fill('{"amount": "{value}", "by": "{nobody}"}')
        await expect(dialog.get_by_text("nobody").last).to_be_visible()
        await dialog.get_by_role("button", name="Create").click()
        await expect(dialog.locator(".field .error")).to_contain_text("nobody")
        await dialog.get_by_label("Payload").fill('{"amount": "{value}"}')
        await expect(dialog.locator("pre").first).to_contain_text('"amount": ')
        await dialog.get_by_role("button", name="Create").click()
        await expect(dialog.get_by_role("heading", name="The signing secret")).to_be_visible()
        secret = receiver.secret = await dialog.locator("code").first.inner_text()
        await dialog.get_by_role("button", name="I have copied it").click()
        await expect(page.get_by_role("heading", name="127.0.0.1")).to_be_visible()
        assert secret.startswith("whsec_")
        assert secret not in await page.content()
        await page.get_by_role("button", name="Send a test").click()
        await expect(page.get_by_role("heading", name="The receiver took it")).to_be_visible()
        await expect(page.get_by_role("dialog").get_by_text("200")).to_be_visible()


async def test_a_webhook_for_a_chat_begins_with_its_template_and_is_sent_plain_text(
    open_console: OpenConsole, services: Services, account: Account, private_allowed: None
) -> None:
    async with receiving() as receiver, open_console("/console/webhooks") as page:
        await page.get_by_role("button", name="New webhook").click()
        dialog = page.get_by_role("dialog")
        shown = {"Slack": '"text"', "Discord": '"content"', "network": "{}"}
        for name, text in shown.items():
            await dialog.get_by_label("Sends to").select_option(name.lower())
            await expect(dialog.get_by_label("Payload")).to_have_value(re.compile(text))
        await expect(dialog.get_by_label("Method")).to_have_value("GET")
        await dialog.get_by_label("Sends to").select_option("Telegram")
        await dialog.get_by_label("Target").fill(f"{receiver.url}/bot1/sendMessage")
        await dialog.get_by_label("Payload").fill('{"chat_id": "-1", "text": "{event_name}!"}')
        await dialog.get_by_role("button", name="Create").click()
        await expect(dialog.get_by_role("heading", name="The signing secret")).to_be_visible()
        receiver.secret = await dialog.locator("code").first.inner_text()
        await dialog.get_by_role("button", name="I have copied it").click()
        await page.get_by_role("button", name="Send a test").click()
        await expect(page.get_by_role("heading", name="The receiver took it")).to_be_visible()
        message = webhook_disabled(new_id(), account.id, "@b", Disabled.FAILING, now())
        async with sending(services) as sender:
            due = await run_in_transaction(
                services.stores.mongodb.database,
                lambda session: create_messages(
                    services.stores.mongodb.database, [message], session
                ),
            )
            await services.webhooks.queue.add(due)
            assert await sender.burst() == 1
    plain = {"chat_id": "-1", "link_preview_options": {"is_disabled": True}}
    assert [json.loads(one.body) for one in receiver.received] == [
        {**plain, "text": "Sample!"},
        {
            **plain,
            "text": "The webhook @\u2060b is disabled: every attempt of 5 days failed.",
        },
    ]


async def test_a_webhook_of_an_ad_platform_has_settings_and_keeps_its_secret(
    open_console: OpenConsole, services: Services, account: Account, private_allowed: None
) -> None:
    async with open_console("/console/webhooks", "400 (Bad Request)") as page:
        await page.get_by_role("button", name="New webhook").click()
        dialog = page.get_by_role("dialog")
        await dialog.get_by_label("Sends to").select_option("google")
        await expect(dialog.get_by_label("Payload")).to_have_count(0)
        await assert_accessible(page)
        for label in ("Client id", "Client secret", "Refresh token"):
            await dialog.get_by_label(label).fill(label.split()[1] + "-1234567")
        await dialog.get_by_label("Customer id", exact=True).fill("12 3")
        await dialog.get_by_label("Conversion action id").fill("456")
        await dialog.get_by_role("button", name="Create").click()
        await expect(dialog.locator(".field .error")).to_contain_text("1 to 64 letters")
        await dialog.get_by_label("Customer id", exact=True).fill("123")
        await dialog.get_by_role("button", name="Create").click()
        await dialog.get_by_role("button", name="I have copied it").click()
        await page.get_by_role("button", name="Edit").click()
        await expect(dialog.get_by_label("Customer id", exact=True)).to_have_value("123")
        await dialog.get_by_label("Conversion action id").fill("789")
        secret = dialog.get_by_label("Client secret")
        for given, is_needed in (("id", True), ("", False)):
            await dialog.get_by_label("Client id").fill(given)
            await expect(secret).to_have_js_property("required", is_needed)
        await dialog.get_by_role("button", name="Save").click()
        await expect(page.get_by_role("dialog")).to_have_count(0)
        await expect(page.get_by_text('"productDestinationId": "789"')).to_be_visible()
    [stored], _ = await services.webhooks.webhooks.page(account.id, 1, 25)
    readable = services.webhooks.webhooks.with_readable_secrets(stored, now())
    header = "Google-Refresh id-1234567 secret-1234567 token-1234567"
    assert json.loads(readable.headers or "") == {"Authorization": header}
    assert json.loads(stored.settings) == {"customer_id": "123", "conversion_action_id": "789"}


async def test_an_alert_and_a_summary_of_a_view_are_made_changed_and_deleted(
    open_console: OpenConsole, services: Services, account: Account
) -> None:
    webhook = await create_webhook(services, account.id)
    await create_view(services, account.id, "Germany")
    async with open_console("/console/webhooks") as page:
        dialog = page.get_by_role("dialog")
        for kind, chosen in (("alert", {"If": "Conversions"}), ("summary", {"When": "month"})):
            await page.get_by_role("button", name=f"New {kind}").click()
            await dialog.get_by_label("Name").fill(f"My {kind}")
            for label, option in chosen.items():
                await dialog.get_by_label(label, exact=True).select_option(
                    option.lower() if kind == "alert" else option
                )
            await dialog.get_by_label("Of", exact=True).select_option("Germany")
            await assert_accessible(page)
            await dialog.get_by_role("button", name="Create").click()
            await expect(page.get_by_text(f"My {kind}")).to_be_visible()
        row = page.get_by_role("row").filter(has_text="My alert")
        await expect(row).to_contain_text("Conversions is below 10 within 24 hours")
        await expect(row).to_contain_text("never")
        await assert_accessible(page)
        [alert], _ = await services.alerts.alerts.page(account.id, 1, 9)
        [summary], _ = await services.alerts.summaries.page(account.id, 1, 9)
        for rule in (alert, summary):
            assert rule.webhook_id == webhook.id
            assert msgspec.json.decode(rule.rule)["filters"]["country"] == ["DE"]
        await page.get_by_role("button", name="Edit My alert").click()
        await expect(dialog.get_by_label("If", exact=True)).to_have_value("conversions")
        await dialog.get_by_label("Condition").select_option("halved")
        await dialog.get_by_label("Within hours").fill("6")
        await dialog.get_by_role("button", name="Save").click()
        await expect(row).to_contain_text("Conversions is below half of the week before")
        [changed], _ = await services.alerts.alerts.page(account.id, 1, 9)
        assert changed.id == alert.id
        assert msgspec.json.decode(changed.rule) == {
            "measure": "conversions",
            "filters": msgspec.json.decode(alert.rule)["filters"],
            "hours": 6,
            "condition": "halved",
        }
        await page.get_by_role("button", name="Delete My alert").click()
        await dialog.get_by_role("button", name="Delete the alert").click()
        await expect(page.get_by_text("An alert tells a webhook when")).to_be_visible()


async def test_a_webhook_chooses_what_it_is_told_and_is_tested_with_each(
    open_console: OpenConsole, services: Services, account: Account, private_allowed: None
) -> None:
    config = await create_event_config(services, account.id)
    async with receiving() as receiver, open_console("/console/webhooks") as page:
        await page.get_by_role("button", name="New webhook").click()
        dialog = page.get_by_role("dialog")
        await dialog.get_by_label("Target").fill(f"{receiver.url}/hook")
        for kind in ("Changes", "Clicks", "Changed links"):
            await dialog.get_by_label(kind, exact=True).check()
        await expect(dialog.get_by_label("rejected")).to_have_count(0)
        await dialog.get_by_text("Only some of it").click()
        await dialog.get_by_label("rejected").check()
        await dialog.get_by_label(config.name, exact=True).check()
        await dialog.get_by_label("Lowest value").fill("2.5")
        await dialog.get_by_label("Share of clicks").fill("12.5")
        await dialog.get_by_role("button", name="Create").click()
        await expect(dialog.get_by_role("heading", name="The signing secret")).to_be_visible()
        receiver.secret = await dialog.locator("code").first.inner_text()
        await dialog.get_by_role("button", name="I have copied it").click()
        only = page.get_by_role("definition").filter(has_text="from 2.5")
        words = "rejected, 1 event configuration, from 2.5, 12.5 % of clicks"
        await expect(only).to_have_text(words)
        for test in ("Test a change", "Test clicks", "Test a changed link"):
            await page.get_by_role("button", name=test, exact=True).click()
            await expect(page.get_by_role("heading", name="The receiver took it")).to_be_visible()
            await dialog.get_by_role("button", name="Close").last.click()
        assert '"clicks":[' in receiver.received[-2].body.decode()
        assert '"changed":["internal_name"]' in receiver.received[-1].body.decode()
        await page.get_by_role("button", name="Edit", exact=True).click()
        await dialog.get_by_label("rejected").uncheck()
        await dialog.get_by_label("Lowest value").fill("")
        await dialog.get_by_label("Share of clicks").fill("100")
        await dialog.get_by_role("button", name="Save").click()
        only = page.get_by_role("definition").filter(has_text="1 event")
        await expect(only).to_have_text("1 event configuration")
        [webhook], _ = await services.webhooks.webhooks.page(account.id, 1, 9)
        counter = {"_id": f"{webhook.id} 1", "skipped": 1200}
        await services.stores.mongodb["webhook_skips"].insert_one(counter)
        await scene.applied(services, [make_click(account.id, at=now_ms()) for _ in range(2)])
        await page.reload()
        await expect(page.get_by_text("1,200 clicks and links: too many waited")).to_be_visible()
        await expect(page.locator("summary").filter(has_text="2 clicks")).to_be_visible()
    assert msgspec.json.decode(webhook.filter) == {"event_config_ids": [str(config.id)]}


async def test_a_postback_is_shown_filled_while_it_is_typed_and_its_headers_stay_secret(
    open_console: OpenConsole, private_allowed: None
) -> None:
    async with receiving() as receiver, open_console("/console/webhooks") as page:
        await page.get_by_role("button", name="New webhook").click()
        dialog = page.get_by_role("dialog")
        sent = dialog.locator("figure").filter(has_text="What was sent").locator("pre")
        await dialog.get_by_label("Target").fill(f"{receiver.url}/pb?geo={{country|lower}}")
        await dialog.get_by_label("Method").select_option("GET")
        await dialog.get_by_label("Payload").fill('{"amount": "{value}"}')
        await dialog.get_by_role("button", name="Add a header").click()
        await dialog.get_by_label("Name of header 1").fill("X-Key")
        await dialog.get_by_label("Value of header 1").fill("s3cret {value}")
        await expect(dialog.locator("pre").nth(1)).to_have_text(
            f"GET {receiver.url}/pb?geo=de&amount=19.99\nX-Key: s3cret 19.99"
        )
        await dialog.get_by_role("button", name="Create").click()
        await expect(dialog.get_by_role("heading", name="The signing secret")).to_be_visible()
        receiver.secret = await dialog.locator("code").first.inner_text()
        await dialog.get_by_role("button", name="I have copied it").click()
        await expect(page.get_by_role("definition").filter(has_text="X-Key")).to_be_visible()
        await page.get_by_role("button", name="Send a test").click()
        await expect(sent).to_have_text(f"GET {receiver.url}/pb?geo=de&amount=19.99\nX-Key: …19.99")
        await dialog.get_by_role("button", name="Close").last.click()
        await page.get_by_role("button", name="Edit", exact=True).click()
        await dialog.get_by_label("Name", exact=True).fill("Renamed")
        await expect(dialog.get_by_label("Value of header 1")).to_have_value("")
        await dialog.get_by_role("button", name="Save").click()
        await expect(page.get_by_role("heading", name="Renamed")).to_be_visible()
        assert "s3cret" not in await page.content()
        assert "s3cret" not in await page.evaluate("JSON.stringify(sessionStorage)")
        await page.get_by_role("button", name="Send a test").click()
        await expect(sent).to_contain_text("X-Key: …19.99")
    assert [one.headers["x-key"] for one in receiver.received] == ["s3cret 19.99"] * 2


async def test_the_filled_url_of_a_delivery_is_shown(
    open_page: OpenPage, services: Services, account: Account
) -> None:
    async with receiving() as receiver, sending(services) as one, open_page() as (page, _):
        webhook = await create_webhook(services, account.id, f"{receiver.url}/pb/{{event_id}}")
        receiver.secret = webhook.secret
        [event_id] = await converted(services, account.id)
        await one.burst()
        await sign_in(services, page, account.id)
        await page.goto(f"/console/webhooks/{webhook.id}")
        await page.locator("summary").filter(has_text="answered 200").click()
        await expect(page.get_by_text(f"{receiver.url}/pb/{event_id}")).to_be_visible()


async def test_a_failed_delivery_is_sent_again_and_the_secret_is_rotated(
    open_page: OpenPage, services: Services, account: Account, private_allowed: None
) -> None:
    async with receiving() as receiver, open_page() as (page, _):
        webhook = await create_webhook(services, account.id, f"{receiver.url}/hook")
        await converted(services, account.id)
        failed = {"$set": {"status": "failed", "attempts": [_attempt(webhook.created_at)]}}
        await services.stores.mongodb["deliveries"].update_many({}, failed)
        await sign_in(services, page, account.id)
        await page.goto(f"/console/webhooks/{webhook.id}?status=failed")
        await page.locator("summary").filter(has_text="answered 500").click()
        await page.get_by_role("button", name="Send again").click()
        await expect(page.get_by_text("It is sent again")).to_be_visible()
        receiver.secret = webhook.secret
        async with sending(services) as sender:
            assert await sender.burst() == 1
        await page.get_by_label("State of the deliveries").select_option("Delivered")
        await page.locator("summary").filter(has_text="2 attempts · answered 200").click()
        await expect(page.locator(".attempts > li")).to_have_count(2)
        await page.get_by_role("button", name="Rotate the secret").click()
        await page.get_by_role("button", name="Make a new secret").click()
        await expect(page.get_by_role("heading", name="The signing secret")).to_be_visible()
        await page.get_by_role("button", name="I have copied it").click()
        await page.get_by_role("button", name="Delete the webhook").click()
        await page.get_by_role("dialog").get_by_role("button", name="Delete the webhook").click()
        await expect(page.get_by_role("heading", name="No webhooks yet")).to_be_visible()


def _attempt(at: object) -> dict[str, object]:
    return {"at": at, "milliseconds": 5, "code": 500, "answer": "down", "error": None}


async def test_failing_deliveries_are_counted_filtered_and_sent_now_with_the_webhook_in_the_menu(
    open_console: OpenConsole, services: Services, account: Account
) -> None:
    webhook = await create_webhook(services, account.id)
    await services.webhooks.webhooks.record_failure(webhook.id, webhook.created_at)
    await converted(services, account.id, 2)
    attempts = {"$set": {"attempts": [_attempt(webhook.created_at)]}}
    await services.stores.mongodb["deliveries"].update_one({}, attempts)
    async with open_console(f"/console/webhooks/{webhook.id}") as page:
        for state, number in (("Failed", 0), ("Failing", 1), ("Waiting", 1)):
            figure = page.locator(".figures div").filter(has=page.get_by_text(state, exact=True))
            await expect(figure.get_by_role("definition")).to_have_text(str(number))
        retried = page.locator("summary").filter(has_text="answered 500")
        await expect(retried.locator(".badge.bad")).to_have_text("failing")
        await expect(page.locator("summary .badge.accent")).to_have_text("waiting")
        in_menu = page.get_by_role("navigation").locator(".badge.bad")
        await expect(in_menu).to_have_text("1 failing")
        await page.get_by_label("State of the deliveries").select_option("Failing (1)")
        await expect(page.locator("summary .badge")).to_have_text(["failing"])
        # The state of the webhook comes with its deliveries.
        await services.webhooks.webhooks.record_success(webhook.id)
        await page.get_by_role("button", name="Send all that wait now").click()
        await expect(page.locator(".facts .badge")).to_have_text("active")
        done = {"$set": {"status": "delivered"}}
        await services.stores.mongodb["deliveries"].update_many({}, done)
        await page.get_by_role("button", name="Load the deliveries again").click()
        delivered = page.locator(".figures div").filter(has=page.get_by_text("Delivered"))
        await expect(delivered.get_by_role("definition")).to_have_text("2")
        await page.get_by_role("link", name="Webhooks").first.click()
        await expect(in_menu).to_have_count(0)


async def test_a_disabled_webhook_says_why(
    open_console: OpenConsole, services: Services, account: Account
) -> None:
    webhook = await create_webhook(services, account.id)
    disabled = {"active": False, "disabled_reason": "gone", "disabled_at": webhook.created_at}
    await services.stores.mongodb["webhooks"].update_one({"_id": webhook.id}, {"$set": disabled})
    async with open_console("/console/webhooks") as page:
        await expect(page.get_by_text("its receiver answered 410 Gone")).to_be_visible()

"""The recipes of docs/integrations.md, run as far as they run without the shops they are for."""

import asyncio
import re
from typing import Any

import orjson
from playwright.async_api import Browser, Page

from tests.console.shop import Shop, opened_shop
from tests.conversions import scene
from tests.documents import INTEGRATIONS, block, text
from tests.factories import create_event_config, create_link
from tests.waiting import eventually
from tests.web.records import journaled_clicks, journaled_events
from tracker.accounts.accounts import Account
from tracker.clicks.api.page_script import INTEGRITY, PATH
from tracker.conversions.conversion import Conversion
from tracker.conversions.event_config import EventConfig
from tracker.conversions.postbacks.fields import NAMES, REPORTED
from tracker.service.services import Services

ATTRIBUTES = "attributes: [{key: 'color', value: 'red'}, {key: 'click_id', value: CLICK}]"
CHECKOUT = (
    f"{{order: {{id: '1001'}}, currencyCode: 'EUR', totalPrice: {{amount: 12.5}}, {ATTRIBUTES}}}"
)
"""A checkout as the documentation of Shopify's events describes it."""


def filled(recipe: str, shop: Shop, config: EventConfig) -> str:
    host = recipe.replace("https://go.example.com", shop.services.settings.base_url)
    return host.replace("POSTBACK_KEY", config.pbk)


async def landed(page: Page, shop: Shop, account: Account) -> bytes:
    """Open a link that leads to the shop; return the click's id."""
    await create_link(shop.services, account.id, "spring", shop.url)
    await page.goto(f"{shop.services.settings.base_url}/c/spring")
    [click] = await journaled_clicks(shop.services)
    return click.id


async def the_only(services: Services) -> Conversion:
    await eventually(lambda: journaled_events(services))
    [event] = await journaled_events(services)
    return event


def test_the_document_names_the_newest_version_and_its_hash() -> None:
    assert set(re.findall(r"sha384-[\w+/=]+", text(INTEGRATIONS))) == {INTEGRITY}
    assert set(re.findall(r"/js/\w+/tracker\.js", text(INTEGRATIONS))) == {PATH}


async def test_plain_html_works_under_the_policy_that_is_shown(
    browser: Browser, services: Services, account: Account
) -> None:
    config = await create_event_config(services, account.id)
    async with opened_shop(browser, services) as (page, shop, _):
        allowed = filled(block(INTEGRATIONS, "script-src 'self'"), shop, config)
        shop.policy = f"default-src 'none'; {allowed.strip()}"
        shop.pages["/"] = filled(block(INTEGRATIONS, "<script defer"), shop, config)
        click_id = await landed(page, shop, account)
        await page.evaluate(
            filled(block(INTEGRATIONS, 'window.tracker?.("conversion"'), shop, config)
        )
        event = await the_only(services)
    assert (event.click_id, event.value) == (click_id, "12.5")
    assert event.transaction_id == "order-1001"


async def test_tags_of_a_manager_may_call_before_the_script_is_there(
    browser: Browser, services: Services, account: Account
) -> None:
    config = await create_event_config(services, account.id)
    async with opened_shop(browser, services) as (page, shop, _):
        shop.policy = ""
        click_id = await landed(page, shop, account)
        tag = filled(block(INTEGRATIONS, "window.tracker ="), shop, config)
        call = f"tracker('consent', 'granted'); tracker('conversion', {{pbk: '{config.pbk}'}});"
        async with page.expect_response("**/api/event"):
            await page.evaluate(f"() => {{ {tag} {call} }}")
        event = await the_only(services)
    assert (event.click_id, event.consent) == (click_id, "granted")


async def test_a_shop_on_shopify_takes_the_click_from_cart_to_order(
    browser: Browser, services: Services, account: Account
) -> None:
    config = await create_event_config(services, account.id)
    async with opened_shop(browser, services) as (page, shop, problems):
        problems.expected.append("405")
        shop.policy = ""
        shop.pages["/"] = filled(block(INTEGRATIONS, "<script defer"), shop, config)
        click_id = await landed(page, shop, account)
        async with page.expect_request("**/cart/update.js") as updated:
            await page.evaluate(block(INTEGRATIONS, 'window.tracker?.("click", (id) =>\n'))
        [sent] = orjson.loads((await updated.value).post_data or "")["attributes"].values()
        pixel = filled(block(INTEGRATIONS, "analytics.subscribe("), shop, config)
        analytics = f"{{subscribe: (_, tell) => tell({{data: {{checkout: {CHECKOUT}}}}})}}"
        run = f"(CLICK) => {{ const analytics = {analytics}; {pixel} }}"
        async with page.expect_response("**/api/event"):
            await page.evaluate(run, sent)
        event = await the_only(services)
    assert (event.click_id, event.value, event.transaction_id) == (click_id, "12.5", "1001")


def test_the_recipe_of_woocommerce_names_parameters_and_pins_the_script() -> None:
    recipe = block(INTEGRATIONS, "add_action('wp_enqueue_scripts'")
    assert set(re.findall(r"'(\w+)' => ", recipe)) <= NAMES | REPORTED
    assert (PATH in recipe, f'integrity="{INTEGRITY}"' in recipe) == (True, True)


async def test_stripe_brings_the_click_back_and_a_refund_restates_the_payment(
    browser: Browser, services: Services, account: Account
) -> None:
    config = await create_event_config(services, account.id)
    async with opened_shop(browser, services) as (page, shop, _):
        shop.policy = ""
        pay = '<a href="https://buy.stripe.com/test_1">Pay</a>'
        shop.pages["/"] = filled(block(INTEGRATIONS, "<script defer"), shop, config) + pay
        click_id = await landed(page, shop, account)
        await page.evaluate(block(INTEGRATIONS, 'window.tracker?.("click", (id) => {'))
        href = await page.get_by_role("link").get_attribute("href")
        named: dict[str, Any] = {}
        exec(filled(block(INTEGRATIONS, "import requests"), shop, config), named)
    assert href and href.startswith("https://buy.stripe.com/test_1?client_reference_id=")
    payment = {"payment_intent": "pi_1", "currency": "usd"}
    session = {**payment, "client_reference_id": href.partition("=")[2], "amount_total": 4000}
    event = {"type": "checkout.session.completed", "data": {"object": session}}
    states = []
    for refunded in (None, 1000, 4000):
        if refunded is not None:
            charge = {**payment, "amount": 4000, "amount_refunded": refunded}
            event = {"type": "charge.refunded", "data": {"object": charge}}
        for _ in range(2):  # Stripe sends some events twice.
            await asyncio.to_thread(named["report"], event)
        await scene.drained(services)
        [stored] = await scene.stored_events(services)
        states.append((stored.get("reported", "approved"), stored["value"].to_decimal()))
    assert stored["click_id"].bytes == click_id
    assert states == [("approved", 40), ("approved", 30), ("refunded", 40)]

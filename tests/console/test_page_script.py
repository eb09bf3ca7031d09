"""The script of landing pages, in a real browser: a shop on another site, under a strict policy."""

import asyncio
from typing import Any
from uuid import UUID

from playwright.async_api import Browser, Page, Route

from tests.console.shop import HOST, Shop, opened_shop, script_element
from tests.factories import create_event_config, create_link
from tests.waiting import eventually
from tests.web.records import journaled_clicks, journaled_events
from tracker.accounts.accounts import Account
from tracker.clicks.api.page_script import INTEGRITY
from tracker.conversions.consent import consents_of
from tracker.conversions.conversion import Conversion
from tracker.service.services import Services

DAY_MS = 86_400_000
RETRY_MS = 3_000


async def kept(page: Page) -> Any:
    """Return what the page's storage has."""
    return await page.evaluate("JSON.parse(localStorage.getItem('tracker'))")


async def reported(services: Services, number: int) -> list[Conversion]:
    """Wait for `number` conversions."""
    await eventually(lambda: _has(services, number))
    return await journaled_events(services)


async def _has(services: Services, number: int) -> bool:
    return len(await journaled_events(services)) >= number


async def visited(page: Page, shop: Shop, account: Account, path: str = "/") -> UUID:
    """Open a link that leads to a page of the shop; return the click's id."""
    await create_link(shop.services, account.id, "spring", f"{shop.url}{path}")
    await page.goto(f"{shop.services.settings.base_url}/c/spring")
    [click] = await journaled_clicks(shop.services)
    return UUID(bytes=click.id)


async def stored_consent(services: Services, click_id: UUID) -> str | None:
    return (await consents_of(services.stores.mongodb.reads, [click_id.bytes])).get(click_id.bytes)


async def answer_is_lost(route: Route) -> None:
    """Let the service take a request, and the page not know it."""
    await route.fetch()
    await route.abort()


async def test_a_click_is_kept_for_its_days_and_each_conversion_counts_once(
    browser: Browser, services: Services, account: Account
) -> None:
    config = await create_event_config(services, account.id)
    async with opened_shop(browser, services) as (page, shop, problems):
        problems.expected.append("net::ERR_FAILED")
        await page.clock.install()
        shop.pages = dict.fromkeys(("/", "/paid"), script_element(services, days="7"))
        click_id = await visited(page, shop, account)
        assert (await kept(page))["id"] == str(click_id)
        await page.goto(f"/paid?pbk={config.pbk}")

        await page.route("**/api/event", answer_is_lost, times=1)
        async with page.expect_event("requestfailed"):
            await page.get_by_role("button").click()
        async with page.expect_response("**/api/event") as repeated:
            await page.clock.fast_forward(RETRY_MS)
        assert (await (await repeated.value).json())["duplicate"] is True
        [first] = await reported(services, 1)
        assert (first.click_id, first.value, first.consent) == (click_id.bytes, "12.5", None)

        await page.clock.fast_forward(7 * DAY_MS)
        await page.goto(f"/paid?pbk={config.pbk}")
        await page.get_by_role("button").click()
        _, late = await reported(services, 2)
        assert (late.click_id, await kept(page)) == (None, None)


async def test_a_page_that_is_left_sends_what_waits_as_a_beacon(
    browser: Browser, services: Services, account: Account
) -> None:
    config = await create_event_config(services, account.id)
    async with opened_shop(browser, services) as (page, shop, problems):
        problems.expected.append("net::ERR_FAILED")
        await page.clock.install()
        shop.pages["/"] = script_element(services)
        click_id = await visited(page, shop, account, f"/?pbk={config.pbk}")
        await page.route("**/api/event", lambda route: route.abort(), times=1)
        async with page.expect_event("requestfailed"):
            await page.get_by_role("button").click()
        await page.goto("/next")
        await reported(services, 1)
        await page.go_back()
        await page.evaluate("(pbk) => tracker('conversion', {pbk, txid: 'T-1'})", config.pbk)
        await page.goto("/next")
        sent = await reported(services, 2)
        assert [one.click_id for one in sent] == [click_id.bytes] * 2
        assert sent[1].transaction_id == "T-1"


async def test_before_consent_nothing_is_kept_and_the_answer_follows_the_click(
    browser: Browser, services: Services, account: Account
) -> None:
    config = await create_event_config(services, account.id)
    async with opened_shop(browser, services) as (page, shop, problems):
        problems.expected.append("of the page's own")
        shop.pages = dict.fromkeys(("/", "/paid"), script_element(services, consent="required"))
        click_id = await visited(page, shop, account)
        assert await page.evaluate("localStorage.length") == 0
        failing = (
            "tracker('click', (id) => { window.named = id; throw Error(`of the page's own`); })"
        )
        await page.evaluate(failing)

        async with page.expect_response("**/api/consent"):
            await page.evaluate("tracker('consent', 'granted')")
        assert await stored_consent(services, click_id) == "granted"
        assert await kept(page) == {**await kept(page), "id": str(click_id), "consent": "granted"}
        assert await page.evaluate("named") == str(click_id)

        await page.goto(f"/paid?pbk={config.pbk}")
        await page.get_by_role("button").click()
        [granted] = await reported(services, 1)
        assert (granted.click_id, granted.consent) == (click_id.bytes, "granted")

        async with page.expect_response("**/api/consent"):
            await page.evaluate("tracker('consent', 'denied')")
        assert await stored_consent(services, click_id) == "denied"
        assert await kept(page) == {"consent": "denied"}
        await page.get_by_role("button").click()
        _, denied = await reported(services, 2)
        assert (denied.click_id, denied.consent) == (None, "denied")
        assert await page.context.cookies() == []


async def test_a_visitor_without_a_click_id_makes_a_click_of_the_link_once(
    browser: Browser, services: Services, account: Account
) -> None:
    config = await create_event_config(services, account.id)
    await create_link(services, account.id, "spring")
    async with opened_shop(browser, services) as (page, shop, problems):
        problems.expected.append("403 (Forbidden)")
        shop.pages = dict.fromkeys(("/", "/paid"), script_element(services, link="spring"))
        async with page.expect_response("**/api/click"):
            await page.goto("/")
        assert (await kept(page), await journaled_clicks(services)) == (None, [])
        await services.clicks.origins.change(account.id, [HOST])

        may_answer = asyncio.Event()

        async def held(route: Route) -> None:
            await may_answer.wait()
            await route.continue_()

        await page.route("**/api/click", held, times=1)
        await page.goto(f"/?utm_source=ads&pbk={config.pbk}", referer="https://ads.example/")
        await page.get_by_role("button").click()
        may_answer.set()
        [sold] = await reported(services, 1)
        [click] = await journaled_clicks(services)
        assert sold.click_id == click.id
        assert (click.query.partition("&")[0], click.referrer) == (
            "utm_source=ads",
            "https://ads.example/",
        )
        assert (await kept(page))["id"] == str(UUID(bytes=click.id))

        asked: list[str] = []
        page.on("request", lambda request: asked.append(request.url))
        await page.goto("/paid", referer=f"{shop.url}/")
        assert not any(url.endswith("/api/click") for url in asked)
        async with page.expect_response("**/api/click") as again:
            await page.goto("/", referer="https://ads.example/")
        known = {"click_id": str(UUID(bytes=click.id)), "is_new": False}
        assert await (await again.value).json() == known


async def test_a_click_is_made_with_consent_where_that_is_asked_for(
    browser: Browser, services: Services, account: Account
) -> None:
    await create_link(services, account.id, "spring")
    await services.clicks.origins.change(account.id, [HOST])
    async with opened_shop(browser, services) as (page, shop, _):
        shop.pages["/"] = script_element(services, link="spring", consent="required")
        await page.goto("/")
        await page.evaluate("tracker('consent', 'denied')")
        assert (await kept(page), await journaled_clicks(services)) == ({"consent": "denied"}, [])
        await page.evaluate("tracker('consent', 'granted')")
        named = await page.evaluate("new Promise((known) => tracker('click', known))")
        [click] = await journaled_clicks(services)
        assert click.consent == "granted"
        assert (await kept(page))["id"] == named == str(UUID(bytes=click.id))

        # The click of half an hour ago gets an answer that came after it.
        await create_link(services, account.id, "autumn")
        shop.pages["/"] = script_element(services, link="autumn")
        await page.evaluate("localStorage.clear()")
        await page.goto("/")
        earlier = UUID(await page.evaluate("new Promise((known) => tracker('click', known))"))
        await page.evaluate("""localStorage.setItem('tracker', '{"consent":"granted"}')""")
        async with page.expect_response("**/api/consent"):
            await page.goto("/")
        assert await stored_consent(services, earlier) == "granted"


async def test_another_script_than_the_one_that_was_named_does_not_run(
    browser: Browser, services: Services
) -> None:
    async with opened_shop(browser, services) as (page, shop, problems):
        problems.expected += ["Content Security Policy", "integrity"]
        wrong = INTEGRITY[:-4] + "AAAA"
        shop.pages["/"] = script_element(services, wrong)
        for trusted in (f"'{INTEGRITY}'", f"'{wrong}'", services.settings.base_url):
            shop.policy = shop.strict(trusted)
            await page.goto("/")
            assert await page.evaluate("typeof tracker") == "undefined"

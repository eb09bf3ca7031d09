"""A page of another origin reports conversions, in a real browser, in every way that pages have."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from playwright.async_api import Browser, Page
from tornado.httpserver import HTTPServer
from tornado.netutil import bind_sockets
from tornado.web import Application, RequestHandler

from tests.console.browser import opened
from tests.factories import create_event_config
from tests.waiting import eventually
from tests.web.records import journaled_events
from tracker.accounts.accounts import Account
from tracker.ids import new_id
from tracker.service.services import Services


class Shop(RequestHandler):
    """A page without anything, of a site that is not the service's."""

    def get(self) -> None:
        self.finish("<!doctype html><title>Shop</title>")


@asynccontextmanager
async def shop(browser: Browser, services: Services) -> AsyncIterator[Page]:
    """Yield a page of another origin than the service's, whose cookies it shares.

    Cookies do not know ports, so the browser sends those of the service wherever it may.
    """
    [socket] = bind_sockets(0, "127.0.0.1")
    server = HTTPServer(Application([("/", Shop)]))
    server.add_sockets([socket])
    base_url = f"http://localhost:{socket.getsockname()[1]}"
    try:
        async with opened(browser, base_url) as (page, problems):
            problems.expected.append(f"asked another host: {services.settings.base_url}/api/event")
            await page.context.add_cookies([{"name": "session", "value": "x", "url": base_url}])
            await page.goto("/")
            yield page
    finally:
        server.stop()
        await server.close_all_connections()


SENT = "{pbk, click_id: clickId, value: '12.5', transaction_id: 'T-' + clickId}"
WAYS = {
    "a beacon of text": f"navigator.sendBeacon(url, JSON.stringify({{...{SENT}, value: 12.5}}))",
    "a beacon of URLSearchParams": f"navigator.sendBeacon(url, new URLSearchParams({SENT}))",
    "a beacon of a JSON Blob": f"navigator.sendBeacon(url, new Blob([JSON.stringify({{...{SENT}, "
    "value: 12.5})], {type: 'application/json'}))",
    "a beacon of FormData": f"navigator.sendBeacon(url, form({SENT}))",
    "a beacon of the query alone": f"navigator.sendBeacon(url + '?' + new URLSearchParams({SENT}))",
    "a beacon of query and FormData": "navigator.sendBeacon(url + '?pbk=' + pbk + '&value=12.5', "
    "form({click_id: clickId, transaction_id: 'T-' + clickId}))",
    "fetch that outlives the page": f"fetch(url, {{method: 'POST', keepalive: true, "
    f"headers: {{'Content-Type': 'application/json'}}, body: JSON.stringify({{...{SENT}, "
    "value: 12.5})}).then(read)",
    "fetch with credentials": f"fetch(url + '?' + new URLSearchParams({SENT}), "
    "{credentials: 'include'}).then(read)",
    "an image": f"shown(url + '?' + new URLSearchParams({SENT}))",
}
TOOLS = """
const read = async (answer) => (await answer.json()).success === true;
const form = (fields) => {
  const made = new FormData();
  for (const [name, value] of Object.entries(fields)) made.append(name, value);
  return made;
};
const shown = (src) => new Promise((resolve) => {
  const image = Object.assign(new Image(), {src, onerror: () => resolve(false)});
  image.onload = () => resolve(image.naturalWidth === 1);
});
"""


async def test_a_page_of_another_origin_reports_a_conversion_in_every_way(
    browser: Browser, services: Services, account: Account
) -> None:
    config = await create_event_config(services, account.id)
    clicks = [new_id() for _ in WAYS]
    async with shop(browser, services) as page:
        url = f"{services.settings.base_url}/api/event"
        for (name, way), click_id in zip(WAYS.items(), clicks, strict=True):
            script = f"async ([url, pbk, clickId]) => {{ {TOOLS} return await {way}; }}"
            assert await page.evaluate(script, [url, config.pbk, str(click_id)]) is True, name

        async def recorded() -> bool:
            return len(await journaled_events(services)) == len(WAYS)

        await eventually(recorded)
    events = {one.click_id: one for one in await journaled_events(services)}
    for click_id in clicks:
        event = events[click_id.bytes]
        assert (event.event_config_id, event.value) == (config.id.bytes, "12.5")
        assert event.transaction_id == f"T-{click_id}"

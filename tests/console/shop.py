"""A shop: a site that is not the service's, with a policy that allows nothing inline."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from playwright.async_api import Browser, Page
from tornado.httpserver import HTTPServer
from tornado.netutil import bind_sockets
from tornado.web import Application, RequestHandler

from tests.console.browser import Problems, opened
from tracker.clicks.api.page_script import INTEGRITY, PATH
from tracker.service.services import Services

HOST = "shop.example"
"""Another site than localhost, which the browser finds on this machine."""

BUTTON = """
document.querySelector("button").addEventListener("click", ({ target }) => {
  tracker("conversion", { ...target.dataset });
});
"""
"""The shop's own script: its button reports a conversion with the data in its attributes."""


def script_element(services: Services, integrity: str = INTEGRITY, **attributes: str) -> str:
    """Return the element as the documents show it; `attributes` have `_` for `-`."""
    added = "".join(f' data-{name}="{value}"' for name, value in attributes.items())
    src = f'src="{services.settings.base_url}{PATH}" integrity="{integrity}"'
    return f'<script defer {src} crossorigin="anonymous"{added}></script>'


class Shop:
    """The shop's pages, by path, and its address. A page is the element of the script."""

    def __init__(self, services: Services) -> None:
        self.services = services
        self.pages: dict[str, str] = {}
        self.port = 0
        self.policy = self.strict(f"'{INTEGRITY}'")

    @property
    def url(self) -> str:
        return f"http://{HOST}:{self.port}"

    def strict(self, trusted: str) -> str:
        """Return a policy that allows the shop's own script, and the `trusted` one."""
        return (
            f"default-src 'none'; script-src 'self' {trusted}; base-uri 'none'; "
            f"connect-src {self.services.settings.base_url}; "
            "require-trusted-types-for 'script'; trusted-types 'none'"
        )


class _Pages(RequestHandler):
    def initialize(self, shop: Shop) -> None:
        self.shop = shop

    def get(self, path: str) -> None:
        if path == "/shop.js":
            self.set_header("Content-Type", "text/javascript")
            self.finish(BUTTON)
            return
        self.set_header("Content-Security-Policy", self.shop.policy)
        script, pbk = self.shop.pages.get(path, ""), self.get_query_argument("pbk", "")
        button = f'<button data-pbk="{pbk}" data-value="12.5">Buy</button>'
        own = '<script defer src="/shop.js"></script>'
        self.finish(f"<!doctype html><title>Shop</title>{script}{own}{button}")


async def _refuse_third_party_cookies(page: Page) -> None:
    session = await page.context.new_cdp_session(page)
    await session.send("Network.enable")
    controls = {
        "enableThirdPartyCookieRestriction": True,
        "disableThirdPartyCookieMetadata": True,
        "disableThirdPartyCookieHeuristics": True,
    }
    await session.send("Network.setCookieControls", controls)


@asynccontextmanager
async def opened_shop(
    browser: Browser, services: Services
) -> AsyncIterator[tuple[Page, Shop, Problems]]:
    """Yield a page in a browser, and a shop that it may open. The shop's links are known."""
    [socket] = bind_sockets(0, "127.0.0.1")
    shop = Shop(services)
    shop.port = socket.getsockname()[1]
    server = HTTPServer(Application([(r"(/.*)", _Pages, {"shop": shop})]))
    server.add_sockets([socket])
    try:
        async with opened(browser, shop.url) as (page, problems):
            problems.expected.append(f"asked another host: {services.settings.base_url}/")
            await _refuse_third_party_cookies(page)
            yield page, shop, problems
    finally:
        server.stop()
        await server.close_all_connections()

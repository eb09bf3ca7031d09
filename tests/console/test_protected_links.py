"""A protected link in a real browser without JavaScript, and its password in the console."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import NamedTuple

import pytest
from playwright.async_api import Browser, expect
from tornado.httpserver import HTTPServer
from tornado.netutil import bind_sockets
from tornado.web import Application, RequestHandler

from tests.clicks.protected import PASSWORD, create_protected
from tests.console.browser import opened
from tests.console.conftest import OpenConsole
from tests.factories import create_link
from tests.web.records import journaled_clicks
from tracker.accounts.accounts import Account
from tracker.service.services import Services


class Arrival(NamedTuple):
    """A request that has reached the destination."""

    method: str
    target: str
    body: bytes
    referrer: str | None


class Landing(RequestHandler):
    """The destination, of another origin than the service's."""

    def initialize(self, arrivals: list[Arrival]) -> None:
        self._arrivals = arrivals

    def get(self) -> None:
        request = self.request
        referrer = request.headers.get("Referer")
        self._arrivals.append(
            Arrival(request.method or "", request.uri or "", request.body, referrer)
        )
        self.finish("<!doctype html><title>Landing</title>")

    post = get


@asynccontextmanager
async def landing() -> AsyncIterator[tuple[str, list[Arrival]]]:
    """Yield the URL of a destination, and what arrives there."""
    [socket] = bind_sockets(0, "127.0.0.1")
    arrivals = list[Arrival]()
    server = HTTPServer(Application([("/landing", Landing, {"arrivals": arrivals})]))
    server.add_sockets([socket])
    try:
        yield f"http://localhost:{socket.getsockname()[1]}/landing", arrivals
    finally:
        server.stop()
        await server.close_all_connections()


@pytest.mark.parametrize("status", [302, 307])
async def test_a_visitor_without_javascript_types_the_password_and_none_of_it_is_passed_on(
    browser: Browser, services: Services, account: Account, status: int
) -> None:
    async with landing() as (url, arrivals):
        await create_protected(
            services, account.id, destination_url=url, redirect_status=status, notes="x"
        )
        base_url = services.settings.base_url
        async with opened(browser, base_url, java_script_enabled=False) as (page, problems):
            problems.expected += "401 (Unauthorized)", f"asked another host: {url}"
            await page.goto("/c/abc?a=1")
            await expect(page.get_by_role("heading", name="This link is protected")).to_be_visible()
            assert "landing" not in await page.content()
            margin = await page.locator("body").evaluate("body => getComputedStyle(body).maxWidth")
            assert margin == "540px"  # the policy lets the style in
            await page.get_by_label("Password").fill("wrong")
            await page.get_by_role("button", name="Open").click()
            await expect(page.get_by_text("The password is wrong")).to_be_visible()
            assert page.url == f"{base_url}/c/abc?a=1"
            assert (arrivals, await journaled_clicks(services)) == ([], [])
            await page.get_by_label("Password").fill(PASSWORD)
            await page.keyboard.press("Enter")
            await expect(page).to_have_title("Landing")
            await page.goto("/c/abc?a=2")
            await expect(page).to_have_title("Landing")
            assert page.url.startswith(f"{url}?a=2")
            [granted] = await page.context.cookies()
            assert (granted["path"], granted["httpOnly"]) == ("/c/abc", True)
    clicks = await journaled_clicks(services)
    assert [click.query for click in clicks] == ["a=1", "a=2"]
    assert {click.referrer for click in clicks} == {""}
    assert [(one.method, one.body, one.referrer) for one in arrivals] == [("GET", b"", None)] * 2
    assert [one.target.partition("&")[0] for one in arrivals] == ["/landing?a=1", "/landing?a=2"]


async def test_the_password_of_a_link_is_set_shown_as_set_and_removed(
    open_console: OpenConsole, services: Services, account: Account
) -> None:
    link = await create_link(services, account.id, internal_name="Spring")
    async with open_console(f"/console/links/{link.id}") as page:
        dialog = page.get_by_role("dialog")
        password = dialog.get_by_label("Password")
        await page.get_by_role("button", name="Edit", exact=True).click()
        await dialog.get_by_text("More options").click()
        await password.fill("never sent")
        await dialog.get_by_label("Notes").fill("Kept")
        kept = await page.evaluate("JSON.stringify(sessionStorage)")
        assert ("Kept" in kept, "never sent" in kept) == (True, False)
        await password.fill(PASSWORD)
        await dialog.get_by_role("button", name="Save").click()
        await expect(page.locator(".facts").get_by_text("protected")).to_be_visible()
        changed = await services.links.links.find(link.id)
        assert changed is not None
        assert await services.links.passwords.verify(changed.password_hash, PASSWORD)
        await page.goto("/console/links?state=protected")
        await expect(page.get_by_role("cell", name="active protected")).to_be_visible()
        await page.get_by_role("button", name="Actions for Spring").click()
        await page.get_by_role("menuitem", name="Edit").click()
        await dialog.get_by_text("More options").click()
        await expect(password).to_have_attribute("placeholder", "set")
        await expect(password).to_have_attribute("type", "password")
        await dialog.get_by_role("button", name="Remove the password").click()
        await dialog.get_by_role("button", name="Save").click()
        await expect(page.get_by_text("No link fits")).to_be_visible()
    removed = await services.links.links.find(link.id)
    assert removed is not None
    assert removed.password_hash is None

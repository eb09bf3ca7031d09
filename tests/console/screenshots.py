"""Pictures of the console for README and documents, written to docs/images."""

from argparse import ArgumentParser
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final, Literal, NamedTuple

import msgspec
from playwright.async_api import Browser, async_playwright, expect

from config.settings import Settings
from lab.harness import on_own_stores
from lab.processes import free_ports, running, service_process
from lab.sample_account import SampleAccount
from lab.scene import open_services
from tests.console import chromium
from tests.paths import ROOT
from tracker.access.sessions import SessionClient
from tracker.service.services import Services

FOLDER: Final = ROOT / "docs/images"
BASE_URL: Final = "http://localhost"
WIDTH, HEIGHT = 1280, 800


class Picture(NamedTuple):
    """A picture: its name, the path below /console, the theme, and the size of the window."""

    name: str
    path: str
    theme: Literal["light", "dark"] = "light"
    width: int = WIDTH
    height: int = HEIGHT


PICTURES: Final = (
    Picture("overview", "overview", height=1520),
    Picture(
        "overview-dark", "overview?country=DE&measure=conversions&panels=map,utm_campaign", "dark"
    ),
    Picture("overview-phone", "overview", "light", 390),
    Picture("links", "links"),
    Picture("links-phone", "links", "light", 390),
    Picture("link", "links/{link}"),
    Picture("rules", "links/{split_link}/rules", height=1100),
    Picture("experiment", "links/{split_link}", height=1100),
    Picture("table", "table?levels=country,device,utm_source&compare=previous_period"),
    Picture("conversions", "conversions"),
    Picture("webhook", "webhooks/{webhook}", "dark"),
    Picture("settings-keys", "settings/keys"),
)


async def take(folder: Path, stores: Settings) -> int:
    [port] = free_ports(1)
    settings = msgspec.structs.replace(
        stores,
        base_url=BASE_URL,
        port=port,
        dns_resolver=f"127.0.0.1:{port}",  # without an answer
        log_level="warning",
    )
    async with open_services(settings) as services:
        account = SampleAccount(services)
        await account.make()
        service = service_process(folder, "web", "web", settings)
        async with running([service]), _browser(port) as browser:
            for picture in PICTURES:
                print(f"{picture.name}.png", flush=True)
                await _take_one(browser, services, account, picture)
    return len(PICTURES)


@asynccontextmanager
async def _browser(port: int) -> AsyncIterator[Browser]:
    launching = chromium.launching(f"MAP localhost:80 127.0.0.1:{port}")
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(**launching)
        yield browser
        await browser.close()


async def _take_one(
    browser: Browser, services: Services, account: SampleAccount, picture: Picture
) -> None:
    context = await browser.new_context(
        base_url=BASE_URL,
        viewport={"width": picture.width, "height": picture.height},
        color_scheme=picture.theme,
        locale="en-GB",
        timezone_id="UTC",
        reduced_motion="reduce",
    )
    agent = "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0"
    client = SessionClient(address="198.51.100.0/24", user_agent=agent, counted_as="198.51.100.7")
    owner = account.members[0]
    session = await services.access.sessions.start(owner.person_id, owner.account_id, client)
    await context.add_cookies([{"name": "session", "value": session[1], "url": BASE_URL}])
    page = await context.new_page()
    path = picture.path.format(
        link=account.link.id, split_link=account.split_link.id, webhook=account.webhook
    )
    await page.goto(f"/console/{path}")
    await expect(page.locator("h1").first).to_be_visible()
    await expect(page.locator(".skeleton, [aria-busy=true]")).to_have_count(0)
    # Parts that are loaded when they are needed.
    await page.wait_for_timeout(600)
    for image in await page.locator("img").all():
        await expect(image).to_have_js_property("complete", value=True)
    await page.screenshot(path=FOLDER / f"{picture.name}.png")
    await context.close()


def main() -> None:
    ArgumentParser(description=__doc__).parse_args()
    FOLDER.mkdir(parents=True, exist_ok=True)
    number = on_own_stores("screenshots", take)
    print(f"{number} pictures in {FOLDER}")


if __name__ == "__main__":
    main()

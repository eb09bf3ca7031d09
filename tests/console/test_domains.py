"""The page of domains as people use it, with a DNS server of the test's own."""

import msgspec
import pytest
from playwright.async_api import expect

from config.settings import Settings
from tests.console.conftest import OpenConsole
from tests.dns.dns_server import DnsServer
from tests.factories import create_link
from tracker.accounts.accounts import Account
from tracker.service.services import Services

NAME = "go.shop.example"
TXT = f"_tracker.{NAME}"


@pytest.fixture
def settings(settings: Settings, dns: DnsServer) -> Settings:
    return msgspec.structs.replace(settings, dns_resolver=dns.address)


async def test_a_domain_is_added_proven_and_deleted_by_its_name(
    open_console: OpenConsole, dns: DnsServer
) -> None:
    async with open_console(
        "/console/domains", "400 (Bad Request)", permissions=["clipboard-read", "clipboard-write"]
    ) as page:
        await page.get_by_role("button", name="Add your first domain").click()
        await page.get_by_label("Hostname").fill("go_shop")
        await page.get_by_role("button", name="Add", exact=True).click()
        await expect(page.get_by_label("Hostname")).to_have_attribute("aria-invalid", "true")
        await page.get_by_label("Hostname").fill(f"https://{NAME}/")
        await page.get_by_role("button", name="Add", exact=True).click()
        await expect(page.get_by_text("not verified", exact=True)).to_be_visible()
        for part, begin in (("name", TXT), ("value", "tracker-verification=")):
            await page.get_by_role("button", name=f"Copy the {part} of the TXT record").click()
            record = str(await page.evaluate("navigator.clipboard.readText()"))
            assert record.startswith(begin)

        dns.turns(TXT, "TXT", '"tracker-verification=mistyped"', f'"{record}"')
        check = page.get_by_role("button", name="Check now")
        await check.click()
        seen = page.locator(".last-check")
        await expect(seen).to_contain_text("did not find")
        await expect(seen.locator("code")).to_have_text("tracker-verification=mistyped")
        await check.click()
        await expect(page.get_by_text("verified", exact=True)).to_be_visible()
        await expect(seen.locator("summary")).to_contain_text("found the record")
        await expect(page.get_by_role("alert")).to_have_count(0)

        await page.get_by_role("button", name=f"Delete {NAME}").click()
        delete = page.get_by_role("button", name="Delete the domain")
        await expect(delete).to_be_disabled()
        await page.get_by_label(f"Type {NAME} to go on").fill(NAME)
        await delete.click()
        await expect(page.get_by_role("heading", name="No domains yet")).to_be_visible()


async def test_a_failed_look_up_is_said_and_a_domain_in_use_stays(
    open_console: OpenConsole, services: Services, account: Account, dns: DnsServer
) -> None:
    domain = await services.links.domains.create(account.id, NAME)
    await create_link(services, account.id, domain=domain)
    dns.fails(TXT, "SERVFAIL")
    async with open_console(
        "/console/domains", "400 (Bad Request)", "503 (Service Unavailable)"
    ) as page:
        await page.get_by_role("button", name="Check now").click()
        await expect(page.get_by_role("alert")).to_contain_text("DNS")
        await expect(page.get_by_text("The DNS had no TXT")).to_have_count(0)
        await page.get_by_role("button", name=f"Delete {NAME}").click()
        await page.get_by_role("button", name="Delete the domain").click()
        await expect(page.get_by_role("dialog").get_by_role("alert")).to_contain_text(
            "archive them first"
        )

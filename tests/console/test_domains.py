"""The page of domains as people use it, with a DNS server of the test's own."""

import msgspec
import pytest
from playwright.async_api import expect

from config.settings import Settings
from tests.console.accessibility import assert_accessible
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


async def test_the_settings_of_a_domain_are_changed_and_a_broken_rule_is_at_its_field(
    open_console: OpenConsole, services: Services, account: Account
) -> None:
    domain = await services.links.domains.create(account.id, NAME)
    async with open_console("/console/domains", "400 (Bad Request)") as page:
        settings = page.get_by_role("button", name=f"Settings of {NAME}")
        await settings.click()
        await page.get_by_label("Unknown paths").fill("shop.example/lost")
        await assert_accessible(page)
        await page.get_by_label("assetlinks.json").fill("{}")
        save = page.get_by_role("button", name="Save")
        await save.click()
        await expect(page.get_by_text("must be a JSON list")).to_be_visible()
        await page.get_by_label("assetlinks.json").fill('[{"a": 1}]')
        await save.click()
        await expect(page.get_by_role("dialog")).to_have_count(0)
        await settings.click()
        lost = page.get_by_label("Unknown paths")
        await expect(lost).to_have_value("https://shop.example/lost")
        await lost.fill("")
        await save.click()
        await expect(page.get_by_role("dialog")).to_have_count(0)
    stored = await services.links.domains.find(domain.id)
    assert stored is not None
    assert (stored.not_found_url, stored.assetlinks) == (None, '[{"a": 1}]')


async def test_an_unknown_path_becomes_a_link_by_two_clicks_and_is_listed_no_more(
    open_console: OpenConsole, services: Services, account: Account
) -> None:
    domain = await services.links.domains.create(account.id, NAME)
    await services.links.domains.verify(domain.id)
    for path in ("100% off?/sale", "spring"):
        services.links.unknown_paths.record(domain.id.hex, path, "news.example", "192.0.2.1")
    await services.links.unknown_paths.store()
    async with open_console("/console/domains") as page:
        await page.get_by_role("link", name=f"Unknown paths of {NAME}").click()
        for path in ("spring", "100%25%20off%3F/sale"):
            row = page.get_by_role("row", name=f"{NAME}/{path}")
            await expect(row).to_contain_text("news.example")
            await row.get_by_role("button", name="Create a link for it").click()
            await page.get_by_label("Destination").fill("https://shop.example/")
            await page.get_by_role("button", name="Create", exact=True).click()
            await expect(row).to_have_count(0)
        await expect(page.get_by_role("heading", name="Every path had a link")).to_be_visible()
    paths = ["spring", "100% off?/sale"]
    assert await services.links.links.find_names(domain, paths) == set(paths)

"""The page of one link, as people use it."""

import re
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, cast
from urllib.parse import parse_qs, urlsplit
from uuid import UUID

import numpy as np
import zxingcpp
from playwright.async_api import Locator, expect

from tests.console.conftest import OpenConsole, OpenPage
from tests.console.people import sign_in
from tests.conversions.scene import drained
from tests.factories import CHROME, create_link
from tracker.accounts.accounts import Account
from tracker.calendar import calendar_of
from tracker.clock import now
from tracker.service.services import Services


async def test_a_link_is_edited_paused_archived_and_its_history_names_who_did_it(
    open_console: OpenConsole, services: Services, account: Account
) -> None:
    link = await create_link(services, account.id, "spring", internal_name="Spring")
    async with open_console(f"/console/links/{link.id}") as page:
        await page.get_by_role("button", name="Edit").click()
        await page.get_by_label("Name", exact=True).fill("Summer")
        await page.get_by_role("button", name="Save").click()
        await expect(page.get_by_role("heading", name="Summer", exact=True)).to_be_visible()
        history = page.locator(".history > li")
        await expect(history.first).to_contain_text("Ada changed just now")
        await expect(history.first.get_by_role("deletion")).to_have_text("Spring")
        await expect(history.first.get_by_role("insertion")).to_have_text("Summer")
        await page.get_by_role("button", name="Pause").click()
        await expect(page.get_by_text("paused", exact=True)).to_be_visible()
        await expect(history).to_have_count(2)
        await expect(page.get_by_role("button", name="Test click")).to_have_count(0)
        await page.get_by_role("button", name="Archive").click()
        await expect(page.get_by_text("archived", exact=True).first).to_be_visible()
        await expect(history.first).to_contain_text("Ada archived just now")
        await page.get_by_role("button", name="Undo").last.click()
        await expect(history.first).to_contain_text("Ada restored just now")
        await expect(page.get_by_role("button", name="Edit")).to_be_visible()
    found = await services.links.links.find(link.id)
    assert found is not None
    assert (found.internal_name, found.active, found.archived) == ("Summer", False, False)


async def test_more_paths_are_typed_one_a_line_and_a_taken_one_is_named_at_the_field(
    open_console: OpenConsole, services: Services, account: Account
) -> None:
    domain = await services.links.domains.create(account.id, "go.shop.example")
    await services.links.domains.verify(domain.id)
    await create_link(services, account.id, "taken", domain_id=domain.id)
    link = await create_link(services, account.id, "spring", domain_id=domain.id, paths=["old"])
    async with open_console(f"/console/links/{link.id}", "400 (Bad Request)") as page:
        await page.get_by_role("button", name="Edit", exact=True).click()
        dialog = page.get_by_role("dialog")
        paths = dialog.get_by_label("More paths")
        await expect(paths).to_have_value("old")
        await paths.fill("taken\nold")
        await dialog.get_by_role("button", name="Save").click()
        await expect(paths).to_have_attribute("aria-invalid", "true")
        await expect(dialog.get_by_text("already taken")).to_be_visible()
        await paths.press("Control+a")
        await page.keyboard.type("summer/sale")
        await page.keyboard.press("Enter")  # a new line, and not the form
        await page.keyboard.type(" 100%25 ")
        await dialog.get_by_role("button", name="Save").click()
        await expect(page.locator(".facts").get_by_text("summer/sale, 100%25")).to_be_visible()
        changed = await services.links.links.find(link.id)
        assert changed is not None
        assert changed.paths == ["summer/sale", "100%25"]
        await page.get_by_role("button", name="Edit", exact=True).click()
        await expect(paths).to_have_value("summer/sale\n100%25")
        await paths.fill("")
        await dialog.get_by_role("button", name="Save").click()
        await expect(dialog).not_to_be_visible()
    removed = await services.links.links.find(link.id)
    assert removed is not None
    assert removed.paths == []


async def test_clicks_before_the_import_are_told_beside_the_report(
    open_console: OpenConsole, services: Services, account: Account
) -> None:
    link = await create_link(services, account.id, "spring", opening_clicks=1234)
    async with open_console(f"/console/links/{link.id}") as page:
        about = page.get_by_text("And 1,234 clicks before the import")
        await expect(about).to_be_visible()


PIXELS = """async (image) => {
    await image.decode();
    const canvas = new OffscreenCanvas(600, 600).getContext("2d");
    canvas.fillStyle = "#fff";
    canvas.fillRect(0, 0, 600, 600);
    canvas.drawImage(image, 20, 20, 560, 560);
    const { data } = canvas.getImageData(0, 0, 600, 600);
    const gray = (at) => Math.round(0.3 * data[at] + 0.59 * data[at + 1] + 0.11 * data[at + 2]);
    return Array.from({ length: 360000 }, (_, pixel) => gray(4 * pixel));
}"""
LOGO = (
    b'<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"><rect fill="red" width="9" '
    b'height="9"/></svg>'
)


async def decoded(picture: Locator) -> list[str]:
    pixels = np.array(await picture.evaluate(PIXELS), np.uint8).reshape(600, 600)
    return [code.text for code in zxingcpp.read_barcodes(pixels)]


async def test_the_qr_code_has_a_colour_and_a_logo_is_read_and_downloaded(
    open_console: OpenConsole, services: Services, account: Account, tmp_path: Path
) -> None:
    link = await create_link(services, account.id, "spring")
    text = f"{services.settings.base_url}/c/spring?qr=1"
    async with open_console(f"/console/links/{link.id}", "400 (Bad Request)") as page:
        picture = page.get_by_role("img", name="QR code of")
        assert await decoded(picture) == [text]
        await page.get_by_label("Colour").fill("#8a2be2")
        await expect(picture).to_have_attribute("src", re.compile("8a2be2"))
        logo: Any = {"name": "a.svg", "mimeType": "image/svg+xml", "buffer": LOGO}
        await page.get_by_label("Logo").set_input_files(logo)
        await expect(picture).to_have_attribute("src", re.compile("base64"))
        assert await decoded(picture) == [text]
        for role, kind, begin in (("link", "SVG", b"<svg"), ("button", "PNG", b"\x89PNG")):
            async with page.expect_download() as downloading:
                await page.get_by_role(cast(Any, role), name=kind).click()
            download = await downloading.value
            assert download.suggested_filename == f"spring.{kind.lower()}"
            await download.save_as(tmp_path / kind)
            assert (tmp_path / kind).read_bytes().startswith(begin)
        logo["mimeType"] = "text/html"
        await page.get_by_label("Logo").set_input_files(logo)
        await expect(page.get_by_text("A PNG or SVG of at most 100 KB.")).to_be_visible()
        await page.get_by_label("Colour").fill("#ffee00")
        await expect(page.get_by_role("alert")).to_contain_text("too light on white")


async def test_a_test_click_is_shown_as_a_test_and_counts_nowhere(
    open_console: OpenConsole, services: Services, account: Account
) -> None:
    link = await create_link(services, account.id, "a", f"{services.settings.base_url}/healthz")
    async with open_console(f"/console/links/{link.id}", user_agent=CHROME) as page:
        clicks = page.locator(".tile", has_text="Clicks").locator("strong")
        await expect(clicks).to_have_text("0")
        async with page.expect_popup() as opening:
            await page.get_by_role("button", name="Test click").click()
        landing = await opening.value
        await landing.wait_for_url(f"{services.settings.base_url}/healthz?*")
        assert await landing.evaluate("window.opener") is None
        assert await landing.evaluate("document.referrer") in ("", f"{page.url}")
        [click_id] = parse_qs(urlsplit(landing.url).query)["click_id"]
        await landing.close()
        assert await drained(services) == 1
        row = page.get_by_role("table", name="Last clicks").locator("tbody tr")
        await expect(row).to_have_count(1)
        await expect(row.get_by_text("test", exact=True)).to_be_visible()
        async with page.expect_response("**/api/reports/overview"):
            await page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")
        await expect(clicks).to_have_text("0")
    stored = await services.stores.mongodb["clicks"].find_one({"_id": UUID(click_id)})
    assert stored is not None
    assert stored["test"] is True


async def test_the_days_of_a_link_are_those_of_the_account_s_time_zone(
    open_page: OpenPage, services: Services, account: Account
) -> None:
    # One of the two has another date than UTC at any time.
    zone = "Pacific/Kiritimati" if now().hour >= 10 else "Etc/GMT+12"
    chosen = {"$set": {"time_zone": zone}}
    await services.stores.mongodb["accounts"].update_one({"_id": account.id}, chosen)
    today = calendar_of(zone).day_of(now())
    assert today != now().date()
    link = await create_link(services, account.id, "spring")
    async with open_page() as (page, _):
        await sign_in(services, page, account.id)
        async with page.expect_request("**/api/reports/overview") as asked:
            await page.goto(f"/console/links/{link.id}")
        sent: Any = (await asked.value).post_data_json
        await expect(page.get_by_text(f"Times and days are those of {zone}.")).to_be_visible()
    assert sent["dateRange"]["to"] == today.isoformat()
    assert sent["dateRange"]["from"] == (today - timedelta(days=27)).isoformat()


async def test_the_options_of_a_link_are_set_shown_and_taken_back(
    open_console: OpenConsole, services: Services, account: Account
) -> None:
    link = await create_link(services, account.id)
    async with open_console(f"/console/links/{link.id}", "400 (Bad Request)") as page:
        await page.get_by_role("button", name="Edit", exact=True).click()
        dialog = page.get_by_role("dialog")
        await dialog.get_by_text("More options").click()
        await dialog.get_by_label("Ends", exact=True).fill("2099-01-31T09:30")
        await dialog.get_by_label("Status").select_option("301")
        await dialog.get_by_role("button", name="Save").click()
        await expect(dialog.get_by_text("301 is permanent")).to_be_visible()
        await dialog.get_by_label("Status").select_option("307")
        await dialog.get_by_label("Notes").fill("For the leaflet")
        await dialog.get_by_label("Most clicks").fill("1,000")
        await dialog.get_by_role("button", name="Save").click()
        await expect(dialog.get_by_text("must be a whole number")).to_be_visible()
        await dialog.get_by_label("Most clicks").fill("1000")
        await dialog.get_by_role("button", name="Save").click()
        await expect(page.locator(".facts").get_by_text("2099")).to_be_visible()
        await expect(page.locator(".facts").get_by_text("1,000, 1,000 left")).to_be_visible()
        changed = await services.links.links.find(link.id)
        assert changed is not None
        assert changed.expires_at == datetime(2099, 1, 31, 9, 30, tzinfo=UTC)
        assert (changed.redirect_status, changed.notes) == (307, "For the leaflet")
        assert changed.max_clicks == 1000
        await page.get_by_role("button", name="Edit", exact=True).click()
        await dialog.get_by_label("Ends", exact=True).fill("")
        await dialog.get_by_role("button", name="Save").click()
        await expect(dialog).not_to_be_visible()
    taken_back = await services.links.links.find(link.id)
    assert taken_back is not None
    assert taken_back.expires_at is None

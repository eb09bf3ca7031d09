"""The page of imports: from a file with every kind of refusal to its undoing."""

import asyncio
from pathlib import Path
from typing import cast

import pytest
from playwright.async_api import Page, expect

from tests.console.conftest import OpenConsole
from tests.factories import create_link
from tests.waiting import eventually
from tracker.access.roles import Role
from tracker.accounts.accounts import Account
from tracker.imports.source import Source
from tracker.imports.sources import SOURCES
from tracker.service.services import Services

FILE = """\
Path;Where to;Title;Domain;Expires at;Password
spring;https://shop.example/spring;Spring;;;
autumn;https://shop.example/autumn;Autumn;;;
locked;https://shop.example/locked;Locked;;;secret
bad;ftp://shop.example/;Bad;;;
late;https://shop.example/late;Late;;tomorrow;
a/b;https://shop.example/a;Two parts;;;
far;https://shop.example/far;Far;go.far.example;;
spring;https://shop.example/again;Again;;;
taken;https://shop.example/taken;Taken;;;
none;;None;;;
"""
WHY = {
    "locked": ("new, with losses", "password: does not come along, so the link is inactive"),
    "ftp://shop.example/": ("refused", "destination_url: must be an absolute http"),
    "tomorrow": ("refused", "expires_at: must be a time in ISO 8601 or Unix time"),
    "a/b": ("refused", "path: only links of custom domains have other paths than a slug"),
    "go.far.example/far": ("refused", "domain: go.far.example is no domain of the account"),
    "shop.example/again": ("in conflict", "path: taken by row"),
    "/taken": ("in conflict", "path: taken by"),
}


@pytest.fixture(autouse=True)
def sources(services: Services) -> None:
    cast(dict[str, Source], services.imports.sources).update(SOURCES)


async def work(services: Services, page: Page, state: str) -> None:
    """Do what the import waits for, and wait until the page shows it."""
    await eventually(lambda: services.imports.worker.work_on_one(asyncio.Event()))
    await expect(page.get_by_role("main").get_by_text(state, exact=True)).to_be_visible()


async def begin(page: Page, file: Path, source: str = "CSV") -> None:
    await page.goto("/console/links")
    await page.get_by_role("link", name="Import").click()
    await page.get_by_role("button", name="New import").click()
    dialog = page.get_by_role("dialog")
    await dialog.get_by_label("From").select_option("YOURLS")
    await expect(dialog.get_by_label("Key")).to_be_visible()
    await dialog.get_by_label("From").select_option(source)
    await expect(dialog.get_by_label("Key")).to_have_count(int(source == "YOURLS"))
    await dialog.get_by_role("button", name="Continue").click()
    await page.get_by_label("Choose the file").set_input_files(file)


async def test_a_file_is_mapped_checked_imported_compared_and_taken_back(
    open_console: OpenConsole, services: Services, account: Account, tmp_path: Path
) -> None:
    await create_link(services, account.id, "taken")
    file = tmp_path / "links.csv"
    file.write_text(FILE, encoding="utf-16")
    async with open_console("/console/imports", "404 (Not Found)") as page:
        await begin(page, file)
        await expect(page.get_by_role("cell", name="https://shop.example/locked")).to_be_visible()
        await expect(page.get_by_label("Column 1")).to_have_value("path")
        await expect(page.get_by_label("Column 2")).to_have_value("")
        await page.get_by_label("Column 2").select_option("destination url")
        await page.get_by_role("button", name="Check, import nothing").click()
        await work(services, page, "checked")
        for text, (outcome, why) in WHY.items():
            row = page.get_by_role("row").filter(has_text=text).filter(has_text=why)
            await expect(row.get_by_text(outcome, exact=True)).to_be_visible()
        rows = page.get_by_role("table", name="Rows", exact=True).locator("tbody tr")
        await expect(rows).to_have_count(10)
        await page.get_by_role("button", name="2 in conflict").click()
        await expect(rows).to_have_count(2)
        async with page.expect_download() as found:
            await page.get_by_role("link", name="CSV").click()
        download = Path(await (await found.value).path()).read_text(encoding="utf-8-sig")
        assert len(download.splitlines()) == 3
        assert "secret" not in download
        assert await services.stores.mongodb["links"].count_documents({}) == 1

        await page.get_by_role("button", name="Import", exact=True).click()
        await page.get_by_role("button", name="Pause").click()
        await page.get_by_role("button", name="Carry on").click()
        await work(services, page, "done")
        links = services.stores.mongodb["links"]
        assert await links.count_documents({}) == 4
        await page.get_by_role("button", name="Check the cut-over").click()
        await work(services, page, "done")
        # On the service's own host a printed path is not at the root.
        await expect(page.get_by_text("0 of 3 paths answer as before; 3 differ")).to_be_visible()
        await page.get_by_role("button", name="Show what differs").click()
        await expect(rows).to_have_count(3)
        await expect(rows.filter(has_text="autumn")).to_contain_text("404")
        autumn = await links.find_one({"slug": "autumn"})
        assert autumn is not None
        await services.links.links.change(autumn["_id"], {"notes": "ours"})
        await page.get_by_role("button", name="Take it back").click()
        await work(services, page, "undone")
        await page.get_by_role("button", name="1 left").click()
        await expect(rows).to_have_count(1)
        await expect(rows.first).to_contain_text("autumn")
        assert await links.count_documents({}) == 2


async def test_a_file_that_is_none_of_the_source_is_refused_and_an_import_is_cancelled(
    open_console: OpenConsole, tmp_path: Path
) -> None:
    file = tmp_path / "links.sql"
    file.write_text("no dump", encoding="utf-8")
    async with open_console("/console/imports", "400 (Bad Request)", "404") as page:
        await begin(page, file, "YOURLS")
        await expect(page.get_by_role("alert")).to_be_visible()
        await page.get_by_role("button", name="Cancel").click()
        await expect(page.get_by_role("main").get_by_role("status")).to_contain_text("cancelled")
        await expect(page.get_by_label("Choose the file")).to_have_count(0)


async def test_a_viewer_sees_imports_and_begins_none(open_console: OpenConsole) -> None:
    async with open_console("/console/imports", role=Role.VIEWER) as page:
        await expect(page.get_by_text("No imports yet")).to_be_visible()
        await expect(page.get_by_role("button", name="New import")).to_have_count(0)

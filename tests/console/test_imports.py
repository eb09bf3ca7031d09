"""The pages of imports: from a file with every kind of refusal to its undoing."""

import asyncio
import csv
import re
from pathlib import Path
from typing import Any

import msgspec
import pytest
from playwright.async_api import Locator, Page, expect

from config.settings import Settings
from tests.console.accessibility import NARROW, assert_accessible
from tests.console.browser import VIEWPORT
from tests.console.conftest import OpenConsole
from tests.dns.dns_server import DnsServer
from tests.factories import create_link
from tests.imports.lines import add_lines
from tests.waiting import eventually
from tracker.access.roles import Role
from tracker.accounts.accounts import Account
from tracker.imports.readers.csv_links import LINK_HEADINGS
from tracker.imports.source import Source
from tracker.imports.source_api import SourceApis
from tracker.jobs.files import FileWriter
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
REFUSED: list[tuple[dict[str, str], str, str]] = [
    ({"path": ""}, "refused", "path: a path or a short URL is required"),
    ({"path": "", "source_url": "https://go.shop.example/"}, "refused", "path: is the root of a"),
    ({"path": "a/b", "domain_name": ""}, "refused", "path: only links of custom domains have"),
    ({"path": "x" * 256}, "refused", "paths: 1 to 255 bytes"),
    ({"path": "c/one"}, "refused", "paths: "),
    ({"domain_name": "far.example"}, "refused", "domain: far.example is no domain of the account"),
    ({"destination_url": ""}, "refused", "destination_url: must"),
    ({"destination_url": "ftp://shop.example/"}, "refused", "destination_url: must"),
    ({"destination_url": "https://go.shop.example/c/one"}, "refused", "destination_url: "),
    ({"destination_url": "https://a.example/" + "x" * 2048}, "refused", "destination_url: "),
    ({"created_at": "yesterday"}, "refused", "created_at: must be a time in ISO 8601"),
    ({"starts_at": "soon"}, "refused", "starts_at: must be a time in ISO 8601"),
    ({"expires_at": "0001-01-01T00:00+14:00"}, "refused", "expires_at: "),
    (
        {"starts_at": "2026-02-01", "expires_at": "2026-01-01"},
        "refused",
        "expires_at: must be after starts_at",
    ),
    ({"expired_url": "javascript:alert(1)"}, "refused", "expired_url: must"),
    ({"max_clicks": "many"}, "refused", "max_clicks: must be a whole number"),
    ({"max_clicks": "0"}, "refused", "max_clicks: must"),
    ({"clicks": "-1"}, "refused", "clicks: must be a whole number from 0"),
    ({"external_id": "x" * 256}, "refused", "external_id: 1 to"),
    ({"path": "fine"}, "new", ""),
    ({"path": "fine", "id": "other"}, "in conflict", "path: taken by row 21"),
    ({"path": "taken"}, "in conflict", "path: taken by another link"),
    ({"password": "x" * 200}, "new, with losses", "password: does not come along"),
    ({"internal_name": "x" * 300}, "new, with losses", "internal_name: cut to 255 characters"),
    ({"notes": "x" * 3000}, "new, with losses", "notes: cut to 2000 characters"),
    ({"tags": ",".join(map(str, range(101)))}, "new, with losses", "tags: at most 100"),
]
"""Cells of a row where it differs from a link that can be imported, its outcome, and why."""

PAGE = 25
COLUMNS = list(LINK_HEADINGS)
DOMAIN, KEY = "go.shop.example", "a-secret-of-the-source"


@pytest.fixture
def settings(settings: Settings, dns: DnsServer) -> Settings:
    return msgspec.structs.replace(settings, dns_resolver=dns.address)


async def work(services: Services, page: Page, state: str) -> None:
    """Do what the import waits for, and wait until the page shows it."""
    await eventually(lambda: services.imports.worker.work_on_one(asyncio.Event()))
    await expect(page.get_by_role("main").get_by_text(state, exact=True)).to_be_visible()


async def cells_of(rows: Locator, count: int) -> list[list[str]]:
    """Return row number, outcome and reason of the rows, once there are `count`."""
    await expect(rows).to_have_count(count)
    texts: list[list[str]] = await rows.evaluate_all(
        "all => all.map(row => [0, 2, 3].map(at => row.cells[at].textContent.trim()))"
    )
    return texts


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
        await expect(page.get_by_role("heading", name="Import from CSV")).to_be_visible()
        await expect(page.get_by_role("cell", name="https://shop.example/locked")).to_be_visible()
        await expect(page.get_by_label("Path", exact=True)).to_have_value("path")
        target = page.get_by_label("Where to", exact=True)
        await expect(target).to_have_value("")
        assert await target.locator("option").evaluate_all("all => all.map(one => one.value)") == [
            "",
            *COLUMNS,
        ]
        await assert_accessible(page)
        await page.set_viewport_size(NARROW)
        await target.select_option("destination url")
        await page.set_viewport_size(VIEWPORT)
        await page.get_by_role("button", name="Check, import nothing").click()
        await work(services, page, "checked")
        rows = page.get_by_role("table", name="Rows", exact=True).locator("tbody tr")
        await expect(rows).to_have_count(10)
        await assert_accessible(page)
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
        await page.get_by_role("dialog").get_by_role("button", name="Take it back").click()
        await work(services, page, "undone")
        await page.get_by_role("button", name="1 left").click()
        await expect(rows).to_have_count(1)
        await expect(rows.first).to_contain_text("autumn")
        await expect(rows.first).to_contain_text("changed")
        assert await links.count_documents({}) == 2
        await page.get_by_role("button", name="Delete").click()
        await page.get_by_role("dialog").get_by_role("button", name="Delete").click()
        await expect(page.get_by_role("heading", name="No imports yet")).to_be_visible()


async def test_every_refused_row_is_shown_with_its_field_and_the_rule_that_it_breaks(
    open_console: OpenConsole, services: Services, account: Account, tmp_path: Path
) -> None:
    domain = await services.links.domains.create(account.id, DOMAIN)
    await services.links.domains.verify(domain.id)
    await create_link(services, account.id, "taken", domain_id=domain.id)
    file = tmp_path / "links.csv"
    with file.open("w", encoding="utf-8", newline="") as lines:
        writer = csv.DictWriter(lines, COLUMNS)
        writer.writeheader()
        for number, (cells, _, _) in enumerate(REFUSED):
            usual = {"path": f"p{number}", "domain_name": DOMAIN}
            writer.writerow({**usual, "destination_url": "https://shop.example/", **cells})
    async with open_console("/console/imports") as page:
        await begin(page, file)
        await page.get_by_role("button", name="Check, import nothing").click()
        await work(services, page, "checked")
        rows = page.get_by_role("table", name="Rows", exact=True).locator("tbody tr")
        shown = await cells_of(rows, PAGE)
        await page.get_by_role("button", name="Next").click()
        shown += await cells_of(rows, len(REFUSED) - PAGE)
    expected = [[str(line), *told] for line, (_, *told) in enumerate(REFUSED, 2)]
    found = zip(shown, expected, strict=True)
    assert [[*one[:2], one[2][: len(told[2])]] for one, told in found] == expected


async def test_links_that_name_no_domain_go_to_the_chosen_one_and_answer_as_before(
    open_console: OpenConsole, services: Services, account: Account, tmp_path: Path
) -> None:
    domain = await services.links.domains.create(account.id, DOMAIN)
    await services.links.domains.verify(domain.id)
    file = tmp_path / "links.csv"
    file.write_text("path,url\nspring,https://a.example/\nsummer/sale,https://b.example/\n")
    async with open_console("/console/imports", "404 (Not Found)") as page:
        await begin(page, file)
        await page.get_by_label("Links that name no domain").select_option(DOMAIN)
        await page.get_by_role("button", name="Check, import nothing").click()
        await work(services, page, "checked")
        await expect(page.get_by_label("Links that name no domain")).to_have_value(str(domain.id))
        await page.get_by_role("button", name="Import", exact=True).click()
        await work(services, page, "done")
        await page.get_by_role("button", name="Check the cut-over").click()
        await work(services, page, "done")
        await expect(page.get_by_text("2 of 2 paths answer as before; 0 differ")).to_be_visible()
        await expect(page.get_by_text(f"{DOMAIN}: set {DOMAIN} CNAME")).to_be_visible()
        await assert_accessible(page)


async def test_a_file_tells_how_much_of_it_was_sent(
    open_console: OpenConsole, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write, go_on = FileWriter.write, asyncio.Event()

    async def write_later(file: FileWriter, piece: bytes) -> None:
        await go_on.wait()
        if (writing := write(file, piece)) is not None:
            await writing

    monkeypatch.setattr(FileWriter, "write", write_later)
    file = tmp_path / "links.csv"
    file.write_bytes(b"path,url\n" + b"a,https://a.example/\n" * (32 * 1024 * 1024 // 21))
    async with open_console("/console/imports") as page:
        await begin(page, file)
        await expect(page.get_by_text(re.compile(r"^\s*[1-9]\d?(\.\d+)?% sent"))).to_be_visible()
        await expect(page.get_by_role("main").get_by_text("created", exact=True)).to_be_visible()
        go_on.set()
        await expect(page.get_by_role("main").get_by_text("uploaded", exact=True)).to_be_visible()
        await expect(page.get_by_label("Choose the file")).to_have_value("")


async def test_the_key_of_an_api_is_used_and_the_console_keeps_it_nowhere(
    open_console: OpenConsole, services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Api:
        host = "links.example"

        async def get(self, path: str, parameters: Any = None) -> Any:
            return {"links": [{"id": "spring"}]}

    used = list[str]()

    async def open_api(_: SourceApis, source: Source, url: str, key: str) -> Api:
        used.append(key)
        return Api()

    add_lines(services)
    async with open_console("/console/imports", "400 (Bad Request)") as page:
        dialog = page.get_by_role("dialog")
        address, key = dialog.get_by_label("Address of its API"), dialog.get_by_label("Key")
        await page.get_by_role("button", name="New import").click()
        await dialog.get_by_label("From").select_option("Lines")
        await address.fill("ftp://links.example")
        await key.fill(KEY)
        await dialog.get_by_role("button", name="Continue").click()
        await expect(address).to_have_attribute("aria-invalid", "true")
        await expect(key).to_have_attribute("type", "password")
        await expect(key).to_have_attribute("autocomplete", "new-password")
        await assert_accessible(page)
        monkeypatch.setattr(SourceApis, "open", open_api)
        await address.fill("https://links.example")
        await dialog.get_by_role("button", name="Continue").click()
        await expect(page.get_by_role("main").get_by_text("uploaded", exact=True)).to_be_visible()
        assert used == [KEY]
        kept = await page.evaluate(
            "JSON.stringify([localStorage, sessionStorage, history.state, location.href])"
        )
        assert KEY not in kept + await page.content()
        await page.get_by_role("link", name="Imports").click()
        await page.get_by_role("button", name="New import").click()
        await dialog.get_by_label("From").select_option("Lines")
        await expect(key).to_have_value("")


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

"""What the readers of a share may do, and how its page is headed."""

from datetime import timedelta
from pathlib import Path

from playwright.async_api import FilePayload, expect

from tests.console.accessibility import assert_accessible
from tests.console.conftest import OpenPage
from tests.console.people import sign_in
from tests.conversions.scene import applied
from tests.factories import create_link, make_click
from tracker.accounts.accounts import Account
from tracker.clock import now, now_ms
from tracker.service.services import Services

LINKS = 30
LOGO = """<svg xmlns="http://www.w3.org/2000/svg" width="120" height="30" onload="alert(1)">
<script>console.error("run")</script><image href="https://elsewhere.invalid/a.png"/>
<rect width="120" height="30" fill="teal"/></svg>"""


def file(text: str) -> FilePayload:
    return {"name": "logo.svg", "mimeType": "image/svg+xml", "buffer": text.encode()}


async def test_readers_choose_days_open_all_rows_and_take_them_below_the_logo(
    open_page: OpenPage, services: Services, account: Account
) -> None:
    clicks = []
    for number in range(LINKS):
        link = await create_link(services, account.id, f"s{number}", internal_name="Secret")
        clicks.append(make_click(account.id, link_id=link.id.bytes, at=now_ms()))
    await applied(services, clicks)
    async with open_page() as (page, problems), open_page() as (client, _):
        problems.expected.append("400 (Bad Request)")
        await sign_in(services, page, account.id)
        await page.goto("/console/overview?period=7d")
        await page.get_by_role("button", name="Share", exact=True).click()
        dialog = page.get_by_role("dialog")
        await dialog.get_by_label("Title").fill("Spring")
        await dialog.get_by_label("Line above it").fill("For Acme, by Northwind")
        for box in ("choose the days", "open all rows", "take the rows"):
            await dialog.get_by_label(box).check()
        make = dialog.get_by_role("button", name="Make the link")
        for wrong, words in (("x" * 102_401, "at most 100 KB"), ("none", "a PNG or SVG file")):
            await dialog.get_by_label("Logo").set_input_files(file(wrong))
            await make.click()
            await expect(dialog.locator(".error", has_text=words)).to_be_visible()
        await dialog.get_by_label("Logo").set_input_files(file(LOGO))
        await make.click()
        link_text = await dialog.locator("code").first.inner_text()

        await client.goto(link_text)
        await expect(client.get_by_text("For Acme, by Northwind")).to_be_visible()
        assert await client.locator("img.logo").evaluate("one => one.naturalWidth") == 120
        await expect(client.get_by_role("region", name="Links").locator("li")).to_have_count(20)
        await assert_accessible(client)

        await client.get_by_role("button", name=f"Details of {LINKS}").first.click()
        details = client.get_by_role("dialog")
        await expect(details.get_by_role("cell", name="Link 25", exact=True)).to_be_visible()
        await details.get_by_role("button", name="Next").click()
        await expect(details.get_by_role("cell", name="Link 30", exact=True)).to_be_visible()
        await expect(details.get_by_role("searchbox")).to_have_count(0)
        await details.get_by_role("button", name="Visitors").click()
        await expect(details.get_by_role("cell", name="Link 1", exact=True)).to_be_visible()
        async with client.expect_download() as downloading:
            await details.get_by_role("button", name="CSV").click()
        saved = Path(await (await downloading.value).path()).read_text(encoding="utf-8")
        assert len(saved.splitlines()) == LINKS + 1
        await details.get_by_role("button", name="Close").last.click()

        clicks_tile = client.locator(".tile", has_text="Clicks").locator("strong")
        await client.get_by_label("Days", exact=True).select_option("yesterday")
        await expect(clicks_tile).to_have_text("0")
        async with client.expect_download() as downloading:
            await client.get_by_role("button", name="Download as CSV").click()
            await client.get_by_role("menuitem", name="Links").click()
        yesterday = (now() - timedelta(days=1)).date().isoformat()
        name = (await downloading.value).suggested_filename
        assert name == f"link-{yesterday}-{yesterday}.csv"
        await client.get_by_label("Days", exact=True).select_option("own")
        await client.get_by_label("To", exact=True).fill(now().date().isoformat())
        await expect(clicks_tile).to_have_text(str(LINKS))
        assert "Secret" not in await client.content() + saved

        await page.goto("/console/settings/shares")
        row = page.get_by_role("row", name="Spring")
        await expect(row).to_contain_text("choose days, open all rows, take CSV")

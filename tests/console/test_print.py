"""Reports on paper: the pages of a PDF, as a browser prints them."""

import io
from typing import NamedTuple

import orjson
from playwright.async_api import Page, expect
from pypdf import PageObject, PdfReader

from tests.console.conftest import OpenPage
from tests.console.people import sign_in
from tests.conversions.scene import applied
from tests.factories import create_link, create_share, make_click
from tracker.accounts.accounts import Account
from tracker.clock import now_ms
from tracker.service.services import Services

LINKS, SOURCES = 24, 60
MARGIN = 12 / 25.4 * 72
SMALLEST = 8.0
"""Points, which everybody reads."""

CONTROLS = (
    *("Filter", "Share", "Views", "CSV", "Details of", "As a table", "Days of the report", "From"),
    *(
        "Settings",
        "Webhooks",
        "Times and days",
        "Without bots",
        "Automatic steps",
        "vs time before",
    ),
)


class Text(NamedTuple):
    """A piece of text: its page, its place from the lower left, and its size, in points."""

    page: int
    text: str
    x: float
    y: float
    size: float


def texts_of(number: int, page: PageObject) -> list[Text]:
    found = []

    def note(text: str, cm: list[float], tm: list[float], _: object, size: float) -> None:
        if text.strip():
            x, y = tm[4] * cm[0] + cm[4], tm[5] * cm[3] + cm[5]
            found.append(Text(number, text.strip(), x, y, abs(size * tm[3] * cm[3])))

    page.extract_text(visitor_text=note)
    return found


async def printed(page: Page, size: str) -> list[Text]:
    """Print the page; return its text, once it is legible, within the margins, and no control's."""
    await expect(page.locator(".ranks li").first).to_be_visible()
    sheets = PdfReader(io.BytesIO(await page.pdf(format=size))).pages
    texts = [text for number, sheet in enumerate(sheets) for text in texts_of(number, sheet)]
    height = float(sheets[0].mediabox.height)
    assert min(text.size for text in texts) >= SMALLEST, min(texts, key=lambda text: text.size)
    assert all(MARGIN < text.y < height - MARGIN for text in texts)
    written = "\n".join(text.text for text in texts)
    assert not [word for word in CONTROLS if word in written]
    return texts


def rows_of(texts: list[Text], name: str) -> list[Text]:
    """Return the names of a panel's rows, once each has its figure beside it on its page."""
    rows = [text for text in texts if text.text.startswith(name)]
    for row in rows:
        assert any(
            text.page == row.page
            and text.text.isdigit()
            and text.x > row.x
            and abs(text.y - row.y) < 1
            for text in texts
        ), row
    return rows


async def a_month(services: Services, account: Account) -> None:
    """Store a click of each of many links and sources."""
    links = [
        await create_link(services, account.id, f"s{number}", internal_name=f"Spring {number:02}")
        for number in range(LINKS)
    ]
    clicks = [
        make_click(
            account.id,
            link_id=links[min(number, LINKS - 1)].id.bytes,
            at=now_ms(),
            query=f"utm_source=source{number:02}",
        )
        for number in range(SOURCES)
    ]
    await applied(services, clicks)


async def test_a_report_is_printed_with_twenty_whole_rows_a_panel_and_without_controls(
    open_page: OpenPage, services: Services, account: Account
) -> None:
    await a_month(services, account)
    report = {
        "lastDays": 28,
        "measure": "clicks",
        "panels": [{"groupBy": "utm_source", "limit": 60}],
    }
    _, token = await create_share(services, account.id, "Acme", orjson.dumps(report).decode())
    async with open_page(color_scheme="dark") as (page, _), open_page() as (client, _):
        await sign_in(services, page, account.id)
        await page.goto("/console/overview?panels=utm_source,hour_of_week")
        await expect(page.get_by_role("region", name="Source").locator("li")).to_have_count(8)
        await expect(page.locator(".heat-map > svg")).to_be_visible()
        texts = await printed(page, "A4")
        assert [len(rows_of(texts, name)) for name in ("Spring ", "source")] == [20, 20]
        written = {text.text for text in texts}
        # Axes of the series and of the hours, and what was looked at.
        assert {"Clicks by day", "18", "Sun"} <= written
        assert any("days of" in text for text in written)
        await expect(page.get_by_role("region", name="Source").locator("li")).to_have_count(8)
        await client.goto(f"/console/shared#{token}")
        texts = await printed(client, "Letter")
        rows = rows_of(texts, "source")
        assert len(rows) == SOURCES
        assert len({row.page for row in rows}) > 1
        assert {text.page for text in texts if text.text == "Source"} == {rows[0].page}

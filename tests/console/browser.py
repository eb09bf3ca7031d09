"""A page in a real browser, and what it must not do: log errors, or ask another host."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import urlsplit

from playwright.async_api import Browser, ConsoleMessage, Page, Request, ViewportSize

VIEWPORT: ViewportSize = {"width": 1280, "height": 800}
PATIENCE_MS = 15_000
"""The longest wait for anything on a page; no test depends on it being short."""


class Problems(list[str]):
    """What went wrong in a page without a test asking: errors of scripts, policy and network.

    `expected` are parts of messages that the test provokes.
    """

    def __init__(self) -> None:
        super().__init__()
        self.expected: list[str] = []

    def note(self, problem: str) -> None:
        if not any(part in problem for part in self.expected):
            self.append(problem)

    def note_message(self, message: ConsoleMessage) -> None:
        if message.type == "error":
            self.note(f"console: {message.text}")


@asynccontextmanager
async def opened(
    browser: Browser, base_url: str, **options: Any
) -> AsyncIterator[tuple[Page, Problems]]:
    """Yield a page in a context of its own. On exit, no problem may have been noted."""
    context = await browser.new_context(
        **{
            "base_url": base_url,
            "viewport": VIEWPORT,
            "locale": "en-GB",
            "timezone_id": "UTC",
            **options,
        }
    )
    context.set_default_timeout(PATIENCE_MS)
    problems = Problems()

    def note_foreign(request: Request) -> None:
        url = urlsplit(request.url)
        if url.netloc and url.netloc != urlsplit(base_url).netloc:
            problems.note(f"asked another host: {request.url}")

    context.on("request", note_foreign)
    page = await context.new_page()
    page.on("pageerror", lambda error: problems.note(f"page error: {error}"))
    page.on("console", problems.note_message)
    try:
        yield page, problems
    finally:
        await context.close()
    assert not problems, problems

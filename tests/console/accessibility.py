"""Pages by their routes, and their violations."""

import re
from pathlib import Path
from typing import Final

from playwright.async_api import Page, ViewportSize

from tests.console.scene import Scene
from tracker.console.assets import STATIC

AXE: Final = (Path(__file__).parent / "axe/axe.min.js").read_text(encoding="utf-8")


ROUTES: Final = re.findall(
    r'^  \["(/console/[^"]+)", "console/pages/', (STATIC / "app.js").read_text(), re.MULTILINE
)


NARROW: Final[ViewportSize] = {"width": 360, "height": 740}


def path_of(route: str, scene: Scene) -> str:
    ids = {"links": scene.link, "webhooks": scene.webhook, "conversions": scene.event}
    ids |= {"clicks": scene.click}
    ids |= {"imports": scene.imported, "domains": scene.domain, "uploads": scene.upload}
    return re.sub(r"(\w+)/:id", lambda match: f"{match[1]}/{ids[match[1]]}", route)


async def violations(page: Page) -> list[str]:
    """Return what axe finds, with the elements."""
    await page.evaluate(AXE)
    found = await page.evaluate(
        "axe.run({rules: {'label-content-name-mismatch': {enabled: true}}})"
        ".then(({violations}) => violations.map("
        "(one) => one.id + ': ' + one.nodes.map((node) => node.html.slice(0, 200)).join(' | ')))"
    )
    return [str(one) for one in found]


async def assert_accessible(page: Page) -> None:
    """Check the page in both themes, between which no colour fades."""
    await page.emulate_media(reduced_motion="reduce")
    assert await violations(page) == []
    await page.emulate_media(color_scheme="dark")
    assert await violations(page) == []

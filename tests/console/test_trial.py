"""A newcomer with a browser: from the link that `run.py` prints to a key that works no more."""

import re
from pathlib import Path

from playwright.async_api import Browser, expect

from tests.console.browser import opened
from tests.system.service import environment, running


async def test_a_newcomer_joins_makes_a_key_uses_it_and_revokes_it(
    browser: Browser, tmp_path: Path
) -> None:
    with running(environment(DATA_DIR=str(tmp_path))) as service:
        base_url = f"http://localhost:{service.port}"
        link = re.search(rf"{base_url}/console/join#\S+", service.banner)
        assert link is not None
        async with opened(browser, base_url) as (page, _):
            await page.goto(link[0])
            await page.get_by_label("E-mail").fill("ada@example.com")
            await page.get_by_label("Your name").fill("Ada")
            await page.get_by_label("New password").fill("a few unrelated words")
            await page.get_by_role("button", name="Join").click()
            await expect(page.get_by_text("No clicks in this time")).to_be_visible()
            await page.get_by_role("link", name="Settings").click()
            await page.get_by_role("button", name="Generate New Key").click()
            dialog = page.get_by_role("dialog")
            await dialog.get_by_label("Name", exact=True).fill("my program")
            await dialog.get_by_role("button", name="Generate").click()
            key = await dialog.locator("code").first.inner_text()
            url = re.search(r'"(http[^"]+)"', await dialog.locator("pre").inner_text())
            assert url is not None
            bearer = {"Authorization": f"Bearer {key}"}
            path = url[1].removeprefix(base_url)
            assert service.get(path, bearer).status == 200
            await dialog.get_by_role("button", name="I have copied it").click()
            await page.get_by_role("button", name="Revoke my program").click()
            await page.get_by_role("button", name="Revoke the key").click()
            await expect(page.get_by_text("revoked", exact=True)).to_be_visible()
            assert service.get(path, bearer).status == 401

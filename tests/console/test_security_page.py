import asyncio
from typing import Any

import pytest
from playwright.async_api import Request, expect

from tests.console.conftest import OpenPage
from tests.console.people import sign_in
from tests.web.person import BROWSER, PASSWORD
from tracker.accounts.accounts import Account
from tracker.accounts.self_service import SelfService
from tracker.service.services import Services


async def test_a_person_changes_their_password_and_ends_other_sessions(
    open_page: OpenPage, services: Services, account: Account
) -> None:
    async with open_page() as (page, problems):
        problems.expected.append("400 (Bad Request)")
        await sign_in(services, page, account.id)
        [member] = (await services.accounts.members.page(account.id, 1, 1))[0]
        hashed = await services.accounts.passwords.hash(PASSWORD)
        await services.accounts.people.change(member.person_id, {"password": hashed})
        for _ in range(2):
            await services.access.sessions.start(member.person_id, account.id, BROWSER)
        await page.goto("/console/settings/security")
        sessions = page.get_by_role("table").get_by_role("row")
        await expect(sessions).to_have_count(1 + 3)
        await page.get_by_role("button", name="End the session of").first.click()
        await expect(sessions).to_have_count(1 + 2)
        await page.get_by_label("Current password").fill("a wrong password")
        await page.get_by_label("New password").fill("a few unrelated words")
        await page.get_by_role("button", name="Change", exact=True).click()
        await expect(page.locator(".field .error")).to_contain_text("not right")
        await page.get_by_label("Current password").fill(PASSWORD)
        await page.get_by_role("button", name="Change", exact=True).click()
        await expect(page.get_by_text("your other sessions have ended")).to_be_visible()
        await expect(sessions).to_have_count(1 + 1)
        await page.reload()
        await expect(sessions).to_have_count(1 + 1)
    person = await services.accounts.people.find(member.person_id)
    assert person is not None
    assert await services.accounts.passwords.verify(person.password, "a few unrelated words")


async def test_a_stream_that_ends_with_the_old_password_does_not_sign_out(
    open_page: OpenPage,
    services: Services,
    account: Account,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It ends with the old session, while the page has no cookie of the new one yet."""
    change, stream_ended = SelfService.change_password, asyncio.Event()

    async def answer_late(*arguments: Any) -> Any:
        changed = await change(*arguments)
        await stream_ended.wait()
        return changed

    def note(request: Request) -> None:
        if "/api/live" in request.url:
            stream_ended.set()

    monkeypatch.setattr(SelfService, "change_password", answer_late)
    async with open_page() as (page, _):
        await sign_in(services, page, account.id)
        [member] = (await services.accounts.members.page(account.id, 1, 1))[0]
        hashed = await services.accounts.passwords.hash(PASSWORD)
        await services.accounts.people.change(member.person_id, {"password": hashed})
        page.on("requestfinished", note)
        page.on("requestfailed", note)
        async with page.expect_response("**/api/live*"):
            await page.goto("/console/settings/security")
        await page.get_by_label("Current password").fill(PASSWORD)
        await page.get_by_label("New password").fill("a few unrelated words")
        await page.get_by_role("button", name="Change", exact=True).click()
        await expect(page.get_by_text("your other sessions have ended")).to_be_visible()
        await expect(page.get_by_role("table").get_by_role("row")).to_have_count(1 + 1)

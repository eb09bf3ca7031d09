"""Attacks on the pages: where signing in leads, what stays after it, and whom they may ask."""

import pytest
from playwright.async_api import Error, expect

from tests.console.conftest import OpenConsole, OpenPage
from tests.factories import create_link, create_person
from tests.web.person import PASSWORD
from tracker.access.roles import Role
from tracker.accounts.accounts import Account
from tracker.service.services import Services


async def test_a_person_is_led_where_they_wanted_to_go(
    open_page: OpenPage, services: Services, account: Account
) -> None:
    password = await services.accounts.passwords.hash(PASSWORD)
    person = await create_person(services, email="ada@example.com", password=password)
    await services.accounts.members.add(account.id, person.id, Role.OWNER)
    async with open_page() as (page, problems):
        problems.expected.append("401 (Unauthorized)")
        await page.goto("/console/sign-in?next=%2Fconsole%2Ftags")
        await page.get_by_label("E-mail").fill("ada@example.com")
        await page.get_by_label("Password").fill("a wrong password")
        await page.get_by_role("button", name="Sign in").click()
        await expect(page.get_by_role("alert")).to_contain_text(
            "That e-mail or password is not right"
        )
        await page.get_by_label("Password").fill(PASSWORD)
        await page.get_by_role("button", name="Sign in").click()
        await expect(page).to_have_url("/console/tags")
        await expect(page.get_by_role("button", name="Sign out")).to_be_visible()


async def test_nothing_of_the_account_is_shown_after_signing_out(
    open_console: OpenConsole, services: Services, account: Account
) -> None:
    link = await create_link(services, account.id, internal_name="A secret campaign")
    # a request that is under way meanwhile
    async with open_console("/console/links", "401 (Unauthorized)") as page:
        await page.goto("/console/tags")
        await page.goto(f"/console/links/{link.id}")
        await expect(page.get_by_role("heading", name="A secret campaign")).to_be_visible()
        await page.evaluate("sessionStorage.setItem('draft:x', 'y')")
        await page.get_by_role("button", name="Sign out").click()
        await expect(page.get_by_role("heading", name="Sign in")).to_be_visible()
        assert await page.evaluate("sessionStorage.length") == 0
        for _ in range(2):
            await page.go_back()
            await expect(page.get_by_role("heading", name="Sign in")).to_be_visible()
            assert "A secret campaign" not in await page.content()
        assert await services.stores.mongodb["sessions"].count_documents({}) == 0


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.2", "[::1]"])
async def test_a_page_that_asks_another_host_gets_nothing_and_fails_its_test(
    open_page: OpenPage, services: Services, host: str
) -> None:
    url = f"http://{host}:{services.settings.port}/healthz"
    async with open_page() as (page, problems):
        await page.goto("/healthz")
        with pytest.raises(Error, match="ERR_NAME_NOT_RESOLVED"):
            await page.goto(url)
        assert problems == [f"asked another host: {url}"]
        problems.clear()

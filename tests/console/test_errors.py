"""Errors of the API are plain words that say what to do; Try again stands where it may help."""

import re
from typing import Final

import pytest
from playwright.async_api import Page, Route, expect

from tests.console.accessibility import ROUTES, path_of
from tests.console.conftest import OpenConsole, OpenPage
from tests.console.people import sign_in
from tests.console.scene import create_scene
from tracker.access.roles import Role
from tracker.accounts.accounts import Account
from tracker.service.services import Services

OF_OWNERS: Final = ("/console/settings/keys", "/console/settings/audit")
RAW: Final = re.compile(r"lacks the scope|^[\w.\[\]-]+: ", re.MULTILINE)
"""The shape of the API's own texts."""


async def settled(page: Page) -> None:
    await expect(page.locator("h1").first).to_be_visible()
    await expect(page.locator(".skeleton, [aria-busy=true]")).to_have_count(0)


@pytest.mark.parametrize("role", [Role.VIEWER, Role.EDITOR])
async def test_no_page_shows_a_raw_text_to_those_who_may_not_see_all(
    open_page: OpenPage, services: Services, account: Account, role: Role
) -> None:
    scene = await create_scene(services, account.id)
    async with open_page() as (page, problems):
        problems.expected += ["403 (Forbidden)"]
        await sign_in(services, page, account.id, role)
        for route in ROUTES:
            await page.goto(path_of(route, scene))
            await settled(page)
            errors = await page.locator(".note.bad").all_inner_texts()
            assert not [text for text in errors if RAW.search(text)]
            expected = "Your role does not allow this. Ask an owner of the account."
            assert errors == ([expected] if route in OF_OWNERS else [])


MISTAKES: Final = (
    (
        "/console/overview?from=2020-01-01&to=2026-01-01",
        "at most 731 days, from and to included",
    ),
    ("/console/links/no-id", "There is nothing at this address"),
    ("/console/links/01900000-0000-7000-8000-000000000000", "There is no such short link"),
    ("/console/webhooks/01900000-0000-7000-8000-000000000000", "There is no such webhook"),
    ("/console/conversions/999", "There is no such"),
    ("/console/conversions/no-id", "There is nothing at this address"),
    (
        "/console/conversions?from=2026-02-01&to=2026-01-01",
        "The first day: must not be after to.",
    ),
    ("/console/links?page=0", "The list has no such page"),
    ("/console/links?sort=no-order", "This list has no such order"),
    ("/console/links?tags=no-id", "A filter in this address has a value that does not exist"),
    ("/console/overview?country=XYZ", "A filter in this address has a value"),
    ("/console/overview?link=no-id", "A filter in this address has a value"),
)


async def test_a_mistake_in_the_address_is_answered_in_words_without_a_useless_button(
    open_page: OpenPage, services: Services, account: Account
) -> None:
    async with open_page() as (page, problems):
        problems.expected += ["400 (Bad Request)", "404 (Not Found)"]
        await sign_in(services, page, account.id)
        for path, words in MISTAKES:
            await page.goto(path)
            notes = page.locator(".note.bad")
            await expect(notes.first).to_contain_text(words)
            await settled(page)
            assert not [text for text in await notes.all_inner_texts() if RAW.search(text)]
            await expect(page.get_by_role("button", name="Try again")).to_have_count(0)


async def test_what_may_pass_can_be_tried_again_and_what_has_no_words_keeps_its_text(
    open_page: OpenPage, services: Services, account: Account
) -> None:
    answers = [(400, "bad_request", "tags: too purple"), (503, "unavailable", "no storage")]

    async def refuse(route: Route) -> None:
        status, code, text = answers[0]
        later = {"Retry-After": "7"} if status == 503 else {}
        headers = {"X-Error-Code": code, **later}
        await route.fulfill(status=status, headers=headers, json={"error": text})

    async with open_page() as (page, problems):
        problems.expected += ["status of 400", "status of 503"]
        await sign_in(services, page, account.id)
        await page.route("**/api/tags*", refuse)
        await page.goto("/console/tags")
        alert = page.get_by_role("alert")
        await expect(alert).to_have_text("tags: too purple")
        del answers[0]
        await page.reload()
        await expect(alert).to_contain_text("The service is busy. Try again in 7 seconds.")
        await page.unroute("**/api/tags*")
        await page.get_by_role("button", name="Try again").click()
        await expect(page.get_by_text("No tags yet")).to_be_visible()


async def test_a_request_that_another_one_overtook_by_renewing_the_session_is_sent_again(
    open_page: OpenPage, services: Services, account: Account
) -> None:
    """Switching the second factor renews it: requests with the old cookie are refused."""

    async def refuse(route: Route) -> None:
        await route.fulfill(status=401, json={"error": "session: unknown or ended"})

    async with open_page() as (page, problems):
        problems.expected += ["status of 401"]
        await sign_in(services, page, account.id)
        await page.route("**/api/tags*", refuse, times=1)
        await page.goto("/console/tags")
        await expect(page.get_by_text("No tags yet")).to_be_visible()
        await expect(page.get_by_role("button", name="Sign out")).to_be_visible()


async def test_a_session_that_ended_is_said_so_on_the_page_to_sign_in(
    open_console: OpenConsole, services: Services
) -> None:
    async with open_console("/console/tags", "401 (Unauthorized)") as page:
        await settled(page)
        await services.stores.mongodb["sessions"].delete_many({})
        await page.get_by_role("link", name="Domains").click()
        await expect(page.get_by_text("Your session has ended.")).to_be_visible()
        await expect(page).to_have_url("/console/sign-in?next=%2Fconsole%2Fdomains")
        await page.goto("/console/sign-in")
        await expect(page.get_by_role("heading", name="Sign in")).to_be_visible()

"""Errors of the API are plain words that say what to do; Try again stands where it may help."""

import re
from typing import Final

import pytest
from playwright.async_api import Page, Route, expect

from tests.console.accessibility import ROUTES, path_of
from tests.console.conftest import OpenPage
from tests.console.people import sign_in
from tests.console.scene import create_scene
from tests.conversions.scene import applied
from tests.factories import create_person, create_share, make_click
from tests.web.person import PASSWORD
from tracker.access.roles import Role
from tracker.accounts.accounts import Account
from tracker.clock import now_ms
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


@pytest.mark.parametrize(
    ("path", "words"),
    [
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
    ],
)
async def test_a_mistake_in_the_address_is_answered_in_words_without_a_useless_button(
    open_page: OpenPage, services: Services, account: Account, path: str, words: str
) -> None:
    async with open_page() as (page, problems):
        problems.expected += ["400 (Bad Request)", "404 (Not Found)"]
        await sign_in(services, page, account.id)
        await page.goto(path)
        await expect(page.locator(".note.bad").first).to_contain_text(words)
        await settled(page)
        assert not [t for t in await page.locator(".note.bad").all_inner_texts() if RAW.search(t)]
        await expect(page.get_by_role("button", name="Try again")).to_have_count(0)


async def test_a_report_of_too_many_tests_says_what_to_do(
    open_page: OpenPage, services: Services, account: Account, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tracker.reports.answers.counting_of_tests.MAX_TESTS", 0)
    await applied(services, [make_click(account.id, at=now_ms(), test=True)])
    async with open_page() as (page, problems):
        problems.expected.append("400 (Bad Request)")
        await sign_in(services, page, account.id)
        await page.goto("/console/overview?period=7d&tests=only")
        await expect(page.get_by_role("alert")).to_have_text(
            "This report cannot be read: at most 0 tests; ask for fewer days."
        )


async def test_hours_are_offered_only_for_days_that_can_have_them(
    open_page: OpenPage, services: Services, account: Account
) -> None:
    async with open_page() as (page, _):
        await sign_in(services, page, account.id)
        for period, count in (("28d", 1), ("90d", 0), ("year", 0)):
            await page.goto(f"/console/overview?period={period}&interval=hour")
            await settled(page)
            steps = page.get_by_label("Steps")
            await expect(steps.locator("option[value=hour]")).to_have_count(count)
            await expect(steps).to_have_value("hour" if count else "")
            await expect(page.locator(".note.bad")).to_have_count(0)


async def test_signing_in_says_what_is_wrong_and_what_to_do(
    open_page: OpenPage, services: Services, account: Account
) -> None:
    password = await services.accounts.passwords.hash(PASSWORD)
    person = await create_person(services, email="ada@example.com", password=password)
    await services.accounts.members.add(account.id, person.id, Role.OWNER)
    async with open_page() as (page, problems):
        problems.expected += ["401 (Unauthorized)"]
        await page.goto("/console/sign-in")
        await page.get_by_label("E-mail").fill("ada@example.com")
        await page.get_by_label("Password").fill("another one of words")
        await page.get_by_role("button", name="Sign in").click()
        note = page.get_by_role("alert")
        await expect(note).to_have_text(
            "That e-mail or password is not right. Check both and try again."
        )


async def test_a_shared_report_says_what_is_wrong_with_its_password_or_its_link(
    open_page: OpenPage, services: Services, account: Account
) -> None:
    share, token = await create_share(services, account.id)
    hashed = {"$set": {"password": await services.accounts.passwords.hash(PASSWORD)}}
    await services.stores.mongodb["shares"].update_one({"_id": share.id}, hashed)
    async with open_page() as (page, problems):
        problems.expected += ["401 (Unauthorized)", "404 (Not Found)"]
        await page.goto(f"/console/shared#{token}")
        await page.get_by_label("Password").fill("another one of words")
        await page.get_by_role("button", name="Show it").click()
        await expect(page.get_by_label("Password")).to_have_accessible_description(
            "That password is not right. Check it, or ask whoever sent you the link."
        )
        await page.goto("/console/sign-in")
        await page.goto("/console/shared#unknown")
        await expect(page.get_by_role("alert")).to_contain_text("Ask whoever sent it for a new one")
        await expect(page.get_by_role("button", name="Try again")).to_have_count(0)


@pytest.mark.parametrize(
    ("status", "code", "text", "words"),
    [
        (503, "unavailable", "storage is unavailable; try again", "The service is busy."),
        (429, "rate_limited", "rate limit: 600 requests per minute", "Too many requests."),
    ],
)
async def test_what_may_pass_can_be_tried_again_and_says_when(
    open_page: OpenPage,
    services: Services,
    account: Account,
    status: int,
    code: str,
    text: str,
    words: str,
) -> None:
    async def refuse(route: Route) -> None:
        headers = {"X-Error-Code": code, "Retry-After": "7"}
        await route.fulfill(status=status, headers=headers, json={"error": text})

    async with open_page() as (page, problems):
        problems.expected += [f"status of {status}"]
        await sign_in(services, page, account.id)
        await page.route("**/api/tags*", refuse)
        await page.goto("/console/tags")
        await expect(page.get_by_role("alert")).to_contain_text(f"{words} Try again in 7 seconds.")
        await page.unroute("**/api/tags*")
        await page.get_by_role("button", name="Try again").click()
        await expect(page.get_by_text("No tags yet")).to_be_visible()


async def test_an_error_without_words_keeps_the_text_of_the_api(
    open_page: OpenPage, services: Services, account: Account
) -> None:
    async def refuse(route: Route) -> None:
        answer = {"error": "tags: too purple"}
        await route.fulfill(status=400, headers={"X-Error-Code": "bad_request"}, json=answer)

    async with open_page() as (page, problems):
        problems.expected += ["status of 400"]
        await sign_in(services, page, account.id)
        await page.route("**/api/tags*", refuse)
        await page.goto("/console/tags")
        await expect(page.get_by_role("alert")).to_have_text("tags: too purple")


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
    open_page: OpenPage, services: Services, account: Account
) -> None:
    async with open_page() as (page, problems):
        problems.expected += ["401 (Unauthorized)"]
        await sign_in(services, page, account.id)
        await page.goto("/console/tags")
        await settled(page)
        await services.stores.mongodb["sessions"].delete_many({})
        await page.get_by_role("link", name="Domains").click()
        await expect(page.get_by_text("Your session has ended.")).to_be_visible()
        await page.goto("/console/sign-in")
        await expect(page.get_by_role("heading", name="Sign in")).to_be_visible()


async def test_a_share_that_was_revoked_in_another_tab_is_told_as_that(
    open_page: OpenPage, services: Services, account: Account
) -> None:
    share, _ = await create_share(services, account.id, "Spring")
    async with open_page() as (page, problems):
        problems.expected += ["404 (Not Found)"]
        await sign_in(services, page, account.id)
        await page.goto("/console/settings/shares")
        await page.get_by_role("button", name="Revoke Spring").click()
        await services.sharing.shares.revoke(share.id)
        await page.get_by_role("dialog").get_by_role("button", name="Revoke").click()
        await expect(page.get_by_role("alert")).to_contain_text("There is no such share.")

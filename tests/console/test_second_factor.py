"""The second factor as people use it: set up, asked for at sign-in, and switched off."""

import pyotp
from playwright.async_api import Page, expect

from tests.console.conftest import OpenPage
from tests.web.person import BROWSER, PASSWORD, create_person
from tracker.access.roles import Role
from tracker.accounts.accounts import Account
from tracker.accounts.people import Person
from tracker.service.services import Services


async def sign_in(page: Page, person: Person) -> None:
    """Send e-mail and password from the page to sign in, which is open."""
    await page.get_by_label("E-mail").fill(person.email)
    await page.get_by_label("Password").fill(PASSWORD)
    await page.get_by_role("button", name="Sign in").click()


async def is_signed_in(page: Page) -> None:
    await expect(page.get_by_role("button", name="Sign out")).to_be_visible()


async def confirm_password(page: Page, button: str, code: str = "") -> None:
    dialog = page.get_by_role("dialog")
    await dialog.get_by_label("Your password").fill(PASSWORD)
    if code:
        await dialog.get_by_label("Code").fill(code)
    await dialog.get_by_role("button", name=button).click()


async def test_a_second_factor_is_set_up_asked_for_and_switched_off(
    open_page: OpenPage, services: Services, account: Account
) -> None:
    person = await create_person(services, password=PASSWORD)
    await services.accounts.members.add(account.id, person.id, Role.VIEWER)
    async with open_page() as (page, problems):
        # Without the code and after the session has ended; with a code that was used.
        problems.expected += ["401", "400"]
        await page.goto("/console/sign-in")
        await sign_in(page, person)
        await is_signed_in(page)
        await services.access.sessions.start(person.id, account.id, BROWSER)
        await page.goto("/console/settings/security")
        end_another = page.get_by_role("button", name="End the session of")
        await expect(end_another).to_be_visible()
        await page.get_by_role("button", name="Set up").click()
        await confirm_password(page, "Continue")
        dialog = page.get_by_role("dialog")
        image = dialog.get_by_role("img", name="QR code of the secret")
        await expect(image).to_be_visible()
        assert await image.evaluate("(one) => one.decode().then(() => one.naturalWidth > 0)")
        secret = await dialog.locator("code").first.inner_text()
        await dialog.get_by_label("Code").fill(pyotp.TOTP(secret).now())
        await dialog.get_by_role("button", name="Switch on").click()
        await expect(dialog.get_by_role("heading", name="The second factor is on")).to_be_visible()
        codes = (await dialog.locator("code").first.inner_text()).split()
        assert len(codes) == 10
        await dialog.get_by_role("button", name="I have kept them").click()
        await expect(end_another).to_have_count(0)
        # The cookie changed: the page stays signed in.
        await page.reload()
        await expect(page.get_by_role("button", name="Switch off")).to_be_visible()
        await page.get_by_role("button", name="Sign out").click()
        # Opened by the console: a second opening beside it would end either of them.
        await page.wait_for_url("**/console/sign-in")
        await sign_in(page, person)
        await page.get_by_label("Code").fill(codes[0])
        await page.get_by_role("button", name="Sign in").click()
        await is_signed_in(page)
        await page.goto("/console/settings/security")
        await page.get_by_role("button", name="Switch off").click()
        await confirm_password(page, "Switch off", codes[0])
        dialog = page.get_by_role("dialog")
        await expect(dialog.get_by_text("not right, or was used already")).to_be_visible()
        await confirm_password(page, "Switch off", codes[1])
        await expect(page.get_by_role("button", name="Set up")).to_be_visible()
        await page.get_by_label("Your name").fill("Ada Lovelace")
        await page.get_by_role("button", name="Save").click()
        await expect(page.get_by_text("Saved")).to_be_visible()
    found = await services.accounts.people.find(person.id)
    assert found is not None
    assert (found.name, found.has_totp, found.recovery_codes) == ("Ada Lovelace", False, [])

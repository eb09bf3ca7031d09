"""The page behind a link: joining as a new person or a known one, and setting a new password."""

from playwright.async_api import Page, expect

from tests.console.conftest import OpenPage
from tests.web.person import PASSWORD, create_person, have_totp
from tracker.access.invitations import join_url
from tracker.access.principal import Author
from tracker.access.roles import Role
from tracker.accounts.accounts import Account
from tracker.service.services import Services

GRACE = "grace@example.com"
CODE = "abcd-efgh-ijkl-mnop"


async def invited(services: Services, account: Account, email: str | None) -> str:
    """Return the link of a new invitation."""
    author = Author.operator(account.id)
    _, token = await services.accounts.membership.invite(author, email, Role.OWNER)
    return join_url(services.settings.base_url, token)


async def is_signed_in(page: Page) -> None:
    await expect(page.get_by_role("navigation").first).to_be_visible()


async def test_the_first_owner_chooses_e_mail_name_and_password(
    services: Services, account: Account, open_page: OpenPage
) -> None:
    link = await invited(services, account, None)
    async with open_page(timezone_id="Asia/Tokyo") as (page, _):
        await page.goto(link)
        await expect(page.get_by_role("heading", name="Join Acme")).to_be_visible()
        await expect(page.get_by_label("Time zone of the account")).to_have_value("Asia/Tokyo")
        await page.get_by_label("Currency of the account").fill("jpy")
        await expect(page).to_have_url("/console/join")
        await page.get_by_label("Your e-mail").fill(GRACE)
        await page.get_by_label("Your name").fill("Grace")
        await page.get_by_label("New password").fill(PASSWORD)
        await page.get_by_role("button", name="Join").click()
        await is_signed_in(page)
        zone = page.get_by_text("Times and days are those of Asia/Tokyo.")
        await expect(zone).to_be_visible()
        await page.goto("/console/settings/account")
        await expect(page.get_by_label("Currency", exact=True)).to_have_value("JPY")
    person = await services.accounts.people.find_by_email(GRACE)
    assert person is not None
    assert person.name == "Grace"
    assert await services.accounts.members.has_owner(account.id)


async def test_a_known_person_joins_with_their_password_and_a_used_link_says_so(
    services: Services, account: Account, open_page: OpenPage
) -> None:
    await create_person(services, GRACE, PASSWORD)
    link = await invited(services, account, GRACE)
    async with open_page() as (page, problems):
        problems.expected += ["401", "404"]
        await page.goto(link)
        await expect(page.get_by_label("Your name")).to_have_count(0)
        await page.get_by_label("Your password").fill("a wrong password")
        await page.get_by_role("button", name="Join").click()
        await expect(page.get_by_text("That e-mail or password is not right")).to_be_visible()
        await page.get_by_label("Your password").fill(PASSWORD)
        await page.get_by_role("button", name="Join").click()
        await is_signed_in(page)
        await page.goto("about:blank")
        await page.goto(link)
        await expect(page.get_by_text("This link no longer works")).to_be_visible()


async def test_a_person_with_a_second_factor_is_asked_for_a_code_after_the_password(
    services: Services, account: Account, open_page: OpenPage
) -> None:
    person = await create_person(services, GRACE, PASSWORD)
    await have_totp(services, person.id, CODE)
    link = await invited(services, account, GRACE)
    async with open_page() as (page, problems):
        problems.expected.append("401")
        await page.goto(link)
        await page.get_by_label("Your password").fill(PASSWORD)
        await expect(page.get_by_label("Code")).to_have_count(0)
        await page.get_by_role("button", name="Join").click()
        await expect(page.get_by_label("Code")).to_be_visible()
        await expect(page.get_by_role("alert")).to_have_count(0)
        await page.get_by_label("Code").fill("000000")
        await page.get_by_role("button", name="Join").click()
        await expect(page.get_by_text("not right, or was used already")).to_be_visible()
        await page.get_by_label("Code").fill(CODE)
        await page.get_by_role("button", name="Join").click()
        await is_signed_in(page)
    assert await services.accounts.members.find_person(account.id, person.id)


async def test_a_reset_sets_a_new_password(
    services: Services, account: Account, open_page: OpenPage
) -> None:
    person = await create_person(services, GRACE, "the old password")
    await services.accounts.members.add(account.id, person.id, Role.VIEWER)
    _, token = await services.accounts.membership.reset_password_as_operator(person)
    async with open_page() as (page, _):
        await page.goto(join_url(services.settings.base_url, token))
        await expect(page.get_by_role("heading", name="Set a new password")).to_be_visible()
        await page.get_by_label("New password").fill(PASSWORD)
        await page.get_by_role("button", name="Set and sign in").click()
        await is_signed_in(page)
    changed = await services.accounts.people.find(person.id)
    assert changed is not None
    assert await services.accounts.passwords.verify(changed.password, PASSWORD)

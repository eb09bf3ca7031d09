from playwright.async_api import expect

from tests.console.conftest import OpenPage


async def test_a_stranger_is_asked_to_sign_in(open_page: OpenPage) -> None:
    async with open_page() as (page, _):
        await page.goto("/console/webhooks")
        await expect(page.get_by_role("heading", name="Sign in")).to_be_visible()
        await expect(page).to_have_url("/console/sign-in?next=%2Fconsole%2Fwebhooks")

"""The budget of the first page: what an empty cache loads until its figures are on screen."""

from playwright.async_api import expect

from tests.console.conftest import OpenPage
from tests.conversions.scene import applied
from tests.factories import create_link, create_person, make_click
from tests.web.person import PASSWORD
from tracker.access.roles import Role
from tracker.accounts.accounts import Account
from tracker.clock import now_ms
from tracker.service.services import Services

# All but two are named by the page itself, and so loaded side by side.
MAX_REQUESTS = 40
MAX_BYTES = 120_000

# What waits half a second and more is not of the first figures, also where they take as long.
NOTE_FIRST_FIGURES = """
const { setTimeout } = window;
window.setTimeout = (work, ms, ...given) => ms >= 500 ? 0 : setTimeout(work, ms, ...given);
new MutationObserver((_, observer) => {
  if (!document.querySelector(".ranks")) return;
  window.painted = performance.now();
  observer.disconnect();
}).observe(document, {childList: true, subtree: true});
"""
LOADED = """
[...performance.getEntriesByType("navigation"), ...performance.getEntriesByType("resource")]
  .filter(({name, startTime}) => startTime <= window.painted && !name.startsWith("data:"))
  .map(({name, transferSize}) => [name, transferSize])
"""


async def test_the_first_page_after_signing_in_is_painted_within_its_budget(
    open_page: OpenPage, services: Services, account: Account
) -> None:
    password = await services.accounts.passwords.hash(PASSWORD)
    person = await create_person(services, email="ada@example.com", password=password)
    await services.accounts.members.add(account.id, person.id, Role.OWNER)
    link = await create_link(services, account.id, internal_name="Spring")
    # One in each hour of a week, so that the map of hours is full, and as many the week before.
    times = [now_ms() - hours * 3_600_000 for hours in range(336)]
    await applied(services, [make_click(account.id, link_id=link.id.bytes, at=at) for at in times])
    async with open_page() as (page, _):
        await page.add_init_script(NOTE_FIRST_FIGURES)
        await page.goto("/console/sign-in")
        await page.get_by_label("E-mail").fill("ada@example.com")
        await page.get_by_label("Password").fill(PASSWORD)
        await page.get_by_role("button", name="Sign in").click()
        await expect(page.get_by_role("button", name="Spring")).to_be_visible()
        loaded: list[tuple[str, int]] = await page.evaluate(LOADED)
    assert len(loaded) <= MAX_REQUESTS, loaded
    assert all(size for _, size in loaded), loaded
    assert sum(size for _, size in loaded) <= MAX_BYTES, loaded

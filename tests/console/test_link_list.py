"""The list of links as a table of figures, and changes of all links that match."""

from playwright.async_api import Route, expect

from tests.console.conftest import OpenConsole
from tests.conversions.scene import applied
from tests.factories import create_link, make_click, make_split
from tracker.accounts.accounts import Account
from tracker.clock import now_ms
from tracker.links.lists.filter import LinkFilter
from tracker.service.services import Services

DAY_MS = 24 * 3600 * 1000


async def test_the_list_has_figures_of_a_period_and_is_sorted_by_them(
    open_console: OpenConsole, services: Services, account: Account
) -> None:
    tag = await services.links.tags.create(account.id, "Spring")
    domain = await services.links.domains.create(account.id, "go.example.com")
    one = await create_link(services, account.id, "one", internal_name="One", tags=[tag.id])
    two = await create_link(services, account.id, "two", internal_name="Two", split=make_split())
    await create_link(services, account.id, "none", internal_name="None", domain_id=domain.id)
    times = [now_ms()] * 3 + [now_ms() - 40 * DAY_MS] * 2
    clicks = [(one if n in (0, 3, 4) else two, at) for n, at in enumerate(times)]
    await applied(
        services, [make_click(account.id, link_id=to.id.bytes, at=at) for to, at in clicks]
    )
    async with open_console("/console/links") as page:
        links = page.locator("tbody a[href^='/console/links/']")
        row = page.get_by_role("row").filter(has=page.get_by_role("link", name="Two", exact=True))
        await expect(row.locator("td[data-label=Clicks]")).to_have_text("2")
        await expect(row.locator("td[data-label=Cost]")).to_have_text("\u2013")
        await page.set_viewport_size({"width": 1440, "height": 800})
        box = page.locator(".table-box")
        hidden = "box => box.scrollWidth - box.clientWidth"
        assert await box.evaluate(hidden) == 0
        await page.get_by_role("button", name="Clicks").click()
        await expect(page).to_have_url("/console/links?sort=-clicks")
        await expect(links).to_have_text(["Two", "One", "None"])
        asked: list[str] = []
        page.on("request", lambda request: asked.append(request.url))
        await page.get_by_label("Figures of").select_option("Last 90 days")
        await expect(links).to_have_text(["One", "Two", "None"])
        assert len([url for url in asked if "/api/" in url and "/live" not in url]) == 1
        await page.get_by_role("button", name="Clicks").click()
        await expect(links).to_have_text(["None", "Two", "One"])
        href = await page.get_by_role("link", name="CSV").get_attribute("href")
        assert href is not None
        assert "sort" not in href
        await expect(page.get_by_role("row").filter(has_text="None")).to_contain_text(
            "domain not verified"
        )
        await page.get_by_role("link", name="Spring").click()
        await expect(links).to_have_text(["One"])
        await page.goto("/console/links")
        await page.get_by_role("button", name="Actions for Two").click()
        await expect(page.get_by_role("menuitem", name="Copy its URL")).to_be_visible()
        await page.get_by_role("menuitem", name="Duplicate").click()
        dialog = page.get_by_role("dialog")
        await expect(dialog.get_by_label("Name", exact=True)).to_have_value("Two")
        await dialog.get_by_role("button", name="Create", exact=True).click()
        await expect(links).to_have_text(["Two", "None", "Two", "One"])
    [made, *_], *_ = await services.links.lists.page(account.id, LinkFilter(), 1, 25)
    assert made.id != two.id
    assert made.split is not None
    assert two.split is not None
    names = [[variant.name for variant in split.variants] for split in (made.split, two.split)]
    assert names[0] == names[1]


async def test_all_that_match_are_changed_in_parts_and_an_error_tells_what_is_done(
    open_console: OpenConsole, services: Services, account: Account
) -> None:
    for number in range(205):
        name = f"{'Winter' if number < 203 else 'Summer'} {number}"
        await create_link(services, account.id, f"s{number}", internal_name=name)
    winter = LinkFilter(search="Winter", active=False)
    async with open_console("/console/links?search=winter", "502 (Bad Gateway)") as page:
        await page.get_by_label("Select all rows").check()
        bar = page.get_by_role("region", name="Selected links")
        await expect(bar.get_by_text("100 links selected")).to_be_visible()
        await bar.get_by_role("button", name="Select all 203 that match").click()
        await expect(bar.get_by_text("203 links selected")).to_be_visible()
        parts = 0

        async def answer(route: Route) -> None:
            nonlocal parts
            parts += 1
            await (route.fulfill(status=502) if parts == 2 else route.continue_())

        await page.route("**/api/short-links/bulk", answer)
        await bar.get_by_role("button", name="Pause").click()
        await expect(bar.get_by_role("alert")).to_contain_text("100 links changed, then: ")
        assert (await services.links.lists.page(account.id, winter, 1, 1)).total.rows == 100
        await bar.get_by_role("button", name="Pause").click()
        await expect(page.get_by_text("203 links paused")).to_be_visible()
        assert (await services.links.lists.page(account.id, winter, 1, 1)).total.rows == 203
        await bar.get_by_role("button", name="Tag").click()
        dialog = page.get_by_role("dialog")
        await expect(dialog.get_by_text("on this page")).to_be_visible()
        await dialog.get_by_label("New tag").fill("Cold")
        await dialog.get_by_role("button", name="Save").click()
        await expect(page.get_by_text("Tags of 203 links changed")).to_be_visible()
        await bar.get_by_role("button", name="Archive").click()
        await expect(page.get_by_text("203 links are archived")).to_be_visible()
        await page.get_by_role("button", name="Undo").last.click()
        await expect(page.get_by_text("203 links", exact=True)).to_be_visible()
        await page.get_by_label("Select Winter 202").check()
        await expect(bar.get_by_text("1 link selected")).to_be_visible()
    total = (await services.links.lists.page(account.id, LinkFilter(active=True), 1, 1)).total
    assert total.rows == 2

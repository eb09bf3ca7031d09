"""The list of links, as people use it."""

from typing import Any

import msgspec
from playwright.async_api import expect

from tests.console.accessibility import assert_accessible
from tests.console.conftest import OpenConsole
from tests.factories import create_link
from tracker.access.roles import Role
from tracker.accounts.accounts import Account
from tracker.clock import now
from tracker.links.lists.filter import LinkFilter
from tracker.service.services import Services


async def test_a_link_is_created_with_a_checked_slug_and_utm_parameters(
    open_console: OpenConsole, services: Services, account: Account
) -> None:
    await create_link(services, account.id, "taken")
    async with open_console("/console/links") as page:
        await expect(page.get_by_role("button", name="New link")).to_be_visible()
        await page.keyboard.press("c")
        dialog = page.get_by_role("dialog")
        await dialog.get_by_label("Destination").fill("shop.example/?x={country}#top")
        for slug, said in (("no no", "1 to 64 of"), ("taken", "already taken"), ("free", "Free")):
            await dialog.get_by_label("Slug").fill(slug)
            await expect(dialog.get_by_text(said)).to_be_visible()
        await dialog.get_by_text("UTM parameters").click()
        await dialog.get_by_label("Source").fill("a b&c")
        await page.reload()
        await page.get_by_role("button", name="New link").click()
        await expect(dialog.get_by_label("Slug")).to_have_value("free")
        await dialog.get_by_label("New tag").fill("Spring")
        await dialog.get_by_role("button", name="Add").click()
        await expect(dialog.get_by_label("Spring", exact=True)).to_be_checked()
        await dialog.get_by_label("New tag").fill("Not added")
        await dialog.get_by_role("button", name="Create", exact=True).click()
        await expect(
            page.get_by_text(f"{services.settings.base_url}/c/free is ready")
        ).to_be_visible()
    [made, _], *_ = await services.links.lists.page(account.id, LinkFilter(), 1, 25)
    assert made.slug == "free"
    assert made.destination_url == "https://shop.example/?x={country}&utm_source=a%20b%26c#top"
    tags = await services.links.tags.find(made.tags)
    assert {one.name for one in tags.values()} == {"Spring", "Not added"}


async def test_filters_are_in_the_url_and_survive_a_reload(
    open_console: OpenConsole, services: Services, account: Account
) -> None:
    tag = await services.links.tags.create(account.id, "Spring")
    await create_link(services, account.id, "one", internal_name="First", tags=[tag.id])
    await create_link(services, account.id, "two", internal_name="Second")
    gone = await create_link(services, account.id, "gone", internal_name="Gone")
    await services.links.links.change(gone.id, {"archived": True})
    async with open_console("/console/links?sort=name") as page:
        links = page.locator("tbody a[href^='/console/links/']")
        await expect(links).to_have_text(["First", "Second"])
        await expect(links).to_have_count(2)
        await page.keyboard.press("/")
        await page.keyboard.type("sec")
        await expect(links).to_have_text(["Second"])
        await expect(page).to_have_url("/console/links?sort=name&search=sec")
        await page.reload()
        await expect(links).to_have_text(["Second"])
        await links.click()
        await page.get_by_role("main").get_by_role("link", name="Links", exact=True).click()
        await expect(page).to_have_url("/console/links?sort=name&search=sec")
        await expect(links).to_have_text(["Second"])
        await page.get_by_label("Search").fill("")
        await page.get_by_role("button", name="Tags").click()
        await page.get_by_role("dialog").get_by_label("Spring").check()
        await page.get_by_role("button", name="Done").click()
        await expect(links).to_have_text(["First"])
        await page.goto("/console/links?state=archived")
        await expect(links).to_have_text(["Gone"])
        await page.goto("/console/links?search=nothing")
        await page.get_by_role("button", name="Show all links").click()
        await expect(links).to_have_count(2)


async def test_selected_links_are_tagged_paused_archived_and_brought_back(
    open_console: OpenConsole, services: Services, account: Account
) -> None:
    tag = await services.links.tags.create(account.id, "Spring")
    for number in range(3):
        await create_link(services, account.id, f"s{number}", internal_name=f"Link {number}")
    async with open_console("/console/links") as page:
        links = page.locator("tbody a[href^='/console/links/']")
        await page.get_by_label("Select Link 0").check()
        await page.get_by_label("Select Link 2").check()
        bar = page.get_by_role("region", name="Selected links")
        await expect(bar.get_by_text("2 links selected")).to_be_visible()
        await bar.get_by_role("button", name="Tag").click()
        await page.get_by_role("dialog").get_by_label("New tag").fill("spring")
        await page.keyboard.press("Enter")  # it is there: no second one is made
        await expect(page.get_by_role("dialog").get_by_label("Spring")).to_be_checked()
        await page.get_by_role("dialog").get_by_role("button", name="Save").click()
        await expect(page.get_by_text("Tags of 2 links changed")).to_be_visible()
        found, *_ = await services.links.lists.page(account.id, LinkFilter(tags=[tag.id]), 1, 25)
        assert [one.slug for one in found] == ["s2", "s0"]
        await page.get_by_label("Select all rows").check()
        await bar.get_by_role("button", name="Pause").click()
        await expect(page.get_by_text("paused", exact=True)).to_have_count(3)
        await bar.get_by_role("button", name="Archive").click()
        await expect(page.get_by_text("3 links are archived")).to_be_visible()
        await page.get_by_role("button", name="Undo").last.click()
        await expect(links).to_have_count(3)
        await page.get_by_role("button", name="Actions for Link 1").click()
        await page.get_by_role("menuitem", name="Activate").click()
        await expect(page.get_by_text("paused", exact=True)).to_have_count(2)
        await page.get_by_role("button", name="Actions for Link 1").click()
        await page.get_by_role("menuitem", name="Archive").click()
        await expect(links).to_have_count(2)
        await page.get_by_label("State").select_option("Archived")
        await page.get_by_role("button", name="Actions for Link 1").click()
        await page.get_by_role("menuitem", name="Restore").click()
        await expect(page.get_by_text("“Link 1” is restored")).to_be_visible()


async def test_options_of_selected_links_are_set_for_all_and_what_is_left_stays(
    open_console: OpenConsole, services: Services, account: Account
) -> None:
    options: list[dict[str, Any]] = [
        {"expired_url": "https://a.example/", "click_parameter": "subid"},
        {"expires_at": now(), "click_parameter": "subid", "external_id": "one"},
    ]
    links = [
        await create_link(services, account.id, f"s{n}", internal_name=f"Link {n}", **fields)
        for n, fields in enumerate(options)
    ]
    async with open_console("/console/links", "400 (Bad Request)") as page:
        await page.get_by_label("Select all rows").check()
        await page.get_by_role("region", name="Selected links").get_by_text("Options").click()
        dialog = page.get_by_role("dialog")
        await expect(dialog.get_by_label("Parameter of the click id")).to_have_value("subid")
        for of_one_link in ("Password", "More paths", "External id", "Notes"):
            await expect(dialog.get_by_label(of_one_link)).to_have_count(0)
        await assert_accessible(page)
        await expect(dialog.get_by_label("Before and after")).to_have_value("")
        await dialog.get_by_label("Starts").fill("2099-01-31T09:30")
        await dialog.get_by_role("button", name="Save").click()
        rule = f"must be after starts_at: short link {links[1].id}"
        await expect(dialog.get_by_text(rule)).to_be_visible()
        await dialog.get_by_label("Starts").fill("")
        await dialog.get_by_label("Before and after").fill("https://b.example/")
        await dialog.get_by_role("button", name="Save").click()
        await expect(page.get_by_text("Options of 2 links changed")).to_be_visible()
        for before in links:
            after = await services.links.links.find(before.id)
            assert after == msgspec.structs.replace(
                before, expired_url="https://b.example/", version=before.version + 1
            )
        await page.get_by_role("button", name="Actions for Link 1").click()
        await page.get_by_role("menuitem", name="Edit").click()
        await expect(dialog.get_by_label("External id")).to_have_value("one")
        await dialog.get_by_label("External id").fill("")
        await dialog.get_by_role("button", name="Save").click()
        await expect(page.get_by_text("Saved")).to_be_visible()
        after = await services.links.links.find(links[1].id)
        assert after is not None
        assert after.external_id is None


async def test_a_draft_keeps_macros_outlives_a_reload_and_is_discarded(
    open_console: OpenConsole,
) -> None:
    async with open_console("/console/links") as page:
        await page.get_by_role("button", name="Create your first link").click()
        dialog = page.get_by_role("dialog")
        destination = dialog.get_by_label("Destination")
        await destination.fill("https://shop.example/offer?a={click_id}#top")
        await dialog.get_by_text("UTM parameters").click()
        await dialog.get_by_label("Content").fill("{country}")
        await dialog.get_by_label("Medium").fill("email")
        await dialog.get_by_label("Medium").fill("")
        drafted = "https://shop.example/offer?a={click_id}&utm_content={country}#top"
        await expect(destination).to_have_value(drafted)
        await expect(dialog.get_by_label("Slug")).to_have_js_property("spellcheck", False)
        await page.reload()
        await page.get_by_role("button", name="Create your first link").click()
        await expect(destination).to_have_value(drafted)
        await dialog.get_by_role("button", name="Discard the draft").click()
        await expect(destination).to_have_value("")
        await dialog.get_by_role("button", name="Cancel").click()
        await page.get_by_role("button", name="New link").click()
        await expect(destination).to_have_value("")


async def test_every_tag_can_be_found_among_many(
    open_console: OpenConsole, services: Services, account: Account
) -> None:
    tags = [
        await services.links.tags.create(account.id, f"Campaign {number}") for number in range(130)
    ]
    link = await create_link(services, account.id, "abc", tags=[tags[0].id])
    async with open_console(f"/console/links/{link.id}") as page:
        await page.get_by_role("button", name="Edit").click()
        dialog = page.get_by_role("dialog")
        await expect(dialog.get_by_role("checkbox")).to_have_count(130)
        await dialog.get_by_label("New tag").fill("paign 77")
        await expect(dialog.get_by_role("checkbox")).to_have_count(2)  # with the one it has
        await dialog.get_by_label("Campaign 77").check()
        await dialog.get_by_role("button", name="Save").click()
        await expect(page.locator("dd .tag")).to_have_text(["Campaign 0", "Campaign 77"])


async def test_a_viewer_is_offered_no_change(
    open_console: OpenConsole, services: Services, account: Account
) -> None:
    tag = await services.links.tags.create(account.id, "Spring")
    link = await create_link(services, account.id, tags=[tag.id])
    changes = (
        "New tag",
        "Actions for Spring",
        "New link",
        "Create many",
        "Edit",
        "Archive",
        "Pause",
    )
    async with open_console("/console/tags", role=Role.VIEWER) as page:
        for path in ("tags", "links", f"links/{link.id}"):
            await page.goto(f"/console/{path}")
            await expect(page.get_by_text("Spring").first).to_be_visible()
            for name in changes:
                await expect(page.get_by_role("button", name=name)).to_have_count(0)
            await expect(page.get_by_role("checkbox")).to_have_count(0)
            await page.keyboard.press("c")
            await expect(page.get_by_role("dialog")).to_have_count(0)


async def test_an_address_is_copied(
    open_console: OpenConsole, services: Services, account: Account
) -> None:
    await create_link(services, account.id, "abc")
    async with open_console(
        "/console/links", permissions=["clipboard-read", "clipboard-write"]
    ) as page:
        await page.get_by_role("button", name="Copy", exact=False).first.click()
        await expect(page.get_by_text("Copied", exact=True)).to_be_visible()
        copied = await page.evaluate("navigator.clipboard.readText()")
        assert copied == f"{services.settings.base_url}/c/abc"

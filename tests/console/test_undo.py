"""What was changed is undone, set back, or kept from whoever saves an older version."""

from playwright.async_api import Page, expect

from tests.console.conftest import OpenConsole
from tests.factories import create_link
from tracker.accounts.accounts import Account
from tracker.links.link import Link
from tracker.service.services import Services

FAILED = "412 (Precondition Failed)"
URL = "https://shop.example/"


async def stored(services: Services, link: Link) -> Link:
    found = await services.links.links.find(link.id)
    assert found is not None
    return found


async def edit(page: Page, **fields: str) -> None:
    await page.get_by_role("button", name="Edit", exact=True).click()
    for label, text in fields.items():
        await page.get_by_role("dialog").get_by_label(label, exact=True).fill(text)


async def save(page: Page) -> None:
    await page.get_by_role("dialog").get_by_role("button", name="Save", exact=True).click()


async def test_a_link_is_set_back_by_an_undo_or_from_its_history(
    open_console: OpenConsole, services: Services, account: Account
) -> None:
    tag = await services.links.tags.create(account.id, "Mail")
    link = await create_link(services, account.id, "a", f"{URL}old", tags=[tag.id])
    async with open_console(f"/console/links/{link.id}", FAILED) as page:
        history = page.locator(".history > li")
        undo = page.get_by_role("button", name="Undo").last
        await edit(page, Destination=f"{URL}new", Notes="a")
        await page.get_by_role("dialog").get_by_label("Mail").uncheck()
        await save(page)
        await expect(history).to_have_count(1)
        await page.get_by_role("button", name="Pause").click()
        await expect(history).to_have_count(2)
        await undo.click()
        await expect(history).to_have_count(3)
        await expect(page.get_by_role("button", name="Pause")).to_be_visible()
        # What the first message offers was changed meanwhile.
        await page.get_by_role("button", name="Undo").first.click()
        await expect(page.get_by_text("Somebody else has changed this meanwhile")).to_be_visible()
        changes = history.nth(2)
        await changes.get_by_role("button", name="Set back").click()
        await expect(history).to_have_count(4)
        back = await stored(services, link)
        assert (back.destination_url, back.notes, back.tags) == (
            link.destination_url,
            None,
            [tag.id],
        )
        await undo.click()
        await expect(history).to_have_count(5)
    again = await stored(services, link)
    assert (again.destination_url, again.notes, again.tags) == (f"{URL}new", "a", [])
    assert again.active


async def test_many_links_get_back_what_each_had_unless_somebody_has_changed_them(
    open_console: OpenConsole, services: Services, account: Account
) -> None:
    tag = await services.links.tags.create(account.id, "Mail")
    has, paused, changed = [
        await create_link(services, account.id, name, internal_name=name, **fields)
        for name, fields in (("has", {"tags": [tag.id]}), ("off", {"active": False}), ("other", {}))
    ]
    async with open_console("/console/links", FAILED) as page:
        bar = page.get_by_role("region", name="Selected links")
        undo = page.get_by_role("button", name="Undo").last
        await page.get_by_label("Select all rows").check()
        await bar.get_by_role("button", name="Tag").click()
        await page.get_by_role("dialog").get_by_label("New tag").fill("mail")  # without "Add"
        await page.get_by_role("dialog").get_by_role("button", name="Save").click()
        await expect(page.get_by_text("Tags of 3 links changed")).to_be_visible()
        await expect(page.get_by_role("cell").get_by_text("Mail")).to_have_count(3)
        assert [(await stored(services, one)).tags for one in (has, paused)] == [[tag.id]] * 2
        await undo.click()
        await expect(page.get_by_role("cell").get_by_text("Mail")).to_have_count(1)
        assert [(await stored(services, one)).tags for one in (has, paused)] == [[tag.id], []]
        await bar.get_by_role("button", name="Pause").click()
        await expect(page.get_by_role("cell").get_by_text("paused")).to_have_count(3)
        await undo.click()
        await expect(page.get_by_role("cell").get_by_text("paused")).to_have_count(1)
        await bar.get_by_role("button", name="Pause").click()
        await expect(page.get_by_role("cell").get_by_text("paused")).to_have_count(3)
        await services.links.links.change(changed.id, {"notes": "theirs"})
        await undo.click()
        await expect(page.get_by_text("Somebody else has changed this meanwhile")).to_be_visible()
    assert not (await stored(services, changed)).active


async def test_a_second_tab_is_told_of_a_newer_version_and_keeps_what_was_typed(
    open_console: OpenConsole, services: Services, account: Account
) -> None:
    link = await create_link(services, account.id, "a", f"{URL}old", internal_name="Old")
    path = f"/console/links/{link.id}"
    async with open_console(path, FAILED) as page:
        other = await page.context.new_page()
        for mine, kept in (("Save mine", "mine"), ("Take theirs", "theirs")):
            await page.reload()
            await edit(page, Name="mine")
            await other.goto(path)
            await edit(other, Name="theirs", Notes=mine)
            await save(other)
            await expect(other.get_by_text("Saved", exact=True)).to_be_visible()
            await save(page)
            note = page.get_by_role("dialog").get_by_role("alert")
            await expect(note).to_contain_text("Ada")
            await expect(note.get_by_text("theirs", exact=True)).to_be_visible()
            await expect(page.get_by_label("Name", exact=True)).to_have_value("mine")
            await note.get_by_role("button", name=mine).click()
            await expect(page.get_by_role("dialog")).to_have_count(0)
            await expect(page.get_by_role("heading", name=kept, exact=True)).to_be_visible()
            found = await stored(services, link)
            assert (found.internal_name, found.notes) == (kept, mine)
        await page.goto(f"{path}/rules")
        await page.get_by_label("Destination").first.fill(f"{URL}mine")
        await services.links.links.change(link.id, {"destination_url": f"{URL}theirs"})
        await page.get_by_role("button", name="Save").click()
        await page.get_by_role("button", name="Save mine").click()
        await expect(page.get_by_text("Saved", exact=True)).to_be_visible()
    assert (await stored(services, link)).destination_url == f"{URL}mine"

"""The common parts, on the page that shows all of them: keyboard, focus, small screens, digits."""

import pytest
from playwright.async_api import Page, expect

from tests.console.conftest import OpenPage

STYLE = "/console/style"


async def shown(page: Page) -> None:
    await page.goto(STYLE)
    await expect(page.get_by_role("heading", name="Parts")).to_be_visible()


async def test_a_menu_is_used_with_keys_alone(open_page: OpenPage) -> None:
    async with open_page() as (page, _):
        await shown(page)
        button = page.get_by_role("button", name="More", exact=True)
        await button.focus()
        await page.keyboard.press("Enter")
        await expect(page.get_by_role("menuitem", name="Rename")).to_be_focused()
        await expect(button).to_have_attribute("aria-expanded", "true")
        await page.keyboard.press("ArrowUp")
        await expect(page.get_by_role("menuitem", name="Delete")).to_be_focused()
        await page.keyboard.press("Home")
        await page.keyboard.press("ArrowDown")
        await expect(page.get_by_role("menuitem", name="Open the links")).to_be_focused()
        await page.keyboard.press("ArrowDown")  # the disabled one is passed over
        await expect(page.get_by_role("menuitem", name="Delete")).to_be_focused()
        await page.keyboard.press("Escape")
        await expect(button).to_be_focused()
        await expect(page.get_by_role("menuitem", name="Rename")).to_be_hidden()


async def test_a_dialog_takes_the_focus_and_gives_it_back(open_page: OpenPage) -> None:
    async with open_page() as (page, _):
        await shown(page)
        opener = page.get_by_role("button", name="A dialog")
        await opener.click()
        await expect(page.get_by_label("Destination")).to_be_focused()
        await page.keyboard.press("Escape")
        await expect(page.get_by_role("dialog")).to_have_count(0)
        await expect(opener).to_be_focused()


async def test_a_question_waits_for_its_text_and_shows_why_it_failed(open_page: OpenPage) -> None:
    async with open_page() as (page, _):
        await shown(page)
        await page.get_by_role("button", name="A question with a text").click()
        dialog = page.get_by_role("dialog", name="Delete the domain?")
        delete = dialog.get_by_role("button", name="Delete", exact=True)
        await expect(delete).to_be_disabled()
        await dialog.get_by_label("Type go.example.com to go on").fill("go.example.com")
        await delete.click()
        await expect(dialog.get_by_role("alert")).to_have_text("The service cannot be reached.")


async def test_a_draft_outlives_a_reload_until_it_is_forgotten(open_page: OpenPage) -> None:
    async with open_page() as (page, _):
        await shown(page)
        await page.get_by_label("Note").fill("half a sentence")
        await page.reload()
        await expect(page.get_by_label("Note")).to_have_value("half a sentence")
        await page.get_by_role("button", name="Forget it").click()
        await page.reload()
        await expect(page.get_by_label("Note")).to_have_value("")


async def test_long_numbers_in_json_keep_their_digits(open_page: OpenPage) -> None:
    async with open_page() as (page, _):
        await shown(page)
        tree = page.locator(".tree")
        await expect(tree).to_contain_text("9007199254740993")
        await expect(tree).to_contain_text('"<b>hello</b>"')
        await expect(tree.locator("b")).to_have_count(0)
        await expect(page.get_by_text("{not json")).to_be_visible()


async def test_copying_says_so(open_page: OpenPage) -> None:
    async with open_page(permissions=["clipboard-read", "clipboard-write"]) as (page, _):
        await shown(page)
        await page.get_by_role("button", name="Copy the name of the record").click()
        await expect(page.get_by_role("status").get_by_text("Copied")).to_be_visible()
        assert await page.evaluate("navigator.clipboard.readText()") == "_tracker.go.example.com"


async def test_bars_have_a_table_of_the_same_numbers(open_page: OpenPage) -> None:
    async with open_page() as (page, _):
        await shown(page)
        series = page.locator(".series").first
        await series.get_by_text("As a table").click()
        await expect(series.get_by_role("row")).to_have_count(31)
        await series.locator(".target").first.hover(position={"x": 2, "y": 2})
        await expect(series.locator("figcaption")).to_contain_text("20 Oct: 400 clicks")


@pytest.mark.parametrize("width", [360, 800, 1024])
async def test_nothing_is_wider_than_the_screen_and_rows_keep_their_menus(
    open_page: OpenPage, width: int
) -> None:
    async with open_page() as (page, _):
        await page.set_viewport_size({"width": width, "height": 740})
        await shown(page)
        assert await page.evaluate("document.documentElement.scrollWidth") <= width
        menu = page.get_by_role("button", name="Actions for Spring offer")
        await menu.scroll_into_view_if_needed()
        box = await menu.bounding_box()
        assert box is not None
        assert box["x"] + box["width"] <= width

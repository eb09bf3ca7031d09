"""The common parts, on the page that shows all of them: keyboard, focus, small screens, digits."""

from playwright.async_api import expect

from tests.console.conftest import OpenConsole

STYLE = "/console/style"


async def test_a_menu_is_used_with_keys_alone(open_console: OpenConsole) -> None:
    async with open_console(STYLE, role=None) as page:
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


async def test_a_dialog_takes_the_focus_and_gives_it_back(open_console: OpenConsole) -> None:
    async with open_console(STYLE, role=None) as page:
        opener = page.get_by_role("button", name="A dialog")
        await opener.click()
        await expect(page.get_by_label("Destination")).to_be_focused()
        await page.keyboard.press("Escape")
        await expect(page.get_by_role("dialog")).to_have_count(0)
        await expect(opener).to_be_focused()


async def test_a_series_is_read_by_pointer_keyboard_and_table(open_console: OpenConsole) -> None:
    async with open_console(STYLE, role=None) as page:
        series = page.locator(".series").first
        await series.locator(".lines").hover(position={"x": 5, "y": 50})
        line = "day 1: 400 (before, day 1: 200, +100%)"
        await expect(series.locator("figcaption")).to_contain_text(line)
        slider = series.get_by_role("slider")
        await slider.focus()
        await slider.press("Home")
        await expect(slider).to_have_attribute("aria-valuetext", line)
        await slider.press("ArrowRight")
        await slider.press("Enter")
        await expect(page.get_by_text("Chosen: 2026-10-21 to 2026-10-21")).to_be_visible()
        await series.get_by_text("As a table").click()
        await expect(series.get_by_role("row")).to_have_count(31)


async def test_the_map_and_the_heat_map_say_what_is_under_the_pointer(
    open_console: OpenConsole,
) -> None:
    async with open_console(STYLE, role=None) as page:
        world, heat = page.locator(".world-map").first, page.locator(".heat-map").first
        await expect(world).to_contain_text("Without a country: 12")
        await world.locator("path.shade-6").hover()
        await expect(world).to_contain_text("Germany: 812")
        await world.locator("circle.shade-1").click()
        await expect(page.get_by_text("Chosen: Malta")).to_be_visible()
        await heat.locator(":scope > svg rect").nth(25).hover()
        await expect(heat).to_contain_text("Tuesday, 01:00: 25")
        await heat.get_by_text("As a table").click()
        await expect(
            heat.get_by_role("row", name="Tuesday").get_by_role("cell").nth(1)
        ).to_have_text("25")

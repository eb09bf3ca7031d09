"""Creating many links at once: lines, CSV of any separator, and the console's own download."""

import re
from typing import Any

from playwright.async_api import Page, Route, expect

from tests.console.conftest import OpenConsole
from tests.factories import create_link
from tracker.accounts.accounts import Account
from tracker.links.link import Link
from tracker.links.lists.filter import LinkFilter
from tracker.links.utm_templates.store import UtmTemplate, UtmTemplates
from tracker.service.services import Services

LINES = """https://shop.example/offer spring Spring offer, the first

https://shop.example/news - Newsletter of May
https://shop.example/sale?a=1,2"""


async def open_dialog(page: Page) -> None:
    await page.get_by_role("button", name="Create many").click()


async def enter(page: Page, text: str) -> None:
    await page.get_by_label("One link a line").fill(text)


async def choose(page: Page, text: str) -> None:
    """Choose a file. To fill in hundreds of lines takes the browser minutes."""
    file: Any = {"name": "links.csv", "mimeType": "text/csv", "buffer": text.encode()}
    await page.locator("input[type=file]").set_input_files(file)


async def preview(page: Page) -> list[list[str]]:
    """Return the texts of the preview's cells."""
    region = page.get_by_role("region", name="Preview")
    await expect(region).to_be_visible()
    rows = region.locator("tbody tr")
    return [
        [text.strip() for text in await row.locator("td").all_inner_texts()]
        for row in await rows.all()
    ]


async def links_of(services: Services, account: Account) -> list[Link]:
    return (await services.links.lists.page(account.id, LinkFilter(), 1, 100))[0]


async def test_many_links_are_created_together_or_none(
    open_console: OpenConsole, services: Services, account: Account
) -> None:
    taken = await create_link(services, account.id, "spring", internal_name="The first")
    async with open_console("/console/links", "400 (Bad Request)") as page:
        await open_dialog(page)
        await enter(page, LINES)
        await page.get_by_role("button", name="Create 3 links").click()
        await expect(page.get_by_role("alert")).to_have_text(
            "Line 1, slug: already taken on this domain"
        )
        await expect(page.locator("tr.bad td").first).to_have_text("1")
        assert await links_of(services, account) == [taken]
        await enter(page, LINES.replace(" spring ", " may "))
        await expect(page.locator("tr.bad")).to_have_count(0)
        await page.get_by_role("button", name="Create 3 links").click()
        await expect(page.get_by_role("dialog")).to_have_count(0)
    made = await links_of(services, account)
    assert {(one.internal_name, one.destination_url) for one in made} == {
        ("The first", taken.destination_url),
        ("Spring offer, the first", "https://shop.example/offer"),
        ("Newsletter of May", "https://shop.example/news"),
        ("shop.example/sale", "https://shop.example/sale?a=1,2"),
    }


async def test_links_are_shown_before_they_exist_and_bad_lines_hold_all_back(
    open_console: OpenConsole, services: Services, account: Account
) -> None:
    await services.links.domains.create(account.id, "go.example.com")
    good = "sep=;\nURL;Slug;Name;Active;Domain\nshop.example/a;a;Name A;no;go.example.com\n"
    async with open_console("/console/links") as page:
        await open_dialog(page)
        host = await page.evaluate("location.host")
        await enter(page, f"{good}shop.example/b;;;;go.other.example")
        problem = "the domain go.other.example is none of yours"
        await expect(page.locator("tr.bad td").nth(1)).to_contain_text(problem)
        await expect(page.get_by_role("status").filter(has_text="to correct")).to_have_text(
            "1 line to correct"
        )
        await expect(page.get_by_role("button", name="Create 2 links")).to_be_disabled()
        await page.get_by_label("Separator").select_option("Space")
        assert (await preview(page))[0][1].startswith("URL;Slug")
        await page.get_by_label("Separator").select_option("")
        await enter(page, f"{good}shop.example/b;;;;")
        assert await preview(page) == [
            ["3", "https://shop.example/a", "go.example.com/c/a (paused)", "Name A"],
            ["4", "https://shop.example/b", f"{host}/c/random", "from the destination"],
        ]
        assert await links_of(services, account) == []
        await page.get_by_role("button", name="Create 2 links").click()
        await expect(page.get_by_role("dialog")).to_have_count(0)
    made = {(one.domain_name, one.active) for one in await links_of(services, account)}
    assert made == {("go.example.com", False), ("", True)}


async def test_a_download_of_links_is_read_back(
    open_console: OpenConsole, services: Services, account: Account
) -> None:
    summer = await services.links.tags.create(account.id, "Summer")
    await create_link(
        services,
        account.id,
        "sum",
        internal_name="=1+1; -2",
        destination_url="https://shop.example/a?b=1,2",
        tags=[summer.id],
    )
    async with open_console("/console/links") as page:
        await open_dialog(page)
        download = await page.evaluate(
            """async () => {
                const { account } = await (await fetch("/api/session")).json();
                return (await fetch(`/api/short-links?format=csv&accountId=${account.id}`)).text();
            }"""
        )
        header, row = download.splitlines()
        assert "'=1+1;' -2" in row
        other = row.replace("sum", "two").replace("Summer", "Winter")
        await page.locator("input[type=file]").set_input_files(
            {
                "name": "links.csv",
                "mimeType": "text/csv",
                "buffer": f"\ufeff{header}\r\n{other}\r\n".encode(),
            }
        )
        [[line, destination, short, name, tags]] = await preview(page)
        assert (line, destination) == ("2", "https://shop.example/a?b=1,2")
        assert (short.partition("/")[2], name, tags) == ("c/two", "=1+1; -2", "Winter")
        note = page.get_by_role("status").filter(has_text="to create")
        await expect(note).to_contain_text("with new tags: Winter")
        await expect(note).to_contain_text("Not used: id, created_at")
        await page.get_by_role("button", name="Create 1 link").click()
        await expect(page.get_by_role("dialog")).to_have_count(0)
    made = next(one for one in await links_of(services, account) if one.slug == "two")
    winter = next(tag for tag in await all_tags(services, account) if tag.name == "Winter")
    assert (made.internal_name, made.tags) == ("=1+1; -2", [winter.id])


async def test_a_separator_that_may_be_part_of_the_urls_is_asked_for(
    open_console: OpenConsole,
) -> None:
    async with open_console("/console/links") as page:
        await open_dialog(page)
        await enter(page, "https://shop.example/?ids=1,2,3")
        assert (await preview(page))[0][1] == "https://shop.example/?ids=1,2,3"
        await expect(page.get_by_role("button", name="Create 1 link")).to_be_enabled()
        await enter(page, "https://shop.example/a,one")
        assert (await preview(page))[0][1] == "https://shop.example/a,one"
        await expect(page.get_by_role("button", name="Create 1 link")).to_be_disabled()
        await page.get_by_role("button", name="It ends them").click()
        assert (await preview(page))[0][1] == "https://shop.example/a"
        await expect(page.get_by_role("button", name="Create 1 link")).to_be_enabled()


async def test_a_file_is_read_in_the_encodings_of_excel_or_in_the_chosen_one(
    open_console: OpenConsole,
) -> None:
    async with open_console("/console/links") as page:
        await open_dialog(page)
        name = page.get_by_role("region", name="Preview").locator("td").last
        for encoding, text in (
            *[("utf-8", "Frühling"), ("utf-8-sig", "Été"), ("cp1252", "5 €"), ("utf-16", "Žár")],
            *[("windows-1251", "Весна"), ("shift_jis", "春の靴")],
        ):
            file: Any = {
                "name": "a.csv",
                "mimeType": "text/csv",
                "buffer": f"destination_url;internal_name\r\nshop.example/a;{text}\r\n".encode(
                    encoding
                ),
            }
            await page.locator("input[type=file]").set_input_files(file)
            if encoding in ("windows-1251", "shift_jis"):
                await page.get_by_label("Encoding of the file").select_option(encoding)
            await expect(name).to_have_text(text)


async def test_what_is_too_many_is_said_and_its_first_lines_are_shown(
    open_console: OpenConsole,
) -> None:
    async with open_console("/console/links") as page:
        await open_dialog(page)
        await choose(page, "\n".join(f"https://shop.example/{one},s{one}" for one in range(1001)))
        await expect(
            page.get_by_text("At most 1000 links at once; these are 1001.")
        ).to_be_visible()
        await expect(page.get_by_role("button", name="Create 1,001 links")).to_be_disabled()
        await expect(page.locator(".link-preview tbody tr")).to_have_count(100)


async def test_columns_of_any_spreadsheet_are_mapped_and_hundreds_are_created_in_parts(
    open_console: OpenConsole, services: Services, account: Account
) -> None:
    await services.links.domains.create(account.id, "go.example.com")
    rows = "\n".join(f"n{one};{one};shop.example/{one};s{one};mail" for one in range(250))
    taken = await create_link(services, account.id, "s120")
    async with open_console("/console/links", "400 (Bad Request)", "ERR_FAILED") as page:
        await open_dialog(page)
        await choose(page, f"Bezeichnung;Nr;Ziel;Short link;Source\n{rows}")
        assert (await preview(page))[0][1].endswith(
            "no column is the destination, such as URL: found Bezeichnung, Nr, Ziel, Short link, "
            "Source"
        )
        dialog = page.get_by_role("dialog")
        await expect(dialog.get_by_label("Short link", exact=True)).to_have_value("slug")
        await expect(dialog.get_by_label("Source", exact=True).first).to_have_value("utm_source")
        await dialog.get_by_label("Ziel").select_option("Destination")
        await dialog.get_by_label("Bezeichnung").select_option("Name")
        await expect(page.get_by_role("status").filter(has_text="to create")).to_have_text(
            "250 links to create. Not used: Nr"
        )
        options = dialog.get_by_label("Domain", exact=True).locator("option")
        await expect(options.last).to_have_text("go.example.com (not verified)")
        await page.get_by_role("button", name="Create 250 links").click()
        alert = page.get_by_role("alert")
        await expect(alert).to_contain_text(
            "Lines 2 to 101 are created, and no longer in the box. The others are not. "
            "Line 22, slug: already taken"
        )
        await expect(page.locator("tr.bad td").first).to_have_text("22")
        assert len(await all_links(services, account)) == 101
        await services.links.links.change(taken.id, {"archived": True})
        text = await page.get_by_label("One link a line").input_value()
        await choose(page, text.replace(";s120;", ";t120;"))
        await dialog.get_by_label("Ziel").select_option("Destination")
        await dialog.get_by_label("Bezeichnung").select_option("Name")
        answers = 0

        async def lose_the_first_answer(route: Route) -> None:
            nonlocal answers
            answers += 1
            if answers > 1:
                await route.continue_()
            else:
                await route.fetch()
                await route.abort()

        await page.route("**/api/short-links/bulk", lose_the_first_answer)
        await page.get_by_role("button", name="Create 150 links").click()
        await expect(dialog).to_have_count(0)
        await expect(page.get_by_text("150 links created")).to_be_visible()
    made = await all_links(services, account)
    assert sorted(one.internal_name for one in made) == sorted(f"n{one}" for one in range(250))
    by_name = {one.internal_name: one for one in made}
    assert by_name["n120"].slug == "t120"
    assert by_name["n7"].destination_url == "https://shop.example/7?utm_source=mail"


async def test_a_part_whose_answer_and_search_are_lost_is_not_created_twice(
    open_console: OpenConsole, services: Services, account: Account
) -> None:
    async with open_console("/console/links", "ERR_FAILED") as page:
        await open_dialog(page)
        await enter(page, "https://shop.example/a\nhttps://shop.example/b")
        bulk = "**/api/short-links/bulk"
        search = re.compile(r"/api/short-links\?.*pageSize=100")

        async def lose_the_answer(route: Route) -> None:
            await route.fetch()
            await route.abort()

        await page.route(bulk, lose_the_answer)
        await page.route(search, lambda route: route.abort())
        create = page.get_by_role("button", name="Create 2 links")
        for _ in range(2):
            await create.click()
            await expect(page.get_by_role("alert")).to_contain_text("they are looked for")
            await expect(create).to_be_enabled()
        await page.reload()
        await page.unroute(search)
        await open_dialog(page)
        await create.click()
        await expect(page.get_by_text("2 links created")).to_be_visible()
    assert len(await all_links(services, account)) == 2


async def test_utm_values_of_all_links_are_proposed_and_taken_from_a_template(
    open_console: OpenConsole, services: Services, account: Account
) -> None:
    values = dict.fromkeys(UtmTemplate.__struct_fields__, "")
    template = UtmTemplate(**{**values, "name": "Weekly", "utm_source": "mail"})
    await UtmTemplates(services.stores.mongodb).replace(account.id, [template])
    async with open_console("/console/links") as page:
        await open_dialog(page)
        await enter(page, "https://shop.example/a\nhttps://shop.example/b?utm_source=x")
        await page.get_by_text("UTM parameters").click()
        await page.get_by_label("Template", exact=True).select_option("Weekly")
        await page.get_by_label("Medium").fill("e mail")
        assert [row[1] for row in await preview(page)] == [
            "https://shop.example/a?utm_source=mail&utm_medium=e%20mail",
            "https://shop.example/b?utm_source=x&utm_medium=e%20mail",
        ]
        await page.get_by_role("button", name="Create 2 links").click()
        await expect(page.get_by_text("2 links created")).to_be_visible()
    assert {one.destination_url for one in await links_of(services, account)} == {
        "https://shop.example/a?utm_source=mail&utm_medium=e%20mail",
        "https://shop.example/b?utm_source=x&utm_medium=e%20mail",
    }


async def all_links(services: Services, account: Account) -> list[Link]:
    pages = services.links.lists.all_of(account.id, LinkFilter())
    return [link async for page in pages for link in page]


async def test_a_list_that_did_not_load_is_said_and_loaded_again(open_console: OpenConsole) -> None:
    async with open_console("/console/links", "status of 503") as page:
        for path in ("domains", "tags"):
            await page.route(f"**/api/{path}*", lambda route: route.fulfill(status=503, json={}))
            await page.get_by_role("button", name="Create many").click()
            await enter(page, "https://shop.example/a")
            await expect(page.get_by_role("button", name="Create 1 link")).to_be_disabled()
            await page.unroute(f"**/api/{path}*")
            await page.get_by_role("button", name="Try again").click()
            await page.get_by_role("button", name="Create 1 link").click()
            await expect(page.get_by_role("dialog")).to_have_count(0)


async def test_a_failed_attempt_leaves_no_tag_and_names_line_and_tag(
    open_console: OpenConsole, services: Services, account: Account
) -> None:
    await create_link(services, account.id, "one")
    strasse = await services.links.tags.create(account.id, "Straße")
    async with open_console("/console/links", "400 (Bad Request)") as page:
        await open_dialog(page)
        text = 'destination_url,slug,tags\nshop.example/a,one,"Winter,STRASSE"\nshop.example/b,two,'
        await enter(page, f"{text}Fuß")
        note = page.get_by_role("status").filter(has_text="to create")
        await expect(note).to_contain_text("with new tags: Winter, Fuß")
        await page.get_by_role("button", name="Create 2 links").click()
        await expect(page.get_by_role("alert")).to_contain_text("Line 2, slug: already taken")
        assert await all_tags(services, account) == [strasse]
        await enter(page, f"{text}a\u2028b")
        await page.get_by_role("button", name="Create 2 links").click()
        await expect(page.get_by_role("alert")).to_contain_text("Line 3, tag a\u2028b: 1 to 190")
        assert await all_tags(services, account) == [strasse]
        await enter(page, f"{text}FUSS".replace(",one,", ",three,"))
        await page.get_by_label("New tag").fill("Not added")
        await page.get_by_role("button", name="Create 2 links").click()
        await expect(page.get_by_role("dialog")).to_have_count(0)
    ids = {one.name: one.id for one in await all_tags(services, account)}
    fuss, winter, not_added = (ids[name] for name in ("FUSS", "Winter", "Not added"))
    assert {one.slug: set(one.tags) for one in await links_of(services, account)} == {
        "one": set(),
        "two": {fuss, not_added},
        "three": {winter, strasse.id, not_added},
    }


async def all_tags(services: Services, account: Account) -> list[Any]:
    return (await services.links.tags.page(account.id, 1, 100))[0]

"""The settings as people use them: keys, the account, members, the audit log."""

import re

import pytest
from playwright.async_api import Page, expect

from tests.console.conftest import OpenConsole
from tests.console.people import sign_in
from tests.factories import create_link, create_member, create_person
from tracker.access.principal import Author
from tracker.access.roles import Role
from tracker.accounts.accounts import Account
from tracker.accounts.parameters import names_of
from tracker.service.services import Services


async def test_a_key_is_generated_shown_once_and_revoked(
    open_console: OpenConsole, services: Services, account: Account
) -> None:
    async with open_console("/console/settings") as page:
        await expect(page.get_by_role("heading", name="API Keys", exact=True)).to_be_visible()
        await page.get_by_role("button", name="Generate New Key").first.click()
        dialog = page.get_by_role("dialog")
        await dialog.get_by_label("Name", exact=True).fill("shop server")
        await dialog.get_by_label("Everything").uncheck()
        await dialog.get_by_label("read Tags").check()
        await dialog.get_by_role("button", name="Generate").click()
        await expect(dialog.get_by_role("heading", name="Your new key")).to_be_visible()
        [key] = await services.access.api_keys.list(account.id)
        assert key.scopes == ["links:read", "links:write", "tags:read"]
        secret = await dialog.locator("code").first.inner_text()
        assert (await services.access.api_keys.authenticate(secret)).id == key.id
        await expect(dialog.get_by_text(f'-H "Authorization: Bearer {secret}"')).to_be_visible()
        url = re.search(r'"(http[^"]+)"', await dialog.locator("pre").inner_text())
        assert url is not None
        asked = await page.request.get(url[1], headers={"Authorization": f"Bearer {secret}"})
        assert asked.status == 200
        await dialog.get_by_role("button", name="I have copied it").click()
        await page.reload()
        await expect(page.get_by_role("row", name="shop server")).to_be_visible()
        assert secret not in await page.content()
        await page.get_by_role("button", name="Revoke shop server").click()
        await page.get_by_role("button", name="Revoke the key").click()
        await expect(page.get_by_text("revoked", exact=True)).to_be_visible()
        assert (await services.access.api_keys.list(account.id))[0].revoked_at is not None


async def three_generations(services: Services, account: Account) -> None:
    """Make keys that made one another, and one more."""
    made, _ = await services.access.api_keys.create(account.id, "parent")
    for name in ("child", "grandchild"):
        by = made.principal.actor
        made, _ = await services.access.api_keys.create(account.id, name, created_by=by)
    await services.access.api_keys.create(account.id, "shop server")


@pytest.mark.parametrize("with_descendants", [True, False], ids=["with", "without"])
async def test_a_key_is_listed_below_its_maker_and_revoked_with_it_unless_unticked(
    open_console: OpenConsole, services: Services, account: Account, with_descendants: bool
) -> None:
    await three_generations(services, account)
    async with open_console("/console/settings") as page:
        names = page.locator("tbody strong")
        await expect(names).to_have_text(["shop server", "parent", "child", "grandchild"])
        await expect(page.get_by_role("row", name="made with “child”")).to_be_visible()
        dialog = page.get_by_role("dialog")
        await page.get_by_role("button", name="Revoke grandchild").click()
        await expect(dialog).to_be_visible()
        await expect(page.get_by_role("checkbox")).to_have_count(0)
        await page.keyboard.press("Escape")
        await page.get_by_role("button", name="Revoke parent").click()
        box = dialog.get_by_label("Also revoke the 2 keys made with it")
        await expect(box).to_be_checked()
        await box.set_checked(with_descendants)
        await dialog.get_by_role("button", name="Revoke the key").click()
        await expect(page.get_by_text("revoked", exact=True)).to_have_count(
            3 if with_descendants else 1
        )
        below = page.get_by_text("made with “parent”, which is revoked")
        await expect(below).to_have_count(1)
    valid = {
        key.name for key in await services.access.api_keys.list(account.id) if not key.revoked_at
    }
    younger = set() if with_descendants else {"child", "grandchild"}
    assert valid == {"shop server"} | younger


async def test_the_account_is_renamed_and_its_rules_are_switched(
    open_console: OpenConsole, services: Services, account: Account
) -> None:
    async with open_console("/console/settings/account") as page:
        await page.get_by_label("Name", exact=True).fill("Acme Media")
        await page.get_by_role("button", name="Save").first.click()
        await expect(page.get_by_text("Saved")).to_be_visible()
        await expect(page.locator("header.top").get_by_text("Acme Media")).to_be_visible()
        await page.get_by_label("Conversions need a postback key").click()
        await expect(page.get_by_label("Conversions need a postback key")).to_be_checked()
        await page.get_by_label("Highest value").fill("250.5")
        await page.get_by_label("Highest value").press("Enter")
        await expect(page.get_by_text("Saved")).to_have_count(3)
    rules = await services.conversions.account_rules.find(account.id)
    assert (rules.require_pbk, str(rules.max_value)) == (True, "250.5")


async def test_the_account_gets_a_currency(
    open_console: OpenConsole, services: Services, account: Account
) -> None:
    async with open_console("/console/settings/account", "400 (Bad Request)") as page:
        form = page.locator("form", has=page.get_by_role("heading", name="Currency"))
        for sent, shown in (("xxx", "must be a currency"), ("eur", "")):
            await form.get_by_label("Currency").fill(sent)
            await form.get_by_role("button", name="Save").click()
            await expect(form.get_by_text(shown).first).to_be_visible()
        await expect(page.get_by_text("Saved")).to_be_visible()
        await expect(form.get_by_label("Currency")).to_have_value("EUR")
        await page.get_by_role("link", name="Overview").click()
        await expect(page.get_by_role("button", name="Currencies")).to_be_visible()
    assert (await services.conversions.account_rules.stored(account.id)).currency == "EUR"


async def test_the_account_chooses_the_parameter_that_says_what_a_click_cost(
    open_console: OpenConsole, services: Services, account: Account
) -> None:
    async with open_console("/console/settings/account") as page:
        form = page.locator("form", has=page.get_by_role("heading", name="Cost of a click"))
        await expect(form.get_by_label("Cost of a click")).to_have_value("cost")
        for times, sent in enumerate(("bid", ""), 1):
            await form.get_by_label("Cost of a click").fill(sent)
            await form.get_by_role("button", name="Save").click()
            await expect(page.get_by_text("Saved")).to_have_count(times)
            found = await services.accounts.accounts.find(account.id)
            assert found is not None
            assert (found.cost_parameter or "") == sent


async def test_the_account_names_the_senders_own_parameters(
    open_console: OpenConsole, services: Services, account: Account
) -> None:
    async with open_console("/console/settings/account", "400 (Bad Request)") as page:
        form = page.locator("form", has=page.get_by_role("heading", name="Own parameters"))
        for sent, shown in (("gclid", "gclid has a meaning of its own"), ("sub1 place", "")):
            await form.get_by_label("Own parameters").fill(sent)
            await form.get_by_role("button", name="Save").click()
            await expect(form.get_by_text(shown).first).to_be_visible()
        await expect(page.get_by_text("Saved")).to_be_visible()
        await expect(form.get_by_label("Own parameters")).to_have_value("sub1, place")
        form = page.locator(
            "form", has=page.get_by_role("heading", name="Pages that report clicks")
        )
        field = form.get_by_label("Pages that report clicks")
        for sent, shown in (("*", "must be like"), ("Shop.example, *.b.example", "")):
            await field.fill(sent)
            await form.get_by_role("button", name="Save").click()
            await expect(form.get_by_text(shown).first).to_be_visible()
        await expect(field).to_have_value("shop.example, *.b.example")
    found = await services.accounts.accounts.find(account.id)
    assert found is not None
    assert names_of(found.parameters) == ["sub1", "place"]
    assert found.origins == ("shop.example", "*.b.example")


async def test_the_time_zone_changes_with_a_day_that_is_named(
    open_console: OpenConsole, services: Services, account: Account
) -> None:
    async with open_console("/console/settings/account", "400 (Bad Request)") as page:
        zone = page.get_by_label("Time zone", exact=True)
        await expect(zone).to_have_value("UTC")
        await expect(page.locator("#time-zones option[value='Europe/Berlin']")).to_have_count(1)
        card = page.locator("form", has=zone)
        await zone.fill("Mars/Olympus")
        await card.get_by_role("button", name="Save").click()
        await expect(card.get_by_text("must be an IANA time zone")).to_be_visible()
        await zone.fill("Europe/Berlin")
        await card.get_by_role("button", name="Save").click()
        await expect(card.get_by_role("status")).to_contain_text("Days are those of Europe/Berlin")
        await card.get_by_role("button", name="Keep UTC").click()
        await expect(card.get_by_role("status")).to_have_count(0)
        await expect(zone).to_have_value("UTC")
    assert (await services.accounts.time_zones.find(account.id)).changes == ()


async def test_a_member_is_invited_promoted_and_removed(
    open_console: OpenConsole, services: Services, account: Account
) -> None:
    async with open_console("/console/settings/members") as page:
        await page.get_by_role("button", name="Invite", exact=True).click()
        await page.get_by_label("E-mail").fill("eve@example.com")
        await page.get_by_label("Role").select_option("viewer")
        await page.get_by_role("button", name="Make a link").click()
        link = await page.get_by_role("dialog").locator("code").first.inner_text()
        assert link.startswith(f"{services.settings.base_url}/console/join#")
        await page.get_by_role("button", name="I have copied it").click()
        await expect(page.get_by_role("cell", name="eve@example.com", exact=True)).to_be_visible()
        await _join(page, link)
        eve = await services.accounts.people.find_by_email("eve@example.com")
        assert eve is not None
        await sign_in(services, page, account.id)
        await page.goto("/console/settings/members")
        await page.get_by_role("button", name="Actions for Eve").click()
        await page.get_by_role("menuitem", name="Change the role").click()
        await page.get_by_label("Role", exact=True).select_option("editor")
        await page.get_by_role("button", name="Change", exact=True).click()
        await expect(page.get_by_text("Eve is now editor")).to_be_visible()
        await page.get_by_role("button", name="Actions for Eve").click()
        await page.get_by_role("menuitem", name="Remove").click()
        await page.get_by_role("button", name="Remove", exact=True).click()
        await expect(page.get_by_text("Eve is removed")).to_be_visible()
        assert await services.accounts.members.of_person(eve.id) == []


async def test_open_links_are_seen_and_withdrawn(
    open_console: OpenConsole, services: Services, account: Account
) -> None:
    person = await create_person(services, "eve@example.com", name="Eve")
    await create_member(services, account.id, Role.VIEWER, person)
    await services.accounts.membership.invite(
        Author.operator(account.id), "mia@example.com", Role.OWNER
    )
    async with open_console("/console/settings/members") as page:
        await page.get_by_role("button", name="Actions for Eve").click()
        await page.get_by_role("menuitem", name="Reset the password").click()
        await page.get_by_role("button", name="Make a link").click()
        await page.get_by_role("button", name="I have copied it").click()
        resets = page.get_by_role("table", name="Open password resets")
        await expect(resets.get_by_role("row", name="eve@example.com")).to_contain_text("Ada")
        for noun, email in (("password reset", "eve"), ("invitation", "mia")):
            name = f"Withdraw the {noun} of {email}@example.com"
            await page.get_by_role("button", name=name).click()
            await page.get_by_role("button", name="Withdraw", exact=True).click()
            await expect(page.get_by_text(f"The {noun} is withdrawn")).to_be_visible()
            await expect(page.get_by_role("table", name=f"Open {noun}s")).to_have_count(0)
    assert await services.stores.mongodb["invitations"].count_documents({}) == 0


async def _join(page: Page, link: str) -> None:
    """Join as Eve, in the same browser: the session becomes hers."""
    await page.goto(link)
    await page.reload()
    await expect(page.get_by_role("heading", name="Open your link again")).to_be_visible()
    await page.goto("about:blank")
    await page.goto(link)
    await expect(page).to_have_url(link.partition("#")[0])
    await page.get_by_label("Your name").fill("Eve")
    await page.get_by_label("New password").fill("a few unrelated words")
    await page.get_by_role("button", name="Join").click()
    await expect(page.get_by_role("button", name="Sign out")).to_be_visible()


@pytest.mark.parametrize("role", [Role.VIEWER, Role.EDITOR])
async def test_other_roles_see_no_keys_and_change_no_settings(
    open_console: OpenConsole, role: Role
) -> None:
    async with open_console("/console/settings", role=role) as page:
        await expect(page.get_by_role("heading", name="Account", exact=True)).to_be_visible()
        settings = page.get_by_role("navigation", name="Settings")
        await expect(settings.get_by_role("link")).to_have_text(
            ["Account", "Members", "Shared reports", "Security"]
        )
        await expect(page.get_by_label("Name", exact=True)).to_be_disabled()
        await settings.get_by_role("link", name="Members").click()
        await expect(page.get_by_role("row", name="Ada")).to_be_visible()
        await expect(page.get_by_role("button", name="Invite")).to_have_count(0)


async def test_the_audit_log_names_who_did_what_and_is_filtered(
    open_console: OpenConsole, account: Account
) -> None:
    async with open_console("/console/settings/account") as page:
        await page.get_by_label("Name", exact=True).fill("Acme Media")
        await page.get_by_role("button", name="Save").first.click()
        await expect(page.get_by_text("Saved")).to_be_visible()
        await page.goto("/console/settings/audit")
        row = page.get_by_role("row", name="Changed the account")
        await expect(row.get_by_role("insertion")).to_be_visible()
        await page.get_by_label("Action").select_option("api_key.created")
        await expect(page).to_have_url("/console/settings/audit?action=api_key.created")
        await expect(page.get_by_role("heading", name="Nothing fits")).to_be_visible()
        await page.reload()
        await expect(page.get_by_role("heading", name="Nothing fits")).to_be_visible()
        await page.get_by_role("button", name="Show everything").click()
        await expect(row).to_be_visible()
        await page.get_by_label("Search names").fill("media")
        await expect(page).to_have_url("/console/settings/audit?search=media")
        async with page.expect_download() as download:
            await page.get_by_role("link", name="CSV").click()
        path = await (await download.value).path()
        [heading, entry] = path.read_text(encoding="utf-8-sig").splitlines()
        assert "action" in heading
        assert "account.changed" in entry


async def test_a_member_is_limited_to_links_of_a_tag_and_sees_no_more(
    open_console: OpenConsole, services: Services, account: Account
) -> None:
    tag = await services.links.tags.create(account.id, "Bakery")
    for name, tags in (("Bread", [tag.id]), ("Cars", [])):
        await create_link(services, account.id, name.lower(), internal_name=name, tags=tags)
    async with open_console("/console/settings/members") as page:
        await page.get_by_role("button", name="Invite", exact=True).click()
        await page.get_by_label("E-mail").fill("eve@example.com")
        await page.get_by_label("Bakery").check()
        await page.get_by_role("button", name="Make a link").click()
        link = await page.get_by_role("dialog").locator("code").first.inner_text()
        await page.get_by_role("button", name="I have copied it").click()
        await _join(page, link)
        await expect(page.get_by_text("You see links with: Bakery")).to_be_visible()
        refused = list[str]()
        page.on("response", lambda one: refused.append(one.url) if one.status == 403 else None)
        menu = page.get_by_role("navigation", name="Main")
        for name in ("Live", "Events", "Webhooks", "Domains", "Costs"):
            await expect(menu.get_by_role("link", name=name)).to_have_count(0)
        await menu.get_by_role("link", name="Table").click()
        await expect(page.get_by_role("heading", name="Table")).to_be_visible()
        await page.wait_for_load_state("networkidle")
        await page.goto("/console/conversions")
        await expect(page.get_by_role("link", name="Uploads")).to_have_count(0)
        await page.goto("/console/links")
        await expect(page.get_by_role("row", name="Bread")).to_be_visible()
        await expect(page.get_by_text("Cars")).to_have_count(0)
        await page.get_by_role("button", name="New link").click()
        await (
            page.get_by_role("dialog")
            .get_by_label("Destination")
            .fill("https://bakery.example/cake")
        )
        await page.get_by_text("UTM parameters").click()
        await page.wait_for_load_state("networkidle")
        await page.get_by_role("button", name="Create", exact=True).click()
        await page.get_by_role("button", name="Create many").click()
        await page.get_by_label("One link a line").fill("https://bakery.example/pie")
        await expect(page.get_by_role("dialog").get_by_label("Bakery")).to_be_checked()
        await page.wait_for_load_state("networkidle")
        await page.get_by_role("button", name="Create 1 link").click()
        await expect(page.get_by_role("row", name="bakery.example/pie")).to_be_visible()
        await page.get_by_role("link", name="bakery.example/cake").first.click()
        await expect(page.get_by_role("heading", name="Report")).to_be_visible()
        await page.wait_for_load_state("networkidle")
        assert refused == []
        await sign_in(services, page, account.id)
        await page.goto("/console/settings/members")
        await expect(page.get_by_role("row", name="Eve")).to_contain_text("Bakery")
        await page.get_by_role("button", name="Actions for Eve").click()
        await page.get_by_role("menuitem", name="Change the role or links").click()
        await page.get_by_role("button", name="All links").click()
        await page.get_by_role("button", name="Change", exact=True).click()
        await expect(page.get_by_role("row", name="Eve")).to_contain_text("all")

"""The rules of a link: edited by keyboard alone, tried, saved and undone; and an experiment."""

from typing import Any, Final

from playwright.async_api import expect

from tests.console.conftest import OpenConsole
from tests.conversions.scene import applied
from tests.factories import (
    create_link,
    make_click,
    make_split,
)
from tracker.accounts.accounts import Account
from tracker.clock import now_ms
from tracker.ids import new_id
from tracker.links.rules.rule import Condition, Rule
from tracker.service.services import Services

GERMANS: Final = Rule(
    id=new_id(),
    name="Germans",
    conditions=[Condition(country=["DE"])],
    destination_url="https://de.example/",
)


async def test_reports_count_by_rules_and_variants_once_the_account_has_any(
    open_console: OpenConsole, services: Services, account: Account
) -> None:
    async with open_console("/console/overview") as page:
        await expect(page.get_by_role("button", name="Domains")).to_be_visible()
        await expect(page.get_by_role("button", name="Rules")).to_have_count(0)
    split = make_split(blue=1, red=1)
    link = await create_link(services, account.id, rules=[GERMANS], split=split)
    ids: dict[str, Any] = {"link_id": link.id.bytes, "at": now_ms(), "account_id": account.id}
    drawn = make_click(**ids, variant_id=split.variants[0].id.bytes)
    await applied(services, [drawn, make_click(**ids, rule_id=GERMANS.id.bytes)])
    async with open_console(f"/console/links/{link.id}") as page:
        await page.get_by_role("button", name="Variants").click()
        await expect(page.get_by_role("button", name="blue", exact=True)).to_be_visible()
        await page.get_by_role("button", name="Rules").click()
        await page.get_by_role("button", name="Germans", exact=True).click()
        await expect(page.get_by_text("Rule is Germans")).to_be_visible()
        clicks = page.locator(".tile").first
        await expect(clicks).to_contain_text("1")

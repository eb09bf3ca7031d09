"""The rules of a link: edited by keyboard alone, tried, saved and undone; and an experiment."""

from typing import Any, Final

import msgspec
from playwright.async_api import Page, expect

from tests.console.accessibility import assert_accessible
from tests.console.conftest import OpenConsole
from tests.conversions.scene import applied
from tests.factories import (
    create_event_config,
    create_link,
    make_click,
    make_conversion,
    make_split,
)
from tracker.access.roles import Role
from tracker.accounts.accounts import Account
from tracker.clock import now_ms
from tracker.ids import new_id
from tracker.links.link import Link
from tracker.links.rules.rule import Condition, QueryMatch, Rule
from tracker.service.services import Services

LANDING: Final = "https://shop.example/"
GERMANS: Final = Rule(
    id=new_id(),
    name="Germans",
    conditions=[Condition(country=["DE"])],
    destination_url="https://de.example/",
)
MAIL: Final = Rule(
    id=new_id(),
    name="Mail",
    conditions=[Condition(query=QueryMatch(key="src", values=["mail"]))],
    destination_url="https://mail.example/",
)

MOST_TABS: Final = 200

FOCUSED: Final = """() => {
  const { ariaLabel, labels, textContent } = document.activeElement;
  return (ariaLabel ?? labels?.[0]?.textContent ?? textContent).trim();
}"""

NOTE_SIGNALS: Final = """
window.signals = [];
const { fetch } = window;
window.fetch = (url, options) => {
  if (url.endsWith("/decide")) signals.push(options.signal);
  return fetch(url, options);
};
"""


async def tab_to(page: Page, name: str, key: str = "Tab") -> None:
    """Move the focus by keyboard to the next element of a name."""
    for _ in range(MOST_TABS):
        await page.keyboard.press(key)
        if await page.evaluate(FOCUSED) == name:
            return
    raise AssertionError(f"the keyboard does not reach {name!r}")


async def enter(page: Page, fields: dict[str, str]) -> None:
    """Type texts into fields, in the order of the page. A choice takes what begins so."""
    for name, text in fields.items():
        await tab_to(page, name)
        await page.keyboard.type(text)


async def add_rule(page: Page, number: int, name: str, fields: dict[str, str]) -> None:
    await tab_to(page, "Add a rule")
    await page.keyboard.press("Enter")
    await expect(page.get_by_label(f"Name of rule {number}")).to_be_focused()
    await page.keyboard.press("Control+a")
    await page.keyboard.type(name)
    await enter(page, fields | {"Destination": f"{name.lower()}.example"})


async def stored(services: Services, link: Link) -> Link:
    found = await services.links.links.find(link.id)
    assert found is not None
    return found


async def test_five_rules_are_made_tried_saved_and_undone_by_keyboard_alone(
    open_console: OpenConsole, services: Services, account: Account
) -> None:
    link = await create_link(services, account.id, "spring", LANDING)
    kind = "Kind of condition 1"
    # Rules that are not complete yet are refused when they are tried.
    async with open_console(f"/console/links/{link.id}/rules", "400 (Bad Request)") as page:
        await expect(page.get_by_text("No rule holds")).to_be_visible()
        await add_rule(page, 1, "Germany", {"Country": "de"})
        await add_rule(page, 2, "Phones", {kind: "Sy", "Add to System": "iOS"})
        await add_rule(page, 3, "Mail", {kind: "Pa", "Parameter": "src", "Values": "mail"})
        await add_rule(page, 4, "Noon", {kind: "T", "From": "12:00", "Until": "13:00"})
        await add_rule(page, 5, "Others", {kind: "La", "Holds if it": "is not", "Language": "es"})
        await tab_to(page, "Up, rule 5", "Shift+Tab")
        await page.keyboard.press("Enter")
        await expect(page.get_by_role("button", name="Up, rule 4")).to_be_focused()
        tester = page.get_by_role("region", name="Try it")
        await tab_to(page, "Languages")
        await page.keyboard.type("fr")
        await expect(tester).to_contain_text("Rule 4 decides")
        await expect(tester.get_by_role("listitem").first).to_contain_text("fails at condition 1")
        await tab_to(page, "Query")
        await page.keyboard.type("src=mail")
        await expect(tester).to_contain_text("Rule 3 decides")
        await expect(tester.get_by_role("link")).to_have_attribute(
            "href", "https://mail.example?src=mail"
        )
        await assert_accessible(page)
        await tab_to(page, "Save", "Shift+Tab")
        await page.keyboard.press("Enter")
        await expect(page.get_by_text("Saved", exact=True)).to_be_visible()
        saved = await stored(services, link)
        names = ["Germany", "Phones", "Mail", "Others", "Noon"]
        assert [rule.name for rule in saved.rules] == names
        assert saved.rules[0].conditions[0].country == ["DE"]
        assert saved.rules[1].conditions[0].os == ["iOS"]
        assert saved.rules[3].conditions[0].not_
        await tab_to(page, "Undo")
        await page.keyboard.press("Enter")
        await expect(page.get_by_text("Restored", exact=True)).to_be_visible()
        await expect(page.get_by_text("No rule holds")).to_be_visible()
        assert (await stored(services, link)).rules == []
        await page.get_by_role("button", name="Restore what was replaced").first.click()
        await expect(page.get_by_label("Name of rule 5")).to_have_value("Noon")
    assert (await stored(services, link)).rules == saved.rules


async def test_what_is_refused_is_marked_where_it_is_and_what_is_never_reached_is_told(
    open_console: OpenConsole, services: Services, account: Account
) -> None:
    link = await create_link(services, account.id, rules=[GERMANS, MAIL])
    async with open_console(f"/console/links/{link.id}/rules", "400 (Bad Request)") as page:
        wrong = "Rule 2, condition 1, country: must be an ISO 3166-1 alpha-2 code such as DE."
        second = page.get_by_role("region", name="Rule 2")
        await second.get_by_label("Kind of condition 1").select_option("Country")
        await second.get_by_label("Country").fill("DE\nXX")
        await page.get_by_role("button", name="Save").click()
        await expect(second.get_by_role("group", name="Condition 1")).to_contain_text(wrong)
        await expect(page.get_by_role("alert").filter(has_text=wrong).first).to_be_visible()
        await second.get_by_label("Country").fill("DE,")
        await page.get_by_role("button", name="Save").click()
        warning = "Rule 2: is never reached: Rule 1 holds whenever it does"
        await expect(page.get_by_text(warning)).to_be_visible()
        await expect(page.get_by_role("alert")).to_have_count(0)
    assert (await stored(services, link)).rules[1].id == MAIL.id


async def test_an_older_question_of_the_tester_is_aborted(
    open_console: OpenConsole, services: Services, account: Account
) -> None:
    link = await create_link(services, account.id, rules=[GERMANS])
    async with open_console("/console/links") as page:
        await page.add_init_script(NOTE_SIGNALS)
        await page.goto(f"/console/links/{link.id}/rules")
        tester = page.get_by_role("region", name="Try it")
        await expect(tester).to_contain_text("country is not known")
        await page.route("**/decide", lambda _: None)  # without an answer
        async with page.expect_request("**/decide"):
            await tester.get_by_label("Country").fill("FR")
        await page.unroute("**/decide")
        await tester.get_by_label("Country").fill("AT")
        await expect(tester).to_contain_text("country is AT")
        aborted: list[bool] = await page.evaluate("signals.map(({aborted}) => aborted)")
    assert aborted[-2:] == [True, False]


async def test_a_draft_of_rules_outlives_a_reload_and_is_discarded(
    open_console: OpenConsole, services: Services, account: Account
) -> None:
    link = await create_link(services, account.id, rules=[GERMANS, MAIL])
    async with open_console(f"/console/links/{link.id}/rules") as page:
        await page.get_by_role("button", name="Remove rule 1").click()
        await expect(page.get_by_role("button", name="Add a rule")).to_be_focused()
        await page.reload()
        await expect(page.get_by_label("Name of rule 1")).to_have_value("Mail")
        await page.get_by_role("button", name="Discard").click()
        await expect(page.get_by_label("Name of rule 2")).to_have_value("Mail")
        await expect(page.get_by_role("button", name="Save")).to_have_count(0)


async def test_who_may_not_change_links_reads_and_tries_their_rules(
    open_console: OpenConsole, services: Services, account: Account
) -> None:
    link = await create_link(services, account.id, rules=[GERMANS], split=make_split())
    await services.links.links.change(link.id, {"rules": [GERMANS, MAIL]})
    async with open_console(f"/console/links/{link.id}", role=Role.VIEWER) as page:
        await expect(page.get_by_role("button", name="End at a")).to_have_count(0)
        await page.get_by_role("link", name="Edit and try its rules").click()
        await expect(page.get_by_label("Name of rule 2")).to_be_disabled()
        await expect(page.get_by_role("button", name="Add a rule")).to_be_disabled()
        await expect(page.locator(".history > li")).to_have_count(1)
        await expect(page.get_by_role("button", name="Restore")).to_have_count(0)
        tester = page.get_by_role("region", name="Try it")
        await tester.get_by_label("Country").fill("DE")
        await expect(tester).to_contain_text("Rule 1 decides")


async def test_visitors_are_split_into_variants_with_weights(
    open_console: OpenConsole, services: Services, account: Account
) -> None:
    link = await create_link(services, account.id, "spring", LANDING, rules=[GERMANS])
    # Rules that are not complete yet are refused when they are tried.
    async with open_console(f"/console/links/{link.id}/rules", "400 (Bad Request)") as page:
        rule = page.get_by_role("region", name="Rule 1")
        await rule.get_by_label("Split these visitors").check()
        await rule.get_by_label("Destination of variant 2").fill("https://red.example/")
        await rule.get_by_label("Weight of variant 2").fill("150")
        await expect(rule).to_contain_text("75%")
        await rule.get_by_role("button", name="Add a variant").click()
        await rule.get_by_role("button", name="Remove variant 3").click()
        await page.get_by_role("button", name="Save").click()
        trial = rule.get_by_role("link", name="Try it").last
        await expect(trial).to_be_visible()
        href = await trial.get_attribute("href")
        saved = (await stored(services, link)).rules[0].split
        assert saved is not None
        assert [one.weight for one in saved.variants] == [50, 150]
        assert saved.variants[0].destination_url == GERMANS.destination_url
        assert href == f"{services.settings.base_url}/c/spring?variant={saved.variants[1].id}"
        await rule.get_by_label("Split these visitors").uncheck()
        await page.get_by_role("button", name="Save").click()
        await expect(page.locator(".history > li")).to_have_count(2)
    assert (await stored(services, link)).rules == [GERMANS]


async def test_an_experiment_is_read_and_ended_at_the_better_variant(
    open_console: OpenConsole, services: Services, account: Account
) -> None:
    split = make_split(blue=1, red=1)
    link = await create_link(services, account.id, rules=[GERMANS], split=split)
    config = await create_event_config(services, account.id)
    records: list[Any] = []
    for variant, conversions in zip(split.variants, (2, 30), strict=True):
        for number in range(40):
            click = make_click(
                account.id,
                link_id=link.id.bytes,
                at=now_ms(),
                address=f"198.51.{conversions}.{number}",
                variant_id=variant.id.bytes,
            )
            records.append(click)
            if number < conversions:
                sale = make_conversion(
                    len(records), click.id, at=click.at, account_id=click.account_id
                )
                records.append(msgspec.structs.replace(sale, event_config_id=config.id.bytes))
    await applied(services, records)
    async with open_console(f"/console/links/{link.id}") as page:
        rows = page.get_by_role("table", name="Variants").locator("tbody tr")
        await expect(rows.first).to_contain_text("5% (1.4% to 16.5%)")
        await expect(rows.last).to_contain_text("75% (59.8% to 85.8%)")
        await expect(rows.last).to_contain_text("converts more")
        await expect(page.get_by_text("finds winners by chance")).to_be_visible()
        await assert_accessible(page)
        await page.get_by_role("button", name="End at red").click()
        await expect(page.get_by_role("heading", name="Experiment")).to_have_count(0)
        await expect(page.locator(".facts")).to_contain_text("https://red.example/")
    ended = await stored(services, link)
    assert (ended.split, ended.destination_url) == (None, "https://red.example/")


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

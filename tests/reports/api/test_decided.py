"""Reports by the rule and the variant that decided."""

from random import Random
from typing import Any

from tests.factories import create_link
from tests.reports.api.traffic import DAYS, click, event
from tests.reports.history import store
from tests.web.world import World
from tracker.ids import new_id
from tracker.links.rules.rule import DECIDES
from tracker.reports.joint_counts.scope import scope_of

RULE, OTHER, VARIANT = new_id(), new_id(), new_id()


async def decided(world: World) -> None:
    """Store four clicks and two conversions of a link that decides, and one without a click."""
    mongodb, account_id = world.services.stores.mongodb, world.account.id
    await mongodb["accounts"].update_one({"_id": account_id}, {"$set": {DECIDES: True}})
    await mongodb["choices"].insert_many(
        {"_id": one, "account_id": account_id, "name": name}
        for one, name in ((RULE, "iPhones"), (VARIANT, "Red"))
    )
    link = await create_link(world.services, account_id)
    clicks = [
        click(account_id, link.id, unique=True, **fields)
        for fields in ({}, {"rule_id": RULE}, {"rule_id": RULE, "variant_id": VARIANT})
    ]
    clicks.append(click(account_id, link.id, rule_id=OTHER, bot="crawler"))
    events = [event(1, clicks[1]), event(2, clicks[2]), event(3, {"account_id": account_id})]
    await store(world.services, Random(0), clicks, events)


async def rows(world: World, by: str, **fields: Any) -> dict[str, tuple[str, int, int]]:
    """Return the name, clicks and conversions of each key."""
    body = {"accountId": str(world.account.id), "dateRange": DAYS, "groupBy": by, **fields}
    answer = await world.api.post("/api/reports", **body)
    assert answer.status == 200, answer.body
    return {
        row["key"]: (row["name"], row["clicks"], row["conversions"])
        for row in answer.json()["rows"]
    }


async def test_rows_have_the_names_of_rules_and_variants(world: World) -> None:
    await decided(world)
    assert await rows(world, "rule", bots="include") == {
        str(RULE): ("iPhones", 2, 2),
        str(OTHER): (str(OTHER), 1, 0),
        "none": ("No rule", 1, 0),
        "unknown": ("No click", 0, 1),
    }
    assert await rows(world, "variant", filters={"rule": [str(RULE).upper(), "unknown"]}) == {
        str(VARIANT): ("Red", 1, 1),
        "none": ("No variant", 1, 1),
        "unknown": ("No click", 0, 1),
    }
    assert await rows(world, "rule", search="phone") == {str(RULE): ("iPhones", 2, 2)}
    assert await rows(world, "country", filters={"variant": str(VARIANT)}) == {
        "DE": ("Germany", 1, 1)
    }


async def test_an_overview_names_the_values_of_its_filters(world: World) -> None:
    await decided(world)
    answer = await world.api.post(
        "/api/reports/overview",
        accountId=str(world.account.id),
        dateRange=DAYS,
        filters={"rule": [str(RULE), "none", "unknown"], "variant": ["none"]},
        panels=[{"groupBy": "variant"}],
    )
    assert answer.json()["filterNames"] == {
        "rule": {str(RULE): "iPhones", "none": "No rule", "unknown": "No click"},
        "variant": {"none": "No variant"},
    }


async def test_a_filter_by_rule_is_an_id(world: World) -> None:
    answer = await world.api.post(
        "/api/reports",
        accountId=str(world.account.id),
        dateRange=DAYS,
        groupBy="rule",
        filters={"rule": "iPhones"},
    )
    assert (answer.status, "rule: must be a UUID" in answer.error) == (400, True), answer.error


async def test_only_accounts_whose_links_have_decided_have_the_columns(world: World) -> None:
    reads = world.services.stores.mongodb.reads
    assert (await scope_of(reads, world.account.id)).extra == ()
    await decided(world)
    assert (await scope_of(reads, world.account.id)).extra == ("rule", "variant")
    assert (await scope_of(reads, world.other_account.id)).extra == ()

"""The cost of clicks: what the drain stores of it, and what rollups and joint counts add up."""

from typing import Any

import pytest

from tests.conversions import scene
from tests.factories import make_click
from tests.ingest import ledger
from tracker.ids import new_id
from tracker.reports.repair.recount import Recount
from tracker.service.services import Services

pytestmark = pytest.mark.redis


async def stored(services: Services) -> list[dict[str, Any]]:
    rows = services.stores.mongodb["clicks"].find({}, {"cost": 1, "cost_unknown": 1, "query": 1})
    found = [{**row, "cost": str(row.get("cost"))} async for row in rows]
    return sorted(found, key=lambda row: str(row["query"]))


async def test_the_drain_reads_the_parameter_that_the_account_has_chosen(
    services: Services,
) -> None:
    accounts = services.accounts.accounts
    named, without = [await accounts.create(name) for name in ("Named", "Without")]
    await accounts.set_cost_parameter(named.id, "bid")
    await accounts.set_cost_parameter(without.id, None)
    clicks = [
        make_click(account_id, query=f"cost={number}&bid={{bid}}")
        for number, account_id in enumerate((new_id(), named.id, without.id))
    ]
    await scene.applied(services, clicks)
    found = [(row["cost"], row.get("cost_unknown")) for row in await stored(services)]
    assert found == [("0", None), ("None", True), ("None", None)]


async def test_rollups_add_up_costs_of_people_and_bots_and_count_unknown_ones(
    services: Services,
) -> None:
    account, link = new_id(), new_id().bytes
    given: dict[str, Any] = {"account_id": account, "link_id": link}
    clicks = [
        make_click(**given, query="cost=0.0525"),
        make_click(**given, cost="0.25"),
        make_click(**given, cost="1", user_agent="curl/8.0"),
        make_click(**given, query="cost={bid}", domain_name="other.example"),
        make_click(**given, query="cost=7", test=True),
        make_click(**given),
    ]
    await scene.applied(services, clicks)
    await ledger.check(services)
    assert await ledger.totals(services) == {
        "clicks": 4,
        "unique": 1,
        "bots": 1,
        "costed": 3,
        "cost": 1_302_500_000,
        "cost_unknown": 1,
        "bot_costed": 1,
        "bot_cost": 1_000_000_000,
        "further": 4,
    }


async def test_a_click_without_a_cost_adds_the_cells_that_it_ever_did(services: Services) -> None:
    await scene.applied(services, [make_click(query="a=1&costs=7")])
    assert await ledger.totals(services) == {"clicks": 1, "unique": 1}


async def test_a_wrong_cost_in_a_rollup_is_found_and_corrected(services: Services) -> None:
    account = (await services.accounts.accounts.create("Acme")).id
    await scene.applied(services, [make_click(account, cost="0.25"), make_click(account)])
    await services.stores.mongodb["rollups"].update_one(
        {"_id.of": "account"}, {"$inc": {"total.cost": 1, "total.costed": 1}}
    )
    [day] = await Recount(services.stores.mongodb).days(account, "2025-01-01", "2026-12-31")
    assert await Recount(services.stores.mongodb).correct(account, day) == 2
    await ledger.check(services)
    assert (await ledger.totals(services))["cost"] == 250_000_000

"""The cost of clicks: what the drain stores of it, and what rollups and joint counts add up."""

from typing import Any

import pytest

from tests.conversions import scene
from tests.factories import make_click
from tracker.ids import new_id
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

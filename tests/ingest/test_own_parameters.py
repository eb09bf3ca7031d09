"""The sender's own parameters: what the drain stores with clicks, and copies to conversions."""

from typing import Any

import pytest

from tests.conversions import scene
from tests.factories import make_click, make_conversion
from tracker.ids import new_id
from tracker.ingest.record import Record
from tracker.service.services import Services

pytestmark = pytest.mark.redis

QUERY = "sub1=a&cost=0.25&zone=7"


async def stored(services: Services, of: str) -> list[dict[str, Any]]:
    rows = [row async for row in services.stores.mongodb[of].find().sort("at", 1)]
    return [
        {name: one for name, one in row.items() if name.startswith("parameter_")} for row in rows
    ]


async def test_the_drain_stores_the_parameters_that_the_account_has_named(
    services: Services,
) -> None:
    accounts = services.accounts.accounts
    named, without = [await accounts.create(name) for name in ("Named", "Without")]
    await accounts.set_parameters(named.id, ["other", "zone"])
    await accounts.set_parameters(named.id, ["zone", "sub1"])
    owners = (new_id(), named.id, without.id)
    clicks = [make_click(owner, query=QUERY, at=number) for number, owner in enumerate(owners)]
    await scene.applied(services, clicks)
    assert await stored(services, "clicks") == [
        {},
        {"parameter_1": "zone=7", "parameter_2": "sub1=a"},
        {},
    ]
    costs = [row["cost"] async for row in services.stores.mongodb["clicks"].find()]
    assert list(map(str, costs)) == ["0.25"] * 3


async def test_conversions_take_the_parameters_of_their_click_whichever_is_stored_first(
    services: Services,
) -> None:
    account = await services.accounts.accounts.create("Named")
    await services.accounts.accounts.set_parameters(account.id, ["sub1", "zone"])
    click = make_click(account.id, query=QUERY)
    early, together, late, without = [
        make_conversion(number, click.id if number < 4 else None, account_id=account.id.bytes)
        for number in range(1, 5)
    ]
    batches: list[list[Record]] = [[early, without], [click, together], [late]]
    for batch in batches:
        await scene.applied(services, batch)
    values = {"parameter_0": "sub1=a", "parameter_1": "zone=7"}
    found = await scene.stored_events(services)
    assert [
        {name: one for name, one in row.items() if name.startswith("parameter_")} for row in found
    ] == [values, values, values, {}]

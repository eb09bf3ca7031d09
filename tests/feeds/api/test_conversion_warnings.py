"""Warnings of `/api/event` are kept with their conversion, listed, and counted."""

from typing import Any

from tests.conversions.api.reporting import by_json, by_query, drained
from tests.conversions.scene import stored_events
from tests.factories import create_event_config
from tests.web.world import World
from tracker.conversions.postbacks.aliases import AliasedParameter

TOLD = "clickid: ignored; did you mean click_id?"


async def counted(world: World) -> list[dict[str, Any]]:
    response = await world.api.get(f"/api/conversions/warnings?accountId={world.account.id}")
    assert response.status == 200, response.body
    rows: list[dict[str, Any]] = response.json()["rows"]
    return [row | {"last_at": "", "event_config": row["event_config"]["name"]} for row in rows]


async def test_a_warning_is_kept_counted_and_forgotten_once_its_parameter_is_named(
    world: World,
) -> None:
    services, account = world.services, world.account
    config = await create_event_config(services, account.id, name="Purchase")
    foreign = await create_event_config(services, world.other_account.id)
    for pbk, others in (
        (config.pbk, {"clickid": "x", "amount": "5"}),
        (config.pbk, {"clickid": "x"}),
        (config.pbk, {"gclid": "x", "fbclid": "x", "msclkid": "x", "utm_source": "x"}),
        (foreign.pbk, {"clickid": "x"}),
    ):
        await by_query(world.client, {"pbk": pbk, **others})
    await drained(services)
    stored = await stored_events(services)
    amount = "amount: ignored; did you mean value?"
    assert [one.get("warnings") for one in stored] == [[TOLD, amount], [TOLD], None, [TOLD]]
    listed = await world.api.get(f"/api/conversions?accountId={account.id}")
    assert [row["warnings"] for row in listed.json()["rows"]] == [[], [TOLD], [TOLD, amount]]
    shown = await world.api.get(f"/api/conversions/{stored[0]['_id']}")
    assert shown.json()["warnings"] == [TOLD, amount]
    row = {"event_config": "Purchase", "last_at": ""}
    assert await counted(world) == [
        {"warning": TOLD, "conversions": 2, **row},
        {"warning": amount, "conversions": 1, **row},
    ]
    await services.conversions.event_configs.change(
        config.id, {"parameter_aliases": {"clickid": AliasedParameter.CLICK_ID}}
    )
    assert [one["warning"] for one in await counted(world)] == [amount]


async def test_a_repeated_transaction_id_is_counted_on_its_first_conversion(world: World) -> None:
    config = await create_event_config(world.services, world.account.id)
    sent = {"pbk": config.pbk, "transaction_id": "T-1"}
    for send in (by_json, by_query, by_query):
        await send(world.client, sent)
    await drained(world.services)
    await world.services.conversions.repeats.store()
    [row] = (await world.api.get(f"/api/conversions?accountId={world.account.id}")).json()["rows"]
    repeated = "sent again; counted once"
    assert (row["repeats"], row["warnings"]) == (2, [repeated])
    assert row["last_repeat_at"] >= row["at"]
    assert [one["warning"] for one in await counted(world)] == [repeated]

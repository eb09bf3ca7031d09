"""Event configurations over HTTP: every rule, exact money, when a postback key stops working."""

import asyncio
import re
from decimal import Decimal
from typing import Any
from uuid import UUID

import pytest
from bson import Decimal128

from tests.conversions import scene
from tests.factories import create_event_config
from tests.waiting import PATIENCE_SECONDS, becomes
from tests.web.records import journaled_events
from tests.web.world import World
from tracker.clock import iso, now
from tracker.service.background import SERVING, running

PATH = "/api/event-configs"
FIELDS = ["id", "account_id", "name", "pbk", "payout_type", "payout", "active"]
FIELDS += ["parameter_aliases", "statuses", "unknown_status", "on_repeat", "window_days"]
FIELDS += ["min_seconds", "currency", "created_at"]


async def test_a_new_config_is_returned_and_accepts_conversions_at_once(world: World) -> None:
    before = now()
    response = await world.api.post(
        PATH, accountId=str(world.account.id), name=" Sale ", payout_type="CPA", payout=2.5
    )
    assert response.status == 200
    config = response.json()
    assert list(config) == FIELDS
    assert config["id"] == str(UUID(config["id"]))
    assert (config["account_id"], config["name"]) == (str(world.account.id), "Sale")
    assert (config["payout_type"], config["payout"], config["active"]) == ("CPA", 2.5, True)
    assert re.fullmatch(r"[A-Za-z0-9_-]{22}", config["pbk"])
    assert iso(before) <= config["created_at"] <= iso(now())
    assert (await world.client.get(f"/api/event?pbk={config['pbk']}")).status == 200
    [event] = await journaled_events(world.services)
    assert (event.event_config_id, event.payout) == (UUID(config["id"]).bytes, "2.5")


@pytest.mark.parametrize("payout_type", ["RevShare", "CPA", "CPL", "CPS", "CPI"])
async def test_every_payout_type_is_accepted_and_only_revshare_needs_a_value(
    world: World, payout_type: str
) -> None:
    fields = {"account_id": str(world.account.id), "name": "Sale", "payout_type": payout_type}
    config = (await world.api.post(PATH, **fields)).json()
    assert (config["payout_type"], config["payout"]) == (payout_type, 0)
    event = await world.client.get(f"/api/event?pbk={config['pbk']}")
    assert event.status == (400 if payout_type == "RevShare" else 200)


@pytest.mark.parametrize("sent", ["revshare", "REVSHARE", "revShare"])
async def test_a_payout_type_may_be_in_any_case(world: World, sent: str) -> None:
    fields = {"accountId": str(world.account.id), "name": "Sale", "payout_type": sent}
    assert (await world.api.post(PATH, **fields)).json()["payout_type"] == "RevShare"
    config = await create_event_config(world.services, world.account.id)
    changed = await world.api.patch(f"{PATH}/{config.id}", payout_type=sent)
    assert changed.json()["payout_type"] == "RevShare"


@pytest.mark.parametrize(
    ("sent", "answered"),
    [
        ("-0.0", "0.0"),
        ("12.50", "12.50"),
        ("1e-6", "0.000001"),
        ("999999999.999999", "999999999.999999"),
    ],
)
async def test_money_is_stored_and_returned_exactly(world: World, sent: str, answered: str) -> None:
    body = f'{{"accountId":"{world.account.id}","name":"x","payout_type":"CPA","payout":{sent}}}'
    created = await world.api.send("POST", PATH, body.encode())
    assert f'"payout":{answered},'.encode() in created.body
    target = f"{PATH}/{created.json()['id']}"
    changed = await world.api.send("PATCH", target, f'{{"payout":{sent}}}'.encode())
    listed = await world.api.get(f"{PATH}?accountId={world.account.id}")
    assert all(f'"payout":{answered},'.encode() in one.body for one in (changed, listed))
    row: Any = await world.services.stores.mongodb["event_configs"].find_one({})
    assert row["payout"] == Decimal128(answered)


BROKEN: list[tuple[dict[str, Any], str]] = [
    ({"name": None}, "name: must be text"),
    ({"name": " "}, "name: 1 to 255 characters"),
    ({"name": "a" * 256}, "name: 1 to 255 characters"),
    ({"name": "a\nb"}, "name: 1 to 255 characters"),
    ({"payout_type": "rev share"}, "payout_type: must be CPA or CPI or CPL or CPS or RevShare"),
    ({"payout_type": ""}, "payout_type: must be CPA or CPI or CPL or CPS or RevShare"),
    ({"payout_type": None}, "payout_type: "),
    ({"payout_type": 1}, "payout_type: "),
    ({"payout": "1"}, "payout: must be a number"),
    ({"payout": -0.01}, "payout: must be from 0 to 1000000000"),
    ({"payuot": 1}, "payuot: unknown field"),
    ({"pbk": "mine"}, "pbk: unknown field"),
]


@pytest.mark.parametrize(("fields", "error"), BROKEN, ids=lambda value: str(value)[:40])
async def test_a_broken_rule_is_named_with_its_field(
    world: World, fields: dict[str, Any], error: str
) -> None:
    config = await create_event_config(world.services, world.account.id)
    good = {"accountId": str(world.account.id), "name": "x", "payout_type": "CPA", "payout": 1}
    for response in (
        await world.api.post(PATH, **{**good, **fields}),
        await world.api.patch(f"{PATH}/{config.id}", **fields),
    ):
        assert response.status == 400
        assert response.error.startswith(error)
    assert await world.services.conversions.event_configs.list(world.account.id) == [config]


@pytest.mark.parametrize("missing", ["accountId", "name", "payout_type"])
async def test_a_required_field_that_is_missing_is_named(world: World, missing: str) -> None:
    fields = {"accountId": str(world.account.id), "name": "x", "payout_type": "CPA"}
    del fields[missing]
    response = await world.api.post(PATH, **fields)
    assert (response.status, response.error) == (400, f"{missing}: required")


async def test_configs_are_listed_newest_first_by_page_without_archived_ones(world: World) -> None:
    made = [str((await create_event_config(world.services, world.account.id)).id) for _ in range(4)]
    await create_event_config(world.services, world.other_account.id)
    await world.api.delete(f"{PATH}/{made.pop(1)}")
    query = f"{PATH}?accountId={world.account.id}&pageSize=2"
    first, second, third = [(await world.api.get(f"{query}&page={n}")).json() for n in (1, 2, 3)]
    assert [row["id"] for row in first["rows"] + second["rows"]] == made[::-1]
    assert [list(row) for row in first["rows"]] == [FIELDS, FIELDS]
    assert third["rows"] == []
    assert second["pagination"] == {"page": 2, "pageSize": 2, "totalRows": 3, "totalPages": 2}


async def test_each_field_changes_alone_and_the_key_stays(world: World) -> None:
    config = await create_event_config(world.services, world.account.id)
    shown = (await world.api.get(f"{PATH}?accountId={world.account.id}")).json()["rows"][0]
    for name, value in (
        ("name", "Lead"),
        ("payout_type", "RevShare"),
        ("payout", 7.25),
        ("active", False),
        ("parameter_aliases", {"cid": "click_id", "s.1": "click_id", "payout": "value"}),
        ("parameter_aliases", {}),
    ):
        response = await world.api.patch(f"{PATH}/{config.id}", **{name: value})
        shown[name] = value
        assert (response.status, response.json()) == (200, shown)
    assert (await world.api.patch(f"{PATH}/{config.id}")).json() == shown
    assert (await world.api.get(f"{PATH}?accountId={world.account.id}")).json()["rows"] == [shown]


async def test_a_change_applies_to_the_next_conversion_and_not_to_the_last(world: World) -> None:
    config = await create_event_config(world.services, world.account.id)
    await world.client.get(f"/api/event?pbk={config.pbk}&value=50")
    await world.api.patch(f"{PATH}/{config.id}", payout_type="RevShare", payout=10)
    await world.client.get(f"/api/event?pbk={config.pbk}&value=50")
    events = await journaled_events(world.services)
    assert [Decimal(event.payout or "") for event in events] == [Decimal("2.5"), 5]


async def test_a_key_works_again_once_its_config_is_active_again(world: World) -> None:
    config = await create_event_config(world.services, world.account.id)
    statuses = []
    for active in (True, False, True):
        await world.api.patch(f"{PATH}/{config.id}", active=active)
        statuses.append((await world.client.get(f"/api/event?pbk={config.pbk}")).status)
    assert statuses == [200, 404, 200]


async def test_a_deleted_config_is_unknown_to_senders_and_owners_but_stays_in_history(
    world: World,
) -> None:
    config = await create_event_config(world.services, world.account.id)
    assert (await world.client.get(f"/api/event?pbk={config.pbk}")).status == 200
    response = await world.api.delete(f"{PATH}/{config.id}")
    assert (response.status, response.json()) == (200, {"success": True})
    event = await world.client.get(f"/api/event?pbk={config.pbk}")
    assert event.status == 404
    assert event.error.startswith("pbk: ")
    for gone in (
        await world.api.delete(f"{PATH}/{config.id}"),
        await world.api.patch(f"{PATH}/{config.id}", active=True),
    ):
        assert (gone.status, gone.error) == (404, "event config: not found")
    await scene.drained(world.services)
    [stored] = await scene.stored_events(world.services)
    kept = await world.services.conversions.event_configs.find(stored["event_config_id"])
    assert kept is not None
    assert (kept.id, kept.archived, kept.name) == (config.id, True, config.name)


@pytest.mark.parametrize("method", ["PATCH", "DELETE"])
@pytest.mark.usefixtures("long_memory")
async def test_every_process_stops_accepting_conversions(world: World, method: str) -> None:
    config = await create_event_config(world.services, world.account.id)
    async with (
        scene.process(world.services.settings) as other,
        running(SERVING, other, other.loops),
    ):
        await asyncio.wait_for(other.changes.subscribed.wait(), PATIENCE_SECONDS)
        assert await other.conversions.event_configs.by_postback_key(config.pbk) == config
        await world.api.send(method, f"{PATH}/{config.id}", b'{"active":false}')
        await becomes(lambda: other.conversions.event_configs.by_postback_key(config.pbk), None)

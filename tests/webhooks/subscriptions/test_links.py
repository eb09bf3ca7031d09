"""Webhooks are told of new and changed links, each revision once and in order."""

import json
from typing import Any
from uuid import UUID

import pytest

from tests.factories import create_link, create_webhook, make_new_link
from tests.web.world import World
from tests.webhooks.receiver import answer
from tests.webhooks.sending.scene import Clock, listening, sending, stored
from tracker.errors import BadRequest
from tracker.ids import new_id
from tracker.service.services import Services
from tracker.webhooks.filters import Filter

BOTH = ["link.created", "link.changed"]


async def ask(services: Services, webhook_id: UUID, *events: str, **fields: Any) -> None:
    await services.webhooks.webhooks.change(webhook_id, {"events": list(events), **fields})


async def test_a_link_is_told_when_it_is_created_and_at_each_change(world: World) -> None:
    services, account_id = world.services, world.account.id
    asked = [await create_webhook(services, account_id) for _ in range(3)]
    for webhook, events in zip(asked, (BOTH, BOTH[1:], ["conversion"]), strict=True):
        await ask(services, webhook.id, *events)
    await create_link(services, new_id())
    sent = {"accountId": str(account_id), "destination_url": "https://a.example/"}
    link = (await world.api.post("/api/short-links", **sent, internal_name="One")).json()
    path = f"/api/short-links/{link['id']}"
    await world.api.patch(path, internal_name="Two", active=False)
    await world.api.patch(path, internal_name="Two")
    rows = sorted(await stored(services), key=lambda row: (row["kind"], row["created_at"]))
    assert [
        (row["kind"], row["webhook_id"]) for row in rows if row["webhook_id"] == asked[0].id
    ] == [
        ("link.changed", asked[0].id),
        ("link.created", asked[0].id),
    ]
    assert [row["kind"] for row in rows if row["webhook_id"] == asked[1].id] == ["link.changed"]
    assert len(rows) == 3
    told = json.loads(rows[0]["payload"])
    shown = {name: told["data"][name] for name in ("id", "internal_name", "active", "changed")}
    changed = ["active", "internal_name"]
    assert shown == {"id": link["id"], "internal_name": "Two", "active": False, "changed": changed}
    assert (told["type"], told["data"]["domain_name"]) == ("link.changed", "tracker.test")


async def test_a_change_that_is_not_stored_is_not_told(services: Services) -> None:
    account_id = new_id()
    await ask(services, (await create_webhook(services, account_id)).id, *BOTH)
    await create_link(services, account_id, slug="taken")
    new = [make_new_link(account_id), make_new_link(account_id, slug="taken")]
    with pytest.raises(BadRequest):
        await services.links.links.create_all(new)
    assert len(await stored(services)) == 1


async def test_changes_of_a_link_arrive_in_order_while_other_links_do_not_wait(
    services: Services,
) -> None:
    account_id, clock = new_id(), Clock()
    async with (
        listening(services, account_id) as (receiver, webhook),
        sending(services, clock) as sender,
    ):
        await ask(services, webhook.id, *BOTH)
        first = await create_link(services, account_id, internal_name="1")
        receiver.behaviour = answer(500)
        await sender.burst()
        receiver.behaviour = answer()
        await services.links.links.change(first.id, {"internal_name": "2"})
        await create_link(services, account_id, slug="other", internal_name="other")
        await sender.burst()
        clock.pass_seconds(10)
        await sender.burst()
    names = [json.loads(one.body)["data"]["internal_name"] for one in receiver.received]
    assert names == ["1", "other", "1", "2"]


async def test_filters_of_tags_and_links_hold_for_links(services: Services) -> None:
    account_id, tag = new_id(), new_id()
    told = await create_webhook(services, account_id)
    await ask(services, told.id, *BOTH)
    link = await create_link(services, account_id, tags=[tag])
    cases: tuple[tuple[dict[str, Any], int], ...] = (
        ({"tags": (tag,)}, 1),
        ({"links": (link.id,)}, 1),
        ({"links": (tag,)}, 0),
    )
    for filters, number in cases:
        await services.stores.mongodb["deliveries"].delete_many({})
        await ask(services, told.id, *BOTH, filter=Filter(**filters))
        await services.links.links.change(link.id, {"internal_name": str(new_id())})
        await create_link(services, account_id, slug=str(new_id()))
        assert len(await stored(services)) == number


async def test_links_beyond_the_bound_are_counted_as_skipped(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tracker.webhooks.subscriptions.bound.MAX_WAITING", 2)
    services, account_id = world.services, world.account.id
    webhook = await create_webhook(services, account_id)
    await ask(services, webhook.id, "link.created")
    await services.links.links.create_all([make_new_link(account_id) for _ in range(3)])
    await create_link(services, account_id, slug="another")
    assert len(await stored(services)) == 2
    log = await world.api.get(f"/api/webhooks/{webhook.id}/deliveries")
    assert log.json()["webhook"]["skipped"] == 2

"""Webhooks are told of clicks, each once: many in a request, and no more than their bound."""

import asyncio
import json
from typing import Any
from uuid import UUID

import pytest

from tests.conversions import scene
from tests.factories import create_link, create_webhook, make_click
from tests.ingest import ledger
from tests.web.world import World
from tests.webhooks.receiver import answer
from tests.webhooks.sending.scene import Clock, listening, sending, stored
from tracker.clicks.click import Click
from tracker.clock import moment
from tracker.ids import new_id
from tracker.ingest.drain_number import DrainNumber
from tracker.service.services import Services
from tracker.webhooks.filters import Filter
from tracker.webhooks.payloads.template import DEFAULT_OF_CLICKS
from tracker.webhooks.subscriptions import clicks as subscriptions

CLICKS = ("click.recorded",)
LINK, TAG, OTHER = new_id(), new_id(), new_id()
LONG_AGO = moment(0)


async def ask(services: Services, webhook_id: UUID, **fields: Any) -> None:
    await services.webhooks.webhooks.change(webhook_id, {"events": list(CLICKS), **fields})


def clicks_of(account_id: UUID, number: int, **fields: Any) -> list[Click]:
    return [make_click(account_id, **fields) for _ in range(number)]


def ids_of(clicks: list[Click]) -> set[UUID]:
    return {UUID(bytes=one.id) for one in clicks}


@pytest.mark.parametrize(
    ("filters", "click", "is_told"),
    [
        ({}, {}, True),
        ({}, {"bot": "crawler"}, False),
        ({"bots": True}, {"bot": "crawler"}, True),
        ({}, {"test": True}, False),
        ({"links": (LINK, OTHER)}, {}, True),
        ({"links": (OTHER,)}, {}, False),
        ({"tags": (TAG, OTHER)}, {}, True),
        ({"tags": (OTHER,)}, {}, False),
        ({"links": (LINK,), "tags": (OTHER,)}, {}, False),
        ({"statuses": ("rejected",), "min_value": 5}, {}, True),
    ],
)
def test_a_filter_decides_by_what_a_click_has(
    filters: dict[str, Any], click: dict[str, Any], is_told: bool
) -> None:
    row: Any = {"_id": new_id().bytes, "link_id": LINK.bytes, "at": LONG_AGO, "bot": None, **click}
    assert Filter(**filters).of_clicks(LONG_AGO, {LINK.bytes: [TAG.bytes]})(row) is is_told


def test_a_sample_is_a_share_of_the_clicks_and_a_larger_one_has_all_of_a_smaller() -> None:
    rows: list[Any] = [
        {"_id": new_id().bytes, "link_id": LINK.bytes, "at": LONG_AGO, "bot": None}
        for _ in range(4000)
    ]
    tenth, half = (
        {row["_id"] for row in rows if Filter(sample=share).of_clicks(LONG_AGO, {})(row)}
        for share in (0.1, 0.5)
    )
    assert tenth < half
    assert (200 < len(tenth) < 600, 1700 < len(half) < 2300) == (True, True)


async def test_two_drains_under_repeated_batches_tell_of_each_click_once(
    services: Services,
) -> None:
    account_id = new_id()
    webhook = await create_webhook(services, account_id)
    await ask(services, webhook.id)
    clicks = clicks_of(account_id, 1200)
    stores = services.stores
    drains = [services.ingest.drain(DrainNumber(stores.redis, stores.mongodb)) for _ in range(2)]
    batches = [clicks[:1100], clicks[300:1200], clicks[:10], clicks]
    for pair in (batches[:2], batches[2:], batches[1:3]):
        await asyncio.gather(
            *(drain.apply(batch) for drain, batch in zip(drains, pair, strict=True))
        )
    told = await ledger.told_clicks(services)
    assert len(told) == 1200
    assert set(told) == {(webhook.id, one) for one in ids_of(clicks)}
    assert max(row["clicks"] for row in await stored(services)) == 500


async def test_clicks_that_are_older_than_the_webhook_and_those_of_others_are_not_told(
    services: Services,
) -> None:
    account_id = new_id()
    webhook = await create_webhook(services, account_id)
    await ask(services, webhook.id)
    await scene.applied(services, [*clicks_of(new_id(), 2), *clicks_of(account_id, 1, at=1)])
    assert await stored(services) == []


async def test_a_receiver_gets_clicks_by_the_template_again_after_a_failure(
    services: Services,
) -> None:
    account_id, clock = new_id(), Clock()
    link = await create_link(services, account_id, slug="spring")
    async with (
        listening(services, account_id) as (receiver, webhook),
        sending(services, clock) as sender,
    ):
        template = {"id": "{click_id}", "slug": "{slug}", "a": "{query.a}", "event": "{event_id}"}
        await ask(services, webhook.id, payload_template=template)
        clicks = clicks_of(account_id, 3, link_id=link.id.bytes)
        await scene.applied(services, clicks)
        receiver.behaviour = answer(500)
        await sender.burst()
        receiver.behaviour = answer()
        clock.pass_seconds(10)
        await sender.burst()
    first, second = (json.loads(one.body) for one in receiver.received)
    assert first == second
    assert second["skipped"] == 0
    of_all = {"slug": "spring", "a": "1", "event": None}
    assert second["clicks"] == [{"id": str(UUID(bytes=one.id)), **of_all} for one in clicks]
    [row] = await stored(services)
    assert (row["status"], row["clicks"], "payload" in row) == ("delivered", 3, False)


async def test_clicks_that_do_not_fit_a_request_are_told_of_as_skipped(
    services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tracker.webhooks.payloads.content.MAX_CLICKS_BYTES", 100)
    account_id = new_id()
    async with listening(services, account_id) as (receiver, webhook), sending(services) as sender:
        await ask(services, webhook.id, payload_template={"id": "{click_id}"})
        await scene.applied(services, clicks_of(account_id, 5))
        await sender.burst()
    told = json.loads(receiver.received[0].body)
    assert (len(told["clicks"]), told["skipped"]) == (2, 3)


async def test_a_transaction_tells_of_so_many_clicks_of_an_account_shared_by_its_webhooks(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(subscriptions, "MAX_CLICKS", 2)
    monkeypatch.setattr(subscriptions, "MAX_CLICKS_TOLD", 6)
    services, account_id = world.services, world.account.id
    webhooks = [await create_webhook(services, account_id) for _ in range(2)]
    for one in webhooks:
        await ask(services, one.id)
    await scene.applied(services, clicks_of(account_id, 5))
    rows = await stored(services)
    assert sorted((row["clicks"], row["skipped"]) for row in rows) == [
        (1, 0),
        (1, 0),
        (2, 2),
        (2, 2),
    ]
    for one in webhooks:
        log = await world.api.get(f"/api/webhooks/{one.id}/deliveries")
        assert log.json()["webhook"]["skipped"] == 2


async def test_what_waits_for_a_webhook_is_bounded_and_the_rest_is_counted_as_skipped(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tracker.webhooks.subscriptions.bound.MAX_WAITING", 2)
    services, account_id = world.services, world.account.id
    webhook = await create_webhook(services, account_id)
    await ask(services, webhook.id)
    drain = scene.drain_of(services)

    async def apply(number: int) -> None:
        drain._writer._click_webhooks._known_until = 0.0
        await drain.apply(clicks_of(account_id, number))

    for _ in range(4):
        await apply(3)
    log = f"/api/webhooks/{webhook.id}/deliveries"
    assert (await world.api.get(log)).json()["webhook"]["skipped"] == 6
    assert [row["clicks"] for row in await stored(services)] == [3, 3]
    done = {"$set": {"status": "delivered"}, "$unset": {"due_at": ""}}
    await services.stores.mongodb["deliveries"].update_many({}, done)
    await apply(1)
    assert sorted(row["clicks"] for row in await stored(services)) == [1, 3, 3]
    await services.webhooks.webhooks.delete(webhook.id)
    assert await services.stores.mongodb["webhook_skips"].find_one() is None


async def test_a_new_webhook_of_clicks_alone_has_a_template_of_what_clicks_have(
    world: World,
) -> None:
    sent = {"account_id": str(world.account.id), "target_url": "https://8.8.8.8/hook"}
    made = (await world.api.post("/api/webhooks", **sent, events=CLICKS)).json()
    assert made["payload_template"] == DEFAULT_OF_CLICKS
    for refused in ({"method": "GET"}, {"preset": "slack"}):
        template = {"payload_template": {"text": "x"}}
        answers = [
            await world.api.post("/api/webhooks", **sent, **template, **refused, events=CLICKS),
            await world.api.patch(f"/api/webhooks/{made['id']}", **template, **refused),
        ]
        for one in answers:
            assert one.status == 400
            assert one.error == "events: click.recorded takes neither a preset nor GET"

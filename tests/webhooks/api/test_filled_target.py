"""Deliveries go to the target as it is filled for their event, and are shown with it."""

from typing import Any
from uuid import UUID

import pytest

from tests.conversions import scene
from tests.factories import create_event_config, make_click, make_conversion
from tests.web.keyed_client import KeyedClient
from tests.web.world import World
from tests.webhooks.receiver import Receiver, answer, receiving
from tests.webhooks.sending.scene import Clock, listening, sending, the_one, webhook_now
from tracker.accounts.accounts import Account
from tracker.service.services import Services
from tracker.webhooks.store import Webhook

EVENT_ID = 8 * 10**12
HARD = "a/../b?c=d&e#f\r\n ü{value}"


async def point_to(services: Services, webhook: Webhook, target_url: str, **fields: Any) -> None:
    await services.webhooks.webhooks.change(webhook.id, {"target_url": target_url, **fields})


async def convert(services: Services, account_id: UUID, **fields: Any) -> None:
    click = make_click(account_id, query="gclid=g%2B1")
    event = make_conversion(
        EVENT_ID, click.id, account_id=account_id.bytes, value="12.50", **fields
    )
    await scene.applied(services, [click, event])


@pytest.mark.parametrize("method", ["POST", "GET"])
async def test_the_macros_of_a_target_are_filled_for_each_delivery(
    services: Services, account: Account, method: str
) -> None:
    async with listening(services, account.id) as (receiver, webhook), sending(services) as one:
        target = (
            f"{receiver.url}/pb/{{event_id}}?g={{query.gclid}}&t={{transaction_id}}&c={{clickid}}"
        )
        await point_to(services, webhook, target, method=method, payload_template={"v": "{value}"})
        await convert(services, account.id, transaction_id=HARD, transaction_scope=account.id.bytes)
        await one.burst()
    [received] = receiver.received
    assert (received.error, received.path) == ("", f"/pb/{EVENT_ID}")
    query = "g=g%2B1&t=a%2F..%2Fb%3Fc%3Dd%26e%23f%0D%0A%20%C3%BC%7Bvalue%7D&c={clickid}"
    assert received.query == (f"{query}&v=12.50" if method == "GET" else query)
    assert (await the_one(services))["url"] == f"{receiver.url}/pb/{EVENT_ID}?{query}"


async def test_a_retry_sends_the_values_of_the_first_attempt_to_the_target_of_now(
    services: Services, account: Account
) -> None:
    clock = Clock()
    async with listening(services, account.id) as (receiver, webhook), receiving() as other:
        other.secret = webhook.secret
        async with sending(services, clock) as one:
            receiver.behaviour = answer(500)
            headers = {"X-Key": "old {query.gclid}"}
            await point_to(
                services, webhook, f"{receiver.url}/a?g={{query.gclid}}", headers=headers
            )
            await convert(services, account.id)
            await one.burst()
            await services.stores.mongodb["clicks"].delete_many({})
            await services.stores.mongodb["events"].delete_many({})
            corrected = {"headers": {"X-Key": "new {query.gclid}"}}
            target = f"{other.url}/b?h={{query.gclid|upper}}"
            await point_to(services, webhook, target, **corrected)
            clock.pass_seconds(10)
            await one.burst()
            failed = await the_one(services)
            await point_to(services, webhook, f"{other.url}/b?h={{query.gclid}}")
            await services.webhooks.deliveries.retry(failed["_id"], failed["created_at"])
            await one.burst()
    assert targets(receiver) == ["/a?g=g%2B1"]
    sent = [received.headers["x-key"] for received in (*receiver.received, *other.received)]
    assert sent == ["old g+1", "new g+1"]
    # A macro that the first attempt did not need is not known any more.
    assert failed["attempts"][1]["error"] == "payload: the event is no longer stored"
    assert targets(other) == ["/b?h=g%2B1"]
    assert (await the_one(services))["url"] == f"{other.url}/b?h=g%2B1"


def targets(receiver: Receiver) -> list[str]:
    return [f"{one.path}?{one.query}" for one in receiver.received]


async def test_messages_fill_a_target_with_nothing(services: Services, account: Account) -> None:
    async with listening(services, account.id) as (receiver, webhook), sending(services) as one:
        fields = {"events": ["delivery.failed"]}
        await point_to(services, webhook, f"{receiver.url}/x?c={{click_id}}&d=1", **fields)
        failing = await services.webhooks.webhooks.create(
            account.id, "F", f"{receiver.url}/pb/{{transaction_id}}", "POST", {}
        )
        long_ago = {"$set": {"created_at": webhook.created_at.replace(year=2020)}}
        await services.stores.mongodb["webhooks"].update_one({"_id": failing.id}, long_ago)
        await convert(services, account.id, transaction_id=".", transaction_scope=account.id.bytes)
        await one.burst()
    assert targets(receiver) == ["/x?c=&d=1"]


@pytest.mark.parametrize("macro", ["pbk", "pbk|lower", "pbk|upper"])
async def test_a_postback_key_in_the_filled_target_is_shown_only_to_whom_may_read_it(
    world: World, macro: str
) -> None:
    config = await create_event_config(world.services, world.account.id)
    async with (
        listening(world.services, world.account.id) as (receiver, webhook),
        sending(world.services) as one,
    ):
        await point_to(world.services, webhook, f"{receiver.url}/?k={{{macro}}}")
        await convert(world.services, world.account.id, event_config_id=config.id.bytes)
        await one.burst()
    _, weak = await world.services.access.api_keys.create(world.account.id, "weak", ["webhooks:*"])
    path = f"/api/webhooks/{webhook.id}/deliveries"
    [whole] = (await world.api.get(path)).json()["rows"]
    hidden = await KeyedClient(world.client, weak).get(path)
    [sent] = receiver.received
    assert whole["url"] == f"{receiver.url}/?{sent.query}"
    shown = hidden.json()["rows"][0]["url"]
    assert shown.casefold() == f"{receiver.url}/?k={config.pbk[:4]}…".casefold()
    assert config.pbk[5:].casefold() not in hidden.body.decode().casefold()


@pytest.mark.usefixtures("private_allowed")
async def test_a_sample_that_cannot_be_sent_is_refused_with_the_reason(world: World) -> None:
    async with listening(world.services, world.account.id) as (_, webhook):
        await world.services.webhooks.webhooks.change(
            webhook.id, {"payload_template": {"a": "{slug}" * 12_000}}
        )
        refused = await world.api.post(f"/api/webhooks/{webhook.id}/test")
    assert (refused.status, refused.error) == (
        400,
        "payload_template: with its macros filled longer than 65,536 bytes",
    )


async def test_an_older_target_with_an_unknown_macro_may_stay_while_other_fields_change(
    world: World,
) -> None:
    old = "https://8.8.8.8/pb?cid={clickid}"
    webhook = await world.services.webhooks.webhooks.create(
        world.account.id, "Old", old, "POST", {}
    )
    path = f"/api/webhooks/{webhook.id}"
    kept = await world.api.patch(path, name="Renamed", target_url=old)
    assert (kept.status, kept.json()["target_url"]) == (200, old)
    for refused in (
        await world.api.patch(path, target_url=f"{old}&v={{value}}"),
        await world.api.post("/api/webhooks", account_id=str(world.account.id), target_url=old),
    ):
        assert refused.status == 400
        assert refused.error.startswith(
            "target_url: unknown macro {clickid} (did you mean {click_id}?); known: {event_id} "
        )
    assert (await webhook_now(world.services, webhook)).name == "Renamed"

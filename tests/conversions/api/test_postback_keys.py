"""Whoever may not write event configurations sees no postback key whole, wherever it is."""

import pytest

from tests.conversions import scene
from tests.factories import create_event_config, make_conversion
from tests.web.client import Response
from tests.web.keyed_client import KeyedClient
from tests.web.world import World
from tests.webhooks.receiver import answer
from tests.webhooks.sending.scene import Clock, listening, sending
from tracker.access.roles import Role
from tracker.accounts.accounts import Account
from tracker.conversions.api.postback_keys import shorten_key, shortened
from tracker.conversions.event_config import EventConfig
from tracker.service.services import Services
from tracker.webhooks.delivery import DeliveryStatus
from tracker.webhooks.store import Webhook

EVENT_ID = 7 * 10**12
PBK = "mB2eZc0vQ8yT5sWkXn1uHg"


def pbk_in(listed: Response) -> str:
    assert listed.status == 200, listed.body
    [row] = listed.json()["rows"]
    return str(row["pbk"])


@pytest.mark.parametrize(
    ("role", "whole"), [(Role.VIEWER, False), (Role.EDITOR, True), (Role.OWNER, True)]
)
async def test_a_role_that_may_not_write_configurations_sees_the_beginning_of_the_key(
    world: World, role: Role, whole: bool
) -> None:
    config = await create_event_config(world.services, world.account.id)
    person = await world.person(role)
    listed = await person.send("GET", f"/api/event-configs?accountId={world.account.id}")
    assert pbk_in(listed) == (config.pbk if whole else f"{config.pbk[:4]}…")


@pytest.mark.parametrize(
    ("scopes", "whole"),
    [(["event_configs:read"], False), (["event_configs:*"], True), (None, True)],
)
async def test_a_key_that_may_not_write_configurations_sees_the_beginning_of_the_key(
    world: World, scopes: list[str] | None, whole: bool
) -> None:
    config = await create_event_config(world.services, world.account.id)
    _, secret = await world.services.access.api_keys.create(world.account.id, "k", scopes)
    api = KeyedClient(world.client, secret)
    shown = pbk_in(await api.get(f"/api/event-configs?accountId={world.account.id}"))
    assert shown == (config.pbk if whole else f"{config.pbk[:4]}…")
    recorded = await world.client.get(f"/api/event?{'pbk=' + shown.replace('…', '%E2%80%A6')}")
    assert recorded.status == (200 if whole else 404)


async def delivered(services: Services, account: Account) -> tuple[EventConfig, Webhook]:
    """Deliver a conversion with the template that has every macro; the receiver repeats the key."""
    config = await create_event_config(services, account.id)
    fields = {"account_id": account.id.bytes, "event_config_id": config.id.bytes}
    async with (
        listening(services, account.id) as (receiver, webhook),
        sending(services, Clock()) as one,
    ):
        receiver.behaviour = answer(200, f"thanks for {config.pbk}".encode())
        await scene.applied(services, [make_conversion(EVENT_ID, **fields, payout="2.5")])
        await one.burst()
    return config, webhook


@pytest.mark.parametrize(
    ("path", "scopes"),
    [
        ("/api/webhooks/{webhook}/deliveries", ["webhooks:*"]),
        (f"/api/conversions/{EVENT_ID}", ["conversions:read", "webhooks:*"]),
    ],
)
async def test_readers_of_deliveries_see_neither_what_was_sent_nor_what_was_repeated_whole(
    world: World, path: str, scopes: list[str]
) -> None:
    config, webhook = await delivered(world.services, world.account)
    path = path.format(webhook=webhook.id)
    _, weak = await world.services.access.api_keys.create(world.account.id, "reader", scopes)
    _, strong = await world.services.access.api_keys.create(
        world.account.id, "writer", [*scopes, "event_configs:write"]
    )
    shown = (await KeyedClient(world.client, weak).get(path)).body.decode()
    assert config.pbk[5:] not in shown
    assert f"thanks for {config.pbk[:4]}…" in shown
    assert f'\\"pbk\\":\\"{config.pbk[:4]}…\\"' in shown
    whole = (await KeyedClient(world.client, strong).get(path)).body.decode()
    assert whole.count(config.pbk) == 2


async def test_a_retried_delivery_is_shown_without_the_key(world: World) -> None:
    config, webhook = await delivered(world.services, world.account)
    [delivery], _ = await world.services.webhooks.deliveries.page(
        webhook.id, list(DeliveryStatus), 1, 1
    )
    _, secret = await world.services.access.api_keys.create(
        world.account.id, "k", ["webhooks:write"]
    )
    path = f"/api/webhooks/{webhook.id}/deliveries/{delivery.id}/retry"
    answered = await KeyedClient(world.client, secret).post(path)
    assert answered.status == 200, answered.body
    assert config.pbk[5:] not in answered.body.decode()


async def test_readers_see_no_payload_of_an_event_whose_key_is_not_known_any_more(
    world: World,
) -> None:
    config, webhook = await delivered(world.services, world.account)
    await world.services.stores.mongodb["events"].delete_many({})
    _, secret = await world.services.access.api_keys.create(
        world.account.id, "k", ["webhooks:read"]
    )
    response = await KeyedClient(world.client, secret).get(f"/api/webhooks/{webhook.id}/deliveries")
    [row] = response.json()["rows"]
    assert (row["payload"], [one["answer"] for one in row["attempts"]]) == (None, [""])
    assert config.pbk[:8] not in response.body.decode()


@pytest.mark.parametrize("characters", range(5, len(PBK) + 1))
def test_a_key_that_the_end_of_a_text_cuts_off_is_shortened_too(characters: int) -> None:
    assert shorten_key(f'{{"pbk":"{PBK[:characters]}', PBK) == f'{{"pbk":"{shortened(PBK)}'


def test_texts_without_the_key_stay_as_they_are() -> None:
    for text in ("", "…", PBK[:4], PBK[1:], f"{PBK[:6]} is not all"):
        assert shorten_key(text, PBK) == text

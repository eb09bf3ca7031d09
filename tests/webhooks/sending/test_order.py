"""Changes of one conversion arrive in their order, whatever becomes of each."""

import json
from collections import defaultdict
from collections.abc import Sequence
from datetime import timedelta
from random import Random
from typing import Any

import pytest

from tests.webhooks.receiver import Handler, Receiver, answer
from tests.webhooks.sending.scene import Clock, listening, sending, stored
from tests.webhooks.telling import ask, change, conversion, settle
from tracker.clock import moment, now
from tracker.ids import new_id
from tracker.service.services import Services
from tracker.webhooks.deliveries import LEASE
from tracker.webhooks.schedule import DELAYS_SECONDS

ACCOUNT = new_id()
pytestmark = pytest.mark.usefixtures("any_time")
BOTH = ("conversion", "conversion.updated")
STATUSES = ("pending", "approved", "rejected", "refunded")
TEMPLATE = {"id": "{event_id}", "status": "{status}", "was": "{previous_status}"}


async def told(services: Services, webhook_id: Any, statuses: Sequence[str] = STATUSES) -> int:
    """Settle a conversion and change it to each status; return its id."""
    await services.webhooks.webhooks.change(webhook_id, {"payload_template": TEMPLATE})
    await ask(services, webhook_id, *BOTH)
    one = conversion(ACCOUNT, reported=statuses[0])
    await settle(services, one)
    for status in statuses[1:]:
        one = await change(services, one, reported=status)
    return int(one["_id"])


def arrived(receiver: Receiver) -> list[tuple[str, str | None]]:
    bodies = [json.loads(one.body) for one in receiver.received]
    return [(one["status"], one["was"]) for one in bodies]


async def ids_by_revision(services: Services) -> list[Any]:
    return [row["_id"] for row in sorted(await stored(services), key=lambda row: row["revision"])]


async def test_changes_wait_for_each_other_and_for_retries(services: Services) -> None:
    clock = Clock()
    async with listening(services, ACCOUNT) as (receiver, webhook), sending(services, clock) as one:
        receiver.behaviour = answer(500)
        await told(services, webhook.id)
        for attempt in range(1, 4):
            assert await one.burst() == 1
            assert arrived(receiver) == [("pending", None)] * attempt
            clock.pass_seconds(DELAYS_SECONDS[attempt] * 1.11)
        receiver.behaviour = answer(200)
        assert await one.burst() == 4
    assert arrived(receiver)[3:] == [
        ("pending", None),
        ("approved", "pending"),
        ("rejected", "approved"),
        ("refunded", "rejected"),
    ]
    assert {row["status"] for row in await stored(services)} == {"delivered"}


async def test_what_is_sent_now_at_once_keeps_its_order(services: Services) -> None:
    clock = Clock()
    async with listening(services, ACCOUNT) as (receiver, webhook), sending(services, clock) as one:
        receiver.behaviour = answer(500)
        await told(services, webhook.id)
        assert await one.burst() == 1
        receiver.behaviour = answer(200)
        at = moment(clock())
        assert await services.webhooks.deliveries.send_now(webhook.id, ACCOUNT, at) == 4
        while await one.burst():
            clock.pass_seconds(1)
    assert arrived(receiver) == [
        *[("pending", None)] * 2,
        ("approved", "pending"),
        ("rejected", "approved"),
        ("refunded", "rejected"),
    ]


async def test_the_next_goes_on_if_one_failed_for_good(services: Services) -> None:
    clock = Clock()
    async with listening(services, ACCOUNT) as (receiver, webhook), sending(services, clock) as one:

        async def refuse_approved(handler: Handler) -> None:
            handler.set_status(500 if json.loads(handler.request.body)["was"] == "pending" else 200)
            handler.finish()

        receiver.behaviour = refuse_approved
        await told(services, webhook.id)
        for delay in (*DELAYS_SECONDS, 0):
            clock.pass_seconds(delay * 1.11)
            await one.burst()
        await one.burst()
    made = [("pending", None), *[("approved", "pending")] * len(DELAYS_SECONDS)]
    assert arrived(receiver) == [*made, ("rejected", "approved"), ("refunded", "rejected")]


async def test_what_is_retried_by_hand_holds_up_what_comes_after_it(services: Services) -> None:
    clock = Clock()
    async with listening(services, ACCOUNT) as (receiver, webhook), sending(services, clock) as one:
        await told(services, webhook.id)
        rows = services.stores.mongodb["deliveries"]
        ended = {"$set": {"status": "failed"}, "$unset": {"due_at": ""}}
        await rows.update_many({}, ended)
        _, second, third, _ = await ids_by_revision(services)
        for delivery_id in (third, second):
            await services.webhooks.deliveries.retry(delivery_id, now())
        assert await one.burst() == 2
    assert arrived(receiver) == [("approved", "pending"), ("rejected", "approved")]


async def test_a_change_is_not_claimed_while_an_earlier_one_is_being_sent(
    services: Services,
) -> None:
    async with listening(services, ACCOUNT) as (_, webhook):
        await told(services, webhook.id)
        deliveries, at = services.webhooks.deliveries, now()
        first, second, *_ = await ids_by_revision(services)

        async def claimed(after: timedelta) -> list[Any]:
            return [one.id for one in await deliveries.claim({webhook.id: 9}, at + after)]

        assert await claimed(timedelta()) == [first]
        assert await claimed(LEASE / 2) == []
        assert await claimed(LEASE) == [first]
        late = LEASE + timedelta(seconds=1)
        await services.stores.mongodb["deliveries"].update_one(
            {"_id": first}, {"$set": {"status": "cancelled"}, "$unset": {"due_at": ""}}
        )
        assert await claimed(2 * late) == [second]


async def test_other_conversions_and_other_webhooks_do_not_wait(services: Services) -> None:
    async with (
        listening(services, ACCOUNT) as (receiver, webhook),
        listening(services, ACCOUNT) as (other, second),
        sending(services) as one,
    ):
        receiver.behaviour = answer(500)
        await ask(services, second.id, *BOTH)
        await told(services, webhook.id)
        await told(services, webhook.id)
        await one.burst()
    assert len(receiver.received) == 2
    assert len(other.received) == 8


async def test_any_failures_leave_each_conversion_in_order(services: Services) -> None:
    random, clock = Random(50), Clock()
    async with listening(services, ACCOUNT) as (receiver, webhook), sending(services, clock) as one:

        async def fail_sometimes(handler: Handler) -> None:
            handler.set_status(random.choice((200, 200, 500)))
            handler.finish()

        receiver.behaviour = fail_sometimes
        ids = [await told(services, webhook.id, STATUSES[:3]) for _ in range(12)]
        while await services.stores.mongodb["deliveries"].count_documents({"status": "due"}):
            await one.burst()
            clock.pass_seconds(random.choice((1, 40, 400, 40_000)))
    seen: defaultdict[int, list[str]] = defaultdict(list)
    for body in (json.loads(one.body) for one in receiver.received):
        if not seen[body["id"]] or seen[body["id"]][-1] != body["status"]:
            seen[body["id"]].append(body["status"])
    assert seen == {one: list(STATUSES[:3]) for one in ids}

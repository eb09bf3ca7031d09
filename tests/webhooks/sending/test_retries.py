"""Failed deliveries are tried again, until their receiver recovers or the webhook is disabled."""

import asyncio
from datetime import datetime
from random import Random
from uuid import UUID

import pytest
import standardwebhooks

from tests.webhooks.receiver import Handler, answer
from tests.webhooks.sending.life import GONE, Life
from tests.webhooks.sending.scene import (
    Clock,
    converted,
    listening,
    sending,
    the_one,
    webhook_now,
)
from tracker.clock import moment
from tracker.ids import new_id
from tracker.service.services import Services
from tracker.webhooks.schedule import DELAYS_SECONDS, JITTER_SHARE

ACCOUNT = new_id()
DAY = 24 * 3600


@pytest.fixture
def any_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let receivers accept any timestamp."""
    monkeypatch.setattr(
        standardwebhooks.Webhook, "_Webhook__verify_timestamp", lambda _, at: moment(int(at) * 1000)
    )


@pytest.mark.usefixtures("any_time")
async def test_failures_are_retried_by_the_table_with_the_same_id_and_payload(
    services: Services,
) -> None:
    """The clock passes through all 75 hours."""
    clock = Clock()
    async with listening(services, ACCOUNT) as (receiver, _), sending(services, clock) as one:
        receiver.behaviour = answer(500, b"broken")
        [event_id] = await converted(services, ACCOUNT)
        assert await one.burst() == 1
        for number, delay in enumerate(DELAYS_SECONDS[1:], 1):
            row = await the_one(services)
            assert (row["status"], len(row["attempts"])) == ("due", number)
            wait = (row["due_at"] - moment(clock())).total_seconds()
            assert delay <= wait <= delay * (1 + JITTER_SHARE)
            clock.pass_seconds(wait - 0.001)
            assert await one.burst() == 0
            # What it is made of may change meanwhile.
            await services.stores.mongodb["events"].update_one(
                {"_id": event_id}, {"$set": {"value": None}}
            )
            clock.pass_seconds(0.002)
            assert await one.burst() == 1
        clock.pass_seconds(10 * DAY)
        assert await one.burst() == 0
    row = await the_one(services)
    assert (row["status"], len(row["attempts"])) == ("failed", len(DELAYS_SECONDS))
    assert {one["code"] for one in row["attempts"]} == {500}
    assert len({one.headers["webhook-id"] for one in receiver.received}) == 1
    assert len({one.body for one in receiver.received}) == 1
    assert len({one.headers["webhook-signature"] for one in receiver.received}) > 1
    assert "expires_at" in row


@pytest.mark.usefixtures("any_time")
@pytest.mark.parametrize("seed", range(3))
async def test_every_delivery_ends_as_a_naive_model_says(services: Services, seed: int) -> None:
    clock, random = Clock(), Random(seed)
    async with (
        listening(services, ACCOUNT) as one,
        listening(services, new_id()) as other,
        sending(services, clock) as sender,
    ):
        lives = [Life(services, clock, random, target) for target in (one, other)]
        for _ in range(40):
            await random.choice(lives).step()
            for life in lives:
                await life.send(sender)
        life = lives[0]
        life.answer, life.receiver.behaviour = GONE, GONE.behaviour
        await life.convert()
        await services.webhooks.webhooks.delete(life.webhook.id)
        assert await sender.burst() == 0
        assert {row["status"] for row in await life.rows()} <= {"delivered", "failed", "cancelled"}


async def test_a_success_ends_a_failure_of_the_same_claim(
    services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    failed = asyncio.Event()

    async def first_fails(handler: Handler) -> None:
        if len(receiver.received) == 1:
            handler.set_status(500)
            handler.finish()
            return
        await failed.wait()
        handler.finish()

    failing = services.webhooks.webhooks.record_failure

    async def see(webhook_id: UUID, since: datetime) -> None:
        await failing(webhook_id, since)
        failed.set()

    monkeypatch.setattr(services.webhooks.webhooks, "record_failure", see)
    async with listening(services, ACCOUNT) as (receiver, webhook), sending(services) as one:
        receiver.behaviour = first_fails
        await converted(services, ACCOUNT, 4)
        assert await one.burst() == 4
    assert failed.is_set()
    assert (await webhook_now(services, webhook)).failing_since is None

"""Failed deliveries are tried again, until their receiver recovers or the webhook is disabled."""

import asyncio
from datetime import datetime
from random import Random
from uuid import UUID

import pytest

from tests.webhooks.receiver import Handler
from tests.webhooks.sending.life import GONE, Life
from tests.webhooks.sending.scene import Clock, converted, listening, sending, webhook_now
from tracker.ids import new_id
from tracker.service.services import Services

ACCOUNT = new_id()


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

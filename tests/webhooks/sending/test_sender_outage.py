"""While MongoDB is unavailable to a sender, no result is lost and nothing is sent twice."""

import asyncio
from datetime import datetime
from types import SimpleNamespace
from typing import Any

import pytest
from pymongo.errors import AutoReconnect

from tests.webhooks.receiver import answer
from tests.webhooks.sending.scene import Clock, converted, listening, sending, the_one, webhook_now
from tracker.ids import new_id
from tracker.service.services import Services
from tracker.webhooks.deliveries import LEASE
from tracker.webhooks.schedule import Disabled
from tracker.webhooks.sending import attempts
from tracker.webhooks.store import Webhook

ACCOUNT = new_id()
UNAVAILABLE = AutoReconnect("MongoDB is unavailable")


async def test_payloads_that_cannot_be_stored_are_sent_soon_afterwards(
    services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    store_content = services.webhooks.deliveries.store_content
    clock, fails = Clock(), [True]

    async def failing(unstored: Any) -> None:
        if fails:
            fails.pop()
            raise UNAVAILABLE
        await store_content(unstored)

    monkeypatch.setattr(services.webhooks.deliveries, "store_content", failing)
    async with listening(services, ACCOUNT) as (receiver, _), sending(services, clock) as one:
        await converted(services, ACCOUNT)
        with pytest.raises(AutoReconnect):
            await one.burst()
        clock.pass_seconds(LEASE.total_seconds() / 10)
        assert await one.burst() == 1
    assert len(receiver.received) == 1


async def test_the_state_of_a_webhook_is_recorded_once_mongodb_is_available_again(
    services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    disable = services.webhooks.webhooks.disable
    statuses: list[str] = []

    async def failing(webhook: Webhook, reason: Disabled, at: datetime) -> bool:
        statuses.append((await the_one(services))["status"])
        if len(statuses) == 1:
            raise UNAVAILABLE
        return await disable(webhook, reason, at)

    monkeypatch.setattr(services.webhooks.webhooks, "disable", failing)
    async with listening(services, ACCOUNT) as (receiver, webhook), sending(services) as one:
        receiver.behaviour = answer(410)
        await converted(services, ACCOUNT)
        await one.burst()
    assert statuses == ["failed", "failed"]
    assert not (await webhook_now(services, webhook)).active
    assert len((await the_one(services))["attempts"]) == 1


async def test_an_attempt_whose_result_cannot_be_stored_disables_no_webhook(
    services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its delivery is due again once the lease has run out: that attempt decides."""

    async def failing(results: Any) -> None:
        raise UNAVAILABLE

    pauses = list[float]()

    async def noted(seconds: float) -> None:
        pauses.append(seconds)

    monkeypatch.setattr(attempts, "asyncio", SimpleNamespace(sleep=noted, gather=asyncio.gather))
    clock = Clock()
    async with listening(services, ACCOUNT) as (receiver, webhook), sending(services, clock) as one:
        receiver.behaviour = answer(410)
        await converted(services, ACCOUNT)
        with monkeypatch.context() as patched:
            patched.setattr(services.webhooks.deliveries, "record", failing)
            await one.burst()
        assert pauses == [0.1, 0.5, 2.0, 5.0]
        assert (await webhook_now(services, webhook)).active
        clock.pass_seconds(LEASE.total_seconds() + 1)
        await one.burst()
    assert not (await webhook_now(services, webhook)).active
    assert len(receiver.received) == 2

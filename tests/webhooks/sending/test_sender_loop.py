"""The loop of a sender: when it looks for deliveries, and how it stops."""

import asyncio
import time
from contextlib import AsyncExitStack
from datetime import datetime
from typing import Any

import pytest

from tests.waiting import PATIENCE_SECONDS, eventually
from tests.webhooks.receiver import Handler, answer, hang
from tests.webhooks.sending.scene import converted, listening, running, sending, stored, the_one
from tracker.clock import now
from tracker.ids import new_id
from tracker.service.services import Services
from tracker.webhooks.queue import QueuedAccount
from tracker.webhooks.sending import sender as sender_module

ACCOUNT = new_id()


async def test_a_stop_waits_for_attempts_that_end_soon_and_releases_the_others(
    services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sender_module, "STOP_SECONDS", 2.0)
    release = asyncio.Event()

    async def soon(handler: Handler) -> None:
        await release.wait()
        handler.finish()

    async with AsyncExitStack() as stack:
        slow, _ = await stack.enter_async_context(listening(services, ACCOUNT))
        dead, webhook = await stack.enter_async_context(listening(services, ACCOUNT))
        slow.behaviour, dead.behaviour = soon, hang
        one = await stack.enter_async_context(sending(services))
        await converted(services, ACCOUNT)
        async with running(one):
            await eventually(lambda: slow.received and dead.received)
            asyncio.get_running_loop().call_soon(release.set)
        by_webhook = {row["webhook_id"]: row for row in await stored(services)}
        given_back = by_webhook.pop(webhook.id)
        assert (given_back["status"], given_back["attempts"]) == ("due", [])
        assert "holder" not in given_back
        [finished] = by_webhook.values()
        assert finished["status"] == "delivered"
        dead.behaviour = answer()
        another = await stack.enter_async_context(sending(services))
        assert await another.burst() == 1


async def test_a_stop_does_not_release_deliveries_that_are_being_recorded(
    services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sender_module, "STOP_SECONDS", 0.5)
    record, recording = services.webhooks.deliveries.record, asyncio.Event()

    async def slowly(results: Any) -> None:
        recording.set()
        await asyncio.sleep(0.25)
        monkeypatch.setattr(sender_module, "STOP_SECONDS", PATIENCE_SECONDS)
        await asyncio.sleep(0.5)
        await record(results)

    monkeypatch.setattr(services.webhooks.deliveries, "record", slowly)
    async with listening(services, ACCOUNT) as (receiver, _), sending(services) as one:
        await converted(services, ACCOUNT)
        async with running(one):
            await recording.wait()
    assert len(receiver.received) == 1
    assert (await the_one(services))["status"] == "delivered"


async def test_deliveries_that_this_process_makes_due_are_sent_at_once(
    services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sender_module, "IDLE_SECONDS", 3600)
    async with listening(services, ACCOUNT) as (receiver, _), sending(services) as one:
        looked = looks(services, monkeypatch)
        async with running(one):
            await eventually(lambda: len(looked) >= 1)
            async with asyncio.timeout(PATIENCE_SECONDS):
                await converted(services, ACCOUNT)
                while not receiver.received or (await the_one(services))["status"] != "delivered":
                    await asyncio.sleep(0.01)
                await services.webhooks.deliveries.retry((await the_one(services))["_id"], now())
                await eventually(lambda: len(receiver.received) >= 2)


async def test_a_busy_drain_does_not_make_the_sender_poll_without_pause(
    services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sender_module, "IDLE_SECONDS", 3600)
    monkeypatch.setattr(sender_module, "WAKE_SECONDS", 0.6)
    async with sending(services) as one:
        looked = looks(services, monkeypatch)
        async with running(one):
            while len(looked) < 4:
                services.webhooks.queue.made_due.set()
                await asyncio.sleep(0.01)
    # A busy machine may note a look after it began.
    assert looked[3] - looked[1] >= 0.6


def looks(services: Services, monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Record when the sender looks for due deliveries."""
    following, times = services.webhooks.queue.next, list[float]()

    async def timed(at: datetime, limit: int) -> list[QueuedAccount]:
        times.append(time.monotonic())
        return await following(at, limit)

    monkeypatch.setattr(services.webhooks.queue, "next", timed)
    return times

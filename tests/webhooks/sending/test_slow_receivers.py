"""Receivers that hang or are slow delay no other."""

from contextlib import AsyncExitStack

import pytest

from tests.waiting import eventually
from tests.webhooks.receiver import Receiver, hang
from tests.webhooks.sending.scene import converted, listening, running, sending
from tracker.ids import new_id
from tracker.service.services import Services
from tracker.webhooks.sending import client, concurrency, sender
from tracker.webhooks.sending.concurrency import ConcurrencyLimiter

ACCOUNT = new_id()


@pytest.fixture(autouse=True)
def hanging_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let no attempt end by its timeout: what is sent meanwhile waited for none that hangs."""
    monkeypatch.setattr(client, "ATTEMPT_SECONDS", 3600.0)


async def hanging(services: Services, stack: AsyncExitStack, number: int) -> list[Receiver]:
    """Return receivers that hang, each of an account with a conversion to send."""
    found = []
    for _ in range(number):
        account = new_id()
        receiver, _webhook = await stack.enter_async_context(listening(services, account))
        receiver.behaviour = hang
        found.append(receiver)
        await converted(services, account)
    return found


async def test_many_receivers_that_hang_leave_slots_for_those_that_answer(
    services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tracker.webhooks.store.MAX_WEBHOOKS_PER_ACCOUNT", 15)
    # After a second those that hang would count as slow, and two others would be tried.
    monkeypatch.setattr(sender, "SLOW_MS", 3_600_000)
    monkeypatch.setattr(concurrency, "SLOW_MS", 3_600_000)
    async with AsyncExitStack() as stack:
        one = await stack.enter_async_context(sending(services))
        one._limiter = ConcurrencyLimiter(20)
        dead = []
        for _ in range(15):
            receiver, _webhook = await stack.enter_async_context(listening(services, ACCOUNT))
            receiver.behaviour = hang
            dead.append(receiver)
        other = new_id()
        good, _ = await stack.enter_async_context(listening(services, other))
        await converted(services, ACCOUNT, 5)
        async with running(one):
            await eventually(lambda: sum(len(receiver.received) for receiver in dead) >= 2)
            await converted(services, other, 30)
            await eventually(lambda: len(good.received) >= 30)
            assert sum(len(receiver.received) for receiver in dead) == 2


async def test_untested_webhooks_wait_for_others_that_hang_only_until_these_are_slow(
    services: Services,
) -> None:
    async with AsyncExitStack() as stack:
        one = await stack.enter_async_context(sending(services))
        one._limiter = ConcurrencyLimiter(8)
        dead = await hanging(services, stack, 2)
        async with running(one):
            await eventually(lambda: all(receiver.received for receiver in dead))
            other = new_id()
            good, _ = await stack.enter_async_context(listening(services, other))
            await converted(services, other)
            await eventually(lambda: good.received)

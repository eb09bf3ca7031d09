"""Receivers that hang or are slow delay no other."""

from contextlib import AsyncExitStack

import pytest

from tests.waiting import eventually
from tests.webhooks.receiver import hang
from tests.webhooks.sending.scene import converted, listening, running, sending
from tracker.ids import new_id
from tracker.service.services import Services
from tracker.webhooks.sending import client
from tracker.webhooks.sending.concurrency import ConcurrencyLimiter


async def test_untested_webhooks_wait_for_others_that_hang_only_until_these_are_slow(
    services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    # No attempt ends by its timeout: what is sent meanwhile waited for none that hangs.
    monkeypatch.setattr(client, "ATTEMPT_SECONDS", 3600.0)
    async with AsyncExitStack() as stack:
        one = await stack.enter_async_context(sending(services))
        one._limiter = ConcurrencyLimiter(8)
        accounts = [new_id() for _ in range(3)]
        targets = [await stack.enter_async_context(listening(services, key)) for key in accounts]
        *dead, good = [receiver for receiver, _ in targets]
        for receiver, account in zip(dead, accounts, strict=False):
            receiver.behaviour = hang
            await converted(services, account)
        async with running(one):
            await eventually(lambda: all(receiver.received for receiver in dead))
            await converted(services, accounts[-1])
            await eventually(lambda: good.received)

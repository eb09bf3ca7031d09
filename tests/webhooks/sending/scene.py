"""Set-up for tests of sending: webhooks at receivers, conversions, a sender, a clock."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import cached_property
from itertools import count
from typing import Any
from uuid import UUID

from tests.conversions import scene
from tests.factories import create_webhook, make_conversion
from tests.webhooks.receiver import Receiver, receiving
from tracker.clock import now_ms
from tracker.service.services import Services
from tracker.webhooks.payloads.sources import PayloadLoader
from tracker.webhooks.sending.client import WebhookClient
from tracker.webhooks.sending.sender import Sender
from tracker.webhooks.store import Webhook

_NUMBERS = count(10**12)


class Clock:
    """The clock of a sender. It stands still between calls of `pass_seconds`.

    Its first time is a minute after its first use: what becomes due in a test is due, however slow
    the machine. Receivers accept a signature that is so much ahead.
    """

    @cached_property
    def _start_ms(self) -> int:
        return now_ms() + 60_000

    def __init__(self) -> None:
        self._passed_ms = 0

    def __call__(self) -> int:
        return self._start_ms + self._passed_ms

    def pass_seconds(self, seconds: float) -> None:
        self._passed_ms += round(seconds * 1000)


class SteppedSender(Sender):
    """A sender that sends when a test says so."""

    async def burst(self) -> int:
        """Send all due deliveries and wait for their records; return the number of attempts."""
        total = 0
        while started := await self._start():
            total += started
            if self._in_flight:
                await asyncio.wait(self._in_flight)
        return total


@asynccontextmanager
async def sending(services: Services, clock: Clock | None = None) -> AsyncIterator[SteppedSender]:
    """Yield a sender that may send to loopback."""
    client = WebhookClient(allow_private=True, dns_address=None)
    payloads = PayloadLoader(services.stores.mongodb, "tracker.test")
    try:
        yield SteppedSender(
            services.webhooks.queue,
            services.webhooks.deliveries,
            services.webhooks.webhooks,
            payloads,
            client,
            clock or now_ms,
        )
    finally:
        client.close()


@asynccontextmanager
async def running(sender: Sender) -> AsyncIterator[None]:
    """Run the loop of `sender` while the block runs, and stop it."""
    stop = asyncio.Event()
    task = asyncio.create_task(sender.run(stop))
    try:
        yield
    finally:
        stop.set()
        await task


@asynccontextmanager
async def listening(
    services: Services, account_id: UUID, host: str = "127.0.0.1"
) -> AsyncIterator[tuple[Receiver, Webhook]]:
    """Yield a receiver, and a webhook that points to it."""
    async with receiving(host=host) as receiver:
        webhook = await create_webhook(services, account_id, f"{receiver.url}/hook")
        receiver.secret = webhook.secret
        yield receiver, webhook


async def converted(services: Services, account_id: UUID, number: int = 1) -> list[int]:
    """Drain so many new conversions without clicks, and return their ids."""
    ids = [next(_NUMBERS) for _ in range(number)]
    events = [make_conversion(one, account_id=account_id.bytes, value="12.50") for one in ids]
    await scene.applied(services, events)
    return ids


async def stored(services: Services) -> list[dict[str, Any]]:
    return await services.stores.mongodb["deliveries"].find().sort("event_id").to_list(None)


async def the_one(services: Services) -> dict[str, Any]:
    [row] = await stored(services)
    return row


async def webhook_now(services: Services, webhook: Webhook) -> Webhook:
    found = await services.webhooks.webhooks.find(webhook.id)
    assert found is not None
    return found

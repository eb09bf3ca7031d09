"""Webhook deliveries a second, of one drain's sender to one receiver."""

import asyncio
import sys
import time
from decimal import Decimal
from typing import Final

import msgspec

from config.settings import Settings
from lab.bench.measure import Faulty
from lab.harness import wait_until
from lab.scene import open_services
from tracker.clock import now_ms
from tracker.conversions.conversion import Conversion
from tracker.conversions.event_config import EventConfig, PayoutType
from tracker.ingest.drain_number import DrainNumber
from tracker.service.background import leased
from tracker.service.roles import SWITCH_INTERVAL_SECONDS
from tracker.service.services import Services
from tracker.webhooks.delivery import DeliveryStatus
from tracker.webhooks.payloads import template

DELIVERY_SECONDS: Final = 120.0
_BATCH_EVENTS: Final = 500
_DUE: Final = {"status": DeliveryStatus.DUE}
_LOOK_SECONDS: Final = 0.05
"""The pause between two checks, each of which takes time from the sender."""


async def measure_deliveries(settings: Settings, target_url: str, number: int) -> float:
    """Deliver `number` conversions to one webhook at `target_url`; return the deliveries a second.

    One drain's sender runs in this process, from the first claim until the last delivery is
    recorded. The receiver is another process, so that it takes no time from the sender. Raises
    Faulty if deliveries are still due after DELIVERY_SECONDS.
    """
    allowed = msgspec.structs.replace(settings, webhook_allow_private=True)
    interval = sys.getswitchinterval()
    sys.setswitchinterval(SWITCH_INTERVAL_SECONDS)
    try:
        async with open_services(allowed) as services:
            await _convert(services, target_url, number)
            return await _send_all(services, number)
    finally:
        sys.setswitchinterval(interval)


async def _convert(services: Services, target_url: str, number: int) -> None:
    account = await services.accounts.accounts.create("Bench")
    config = await services.conversions.event_configs.create(
        account.id, "Sale", PayoutType.CPA, Decimal(1)
    )
    await services.webhooks.webhooks.create(
        account.id, "Bench", target_url, "POST", template.DEFAULT
    )
    stores = services.stores
    async with leased(DrainNumber(stores.redis, stores.mongodb), services.loops) as drain_number:
        drain, first = services.ingest.drain(drain_number), now_ms()
        for start in range(first, first + number, _BATCH_EVENTS):
            numbers = range(start, min(start + _BATCH_EVENTS, first + number))
            await drain.apply([_event(one, config) for one in numbers])


async def _send_all(services: Services, number: int) -> float:
    stop = asyncio.Event()

    async def is_sent() -> bool:
        return await services.stores.mongodb["deliveries"].find_one(_DUE, ["_id"]) is None

    began = time.perf_counter()
    sending = asyncio.create_task(services.ingest.sender().run(stop))
    try:
        if not await wait_until(is_sent, DELIVERY_SECONDS, _LOOK_SECONDS):
            raise Faulty(f"deliveries are still due after {DELIVERY_SECONDS:.0f} s")
        return number / (time.perf_counter() - began)
    finally:
        stop.set()
        await sending


def _event(number: int, config: EventConfig) -> Conversion:
    return Conversion(
        id=number,
        at=now_ms(),
        account_id=config.account_id.bytes,
        event_config_id=config.id.bytes,
        click_id=None,
        value="19.99",
        payout="1",
        metadata='{"order":"A-1"}',
        transaction_id=None,
        transaction_scope=None,
    )

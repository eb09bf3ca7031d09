"""Webhook deliveries a second of one drain to a fast receiver.

The receiver is a process of its own, so that it takes no time from the sender, which runs as in a
drain. A round is measured from the first claim until the last delivery is recorded.
"""

import asyncio
import sys
import time
from decimal import Decimal
from typing import Final

from msgspec import structs

from config.settings import Settings
from lab.scene import open_services
from tracker.clock import now_ms
from tracker.conversions.event import Event
from tracker.conversions.event_config import EventConfig, PayoutType
from tracker.ingest.slot import kept_slot
from tracker.service.roles import SWITCH_INTERVAL_SECONDS
from tracker.service.services import Services
from tracker.webhooks import template
from tracker.webhooks.delivery import Status

_BATCH_EVENTS: Final = 500
_LOOK_SECONDS: Final = 0.05
"""Seconds between looks, each of which takes time from the sender."""


async def deliveries_a_second(settings: Settings, target_url: str, number: int) -> float:
    """Return the deliveries a second of `number` conversions to one webhook at `target_url`."""
    allowed = structs.replace(settings, webhook_allow_private=True)
    interval = sys.getswitchinterval()
    sys.setswitchinterval(SWITCH_INTERVAL_SECONDS)
    try:
        async with open_services(allowed) as services:
            await _convert(services, target_url, number)
            return await _sent(services, number)
    finally:
        sys.setswitchinterval(interval)


async def _convert(services: Services, target_url: str, number: int) -> None:
    account = await services.accounts.create("Bench")
    config = await services.event_configs.create(account.id, "Sale", PayoutType.CPA, Decimal(1))
    await services.webhooks.create(account.id, "Bench", target_url, "POST", template.DEFAULT)
    async with kept_slot(services.redis, services.mongodb) as slot:
        drain, first = services.drain(slot), now_ms()
        for start in range(first, first + number, _BATCH_EVENTS):
            numbers = range(start, min(start + _BATCH_EVENTS, first + number))
            await drain.apply([_event(one, config) for one in numbers])


async def _sent(services: Services, number: int) -> float:
    stop, due = asyncio.Event(), {"status": Status.DUE}
    began = time.perf_counter()
    sending = asyncio.create_task(services.sender().run(stop))
    try:
        while await services.database["deliveries"].find_one(due, ["_id"]):  # noqa: ASYNC110
            await asyncio.sleep(_LOOK_SECONDS)
        return number / (time.perf_counter() - began)
    finally:
        stop.set()
        await sending


def _event(number: int, config: EventConfig) -> Event:
    return Event(
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

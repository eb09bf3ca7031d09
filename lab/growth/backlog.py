"""Webhooks of many accounts, and their backlog of deliveries, which the product itself makes."""

import math
from collections.abc import Sequence
from datetime import timedelta
from itertools import cycle
from typing import Final, NamedTuple
from uuid import UUID

from config.settings import Settings
from lab.growth.filling import create_accounts, made_together
from lab.growth.today import apply, draining
from lab.scene import open_services
from tracker.clock import now, now_ms
from tracker.conversions.conversion import Conversion
from tracker.conversions.event_config import EventConfig
from tracker.webhooks.limits import MAX_WEBHOOKS_PER_ACCOUNT

_WEBHOOKS_PER_CLAIM: Final = 50
_TEMPLATE: Final = {"event": "{event_id}"}
_BATCH_CONVERSIONS: Final = 100
"""Each makes a delivery for every webhook of its account, all in one transaction."""


class Webhooks(NamedTuple):
    """Webhooks in a database of their own, and the event configurations of their accounts."""

    settings: Settings
    ids: Sequence[UUID]
    configs: Sequence[EventConfig]


async def create_webhooks(settings: Settings, number: int, urls: Sequence[str]) -> Webhooks:
    async with open_services(settings) as services:
        configs = await create_accounts(services, math.ceil(number / MAX_WEBHOOKS_PER_ACCOUNT))
        # Those of one account are made one after the other, so neighbours are of different ones.
        owners = [config.account_id for config in configs] * MAX_WEBHOOKS_PER_ACCOUNT
        wanted = list(zip(owners[:number], cycle(urls), strict=False))

        async def create(one: tuple[UUID, str]) -> UUID:
            owner, url = one
            made = await services.webhooks.webhooks.create(owner, "Growth", url, "POST", _TEMPLATE)
            return made.id

        return Webhooks(settings, await made_together("creating webhooks", wanted, create), configs)


async def add_backlog(webhooks: Webhooks, deliveries: int) -> None:
    conversions = math.ceil(deliveries * len(webhooks.configs) / len(webhooks.ids))
    configs = cycle(webhooks.configs)
    async with draining(webhooks.settings) as (services, parts):
        for first in range(0, conversions, _BATCH_CONVERSIONS):
            number = min(_BATCH_CONVERSIONS, conversions - first)
            ids = [await services.conversions.event_ids.next() for _ in range(number)]
            await apply(parts.drain, [_conversion(one, next(configs)) for one in ids])
        await services.conversions.event_ids.close()


async def postpone_backlog(webhooks: Webhooks) -> None:
    """Make all deliveries due tomorrow, as retries are."""
    tomorrow = now() + timedelta(days=1)
    async with open_services(webhooks.settings) as services:
        deliveries = services.webhooks.deliveries
        for first in range(0, len(webhooks.ids), _WEBHOOKS_PER_CLAIM):
            group = webhooks.ids[first : first + _WEBHOOKS_PER_CLAIM]
            while claimed := await deliveries.claim(dict.fromkeys(group, 10), now()):
                await deliveries.release(claimed, tomorrow)


async def cancel_backlog(webhooks: Webhooks) -> None:
    async with open_services(webhooks.settings) as services:
        await services.webhooks.deliveries.cancel(webhooks.ids, now())


def _conversion(event_id: int, config: EventConfig) -> Conversion:
    return Conversion(
        id=event_id,
        at=now_ms(),
        account_id=config.account_id.bytes,
        event_config_id=config.id.bytes,
        click_id=None,
        value="19.99",
        payout="5",
        metadata=None,
        transaction_id=None,
        transaction_scope=None,
    )

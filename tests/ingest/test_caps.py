"""The cap of conversions a click is exact, however drains overlap and batches repeat."""

import asyncio
from collections.abc import Sequence

import pytest

from tests.conversions import scene
from tests.conversions.rules import account_with, statuses
from tests.factories import make_conversion
from tests.ingest import ledger
from tests.ingest.pending import interposed
from tracker.accounts.accounts import Account
from tracker.conversions.conversion import Conversion
from tracker.ids import new_id
from tracker.service.services import Services

pytestmark = pytest.mark.redis


CONFIG, CLICK = new_id(), new_id()


def forged(
    account: Account, numbers: Sequence[int], click_id: bytes = CLICK.bytes
) -> list[Conversion]:
    """Return events of one configuration and one click that has not arrived."""
    known = {"account_id": account.id.bytes, "event_config_id": CONFIG.bytes, "checked": True}
    return [make_conversion(number, click_id, **known) for number in numbers]


async def test_two_drains_that_overlap_count_no_more_than_the_cap(services: Services) -> None:
    account = await account_with(services, max_per_click=3)
    await interposed(services, forged(account, [1, 2]), forged(account, [3, 4]))
    assert [refused for _, refused in await statuses(services)].count(None) == 3
    assert (await ledger.totals(services))["conversions"] == 3
    await ledger.check(services)


async def test_drains_that_count_at_once_count_no_more_than_the_cap(services: Services) -> None:
    account = await account_with(services, max_per_click=1)
    async with scene.process(services.settings) as other:
        drains = [scene.drain_of(one) for one in (services, other)]
        for number in range(1, 40, 2):
            click_id = new_id().bytes
            events = [forged(account, [number + one], click_id) for one in (0, 1)]
            pairs = zip(drains, events, strict=True)
            await asyncio.gather(*(drain.apply(own) for drain, own in pairs))
    assert [refused for _, refused in await statuses(services)].count(None) == 20
    await ledger.check(services)


async def test_drains_without_a_cap_take_no_locks(services: Services) -> None:
    account = await services.accounts.accounts.create("Acme")
    await scene.applied(services, forged(account, [1, 2]))
    assert await services.stores.mongodb["conversion_locks"].count_documents({}) == 0

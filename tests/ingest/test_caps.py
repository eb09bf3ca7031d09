"""The cap of conversions a click is exact, however drains overlap and batches repeat."""

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest

from tests.conversions import scene
from tests.conversions.rules import account_with, statuses
from tests.factories import make_click, make_conversion
from tests.ingest import ledger
from tests.ingest.pending import interposed
from tracker.accounts.accounts import Account
from tracker.conversions.conversion import Conversion
from tracker.ids import new_id
from tracker.service.services import Services

pytestmark = pytest.mark.redis


async def forged(services: Services, account: Account, numbers: Sequence[int]) -> list[Conversion]:
    """Return events of one configuration and one click that has not arrived."""
    known = {"account_id": account.id.bytes, "event_config_id": CONFIG.bytes, "checked": True}
    return [make_conversion(number, CLICK.bytes, **known) for number in numbers]


CONFIG, CLICK = new_id(), new_id()


async def counted(services: Services) -> int:
    return [refused for _, refused in await statuses(services)].count(None)


async def at_once(
    services: Services, own: Sequence[Conversion], others: Sequence[Conversion]
) -> None:
    await asyncio.gather(*(scene.applied(services, some) for some in (own, others)))


@pytest.mark.parametrize("overlap", [interposed, at_once])
async def test_two_drains_that_overlap_count_no_more_than_the_cap(
    services: Services, overlap: Any
) -> None:
    account = await account_with(services, max_per_click=3)
    own = await forged(services, account, [1, 2])
    others = await forged(services, account, [3, 4])
    await overlap(services, own, others)
    assert await counted(services) == 3
    assert (await ledger.totals(services))["conversions"] == 3
    await ledger.check(services)


@pytest.mark.parametrize("again", [[1, 2, 3, 4], [3, 4, 5], [4, 1]])
async def test_a_batch_that_comes_again_changes_nothing(
    services: Services, again: list[int]
) -> None:
    account = await account_with(services, max_per_click=2)
    await scene.applied(services, await forged(services, account, [1, 2, 3, 4]))
    await scene.applied(services, await forged(services, account, again))
    outcomes = dict(enumerate(await statuses(services), 1))
    assert [number for number in outcomes if outcomes[number][1] is None] == [1, 2]
    await ledger.check(services)


async def test_a_part_that_was_stored_counts_when_the_whole_batch_comes_again(
    services: Services,
) -> None:
    account = await account_with(services, max_per_click=2)
    await scene.applied(services, await forged(services, account, [2]))
    await scene.applied(services, await forged(services, account, [1, 2, 3]))
    assert await statuses(services) == [
        ("pending", None),
        ("pending", None),
        ("refused", "max_per_click"),
    ]
    await ledger.check(services)


async def test_conversions_from_before_the_rule_count_toward_it(services: Services) -> None:
    account = await services.accounts.accounts.create("Acme")
    await scene.applied(services, await forged(services, account, [1, 2, 3]))
    await services.conversions.account_rules.change(account.id, {"max_per_click": 2})
    await scene.applied(services, await forged(services, account, [4]))
    assert await counted(services) == 3
    await ledger.check(services)


async def test_events_that_counted_before_their_click_came_leave_no_room_for_others(
    services: Services,
) -> None:
    """The account of the first is known without its click, that of the second only with it."""
    account = await account_with(services, max_per_click=1)
    click = make_click(account.id)
    known = make_conversion(1, click.id, account_id=account.id.bytes, checked=True)
    await scene.applied(services, [known, make_conversion(2, click.id)])
    await scene.applied(services, [click])
    assert await statuses(services) == [("attributed", None), ("refused", "max_per_click")]
    await ledger.check(services)


async def test_drains_without_a_cap_take_no_locks(services: Services) -> None:
    account = await services.accounts.accounts.create("Acme")
    await scene.applied(services, await forged(services, account, [1, 2]))
    assert await services.stores.mongodb["conversion_locks"].count_documents({}) == 0

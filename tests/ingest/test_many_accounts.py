"""A batch of many accounts takes as many commands as one of a few."""

from collections import Counter
from collections.abc import Sequence

import pytest

from tests.conversions import scene
from tests.conversions.rules import account_with, statuses
from tests.factories import make_click, make_conversion
from tests.ingest import ledger
from tests.stores.mongodb.profiler import profiled
from tracker.ids import new_id
from tracker.ingest.record import Record
from tracker.service.services import Services

pytestmark = pytest.mark.redis

FEW, MANY = 2, 60


def batch_of(accounts: int) -> list[Record]:
    """Return a click and its conversion for each account."""
    clicks = [make_click(new_id()) for _ in range(accounts)]
    numbers = range(1000 * accounts, 1001 * accounts)
    return [*clicks, *(make_conversion(*one) for one in zip(numbers, _ids(clicks), strict=True))]


def _ids(clicks: Sequence[Record]) -> list[bytes]:
    return [one.id for one in clicks if isinstance(one.id, bytes)]


async def commands_for(services: Services, batch: Sequence[Record]) -> Counter[str]:
    """Return the number of commands for a batch, by collection and kind.

    Each document that a command writes is one statement of it, so writes are left out.
    """
    drain = scene.drain_of(services)
    async with profiled(services.stores.mongodb.database) as rows:
        await drain.apply(batch)
    reads = [row for row in rows if row["op"] in ("query", "command", "getmore")]
    return Counter(f"{row['ns'].partition('.')[2]} {row['op']}" for row in reads)


async def test_a_batch_of_many_accounts_asks_as_often_as_one_of_few(services: Services) -> None:
    few = await commands_for(services, batch_of(FEW))
    assert few["accounts query"] == 2  # the calendars, and the rules
    assert await commands_for(services, batch_of(MANY)) == few
    await ledger.check(services)


@pytest.mark.parametrize(("checked", "looked_up"), [(True, 0), (False, 1)])
async def test_rules_are_looked_up_only_for_events_that_may_break_them(
    services: Services, checked: bool, looked_up: int
) -> None:
    strict = await account_with(services, require_pbk=True, max_per_click=1)
    event = make_conversion(1, account_id=strict.id.bytes, checked=checked)
    commands = await commands_for(services, [event])
    assert commands["accounts query"] == looked_up + 1  # the calendars
    refused = ("refused", "require_pbk")
    assert await statuses(services) == [("no_click", None) if checked else refused]

"""A transaction id counts once in its scope: in a batch, in two, at one moment, claimed or not."""

import asyncio
from collections.abc import Sequence
from itertools import permutations
from typing import Any
from uuid import UUID

import pytest

from tests.conversions import scene
from tests.factories import make_click, make_conversion
from tests.ingest import ledger
from tracker.clicks.click import Click
from tracker.conversions.conversion import Conversion
from tracker.conversions.document import EventIdTaken
from tracker.ids import new_id
from tracker.ingest.drain import Drain
from tracker.ingest.record import Record
from tracker.service.services import Services

pytestmark = pytest.mark.redis

ACCOUNT = new_id()
CONFIG = new_id()
CLICK = make_click(ACCOUNT)


def of_config(number: int, text: str = "t", config: UUID = CONFIG, **fields: Any) -> Conversion:
    return make_conversion(
        number,
        account_id=ACCOUNT.bytes,
        event_config_id=config.bytes,
        transaction_id=text,
        transaction_scope=config.bytes,
        **{"value": "5", **fields},
    )


def of_click(number: int, click: Click = CLICK, text: str = "t") -> Conversion:
    """Return an event that was accepted before its click was known."""
    return make_conversion(
        number, click.id, value="5", transaction_id=text, transaction_scope=click.id
    )


def of_account(number: int, click: Click = CLICK, text: str = "t") -> Conversion:
    """Return an event that was accepted with its click known."""
    fields = {"account_id": ACCOUNT.bytes, "transaction_scope": ACCOUNT.bytes}
    return make_conversion(number, click.id, value="5", transaction_id=text, **fields)


async def counted(services: Services) -> int:
    await ledger.check(services)
    totals = await ledger.totals(services)
    assert totals["value"] == 5 * 10**9 * totals["conversions"]
    return totals["conversions"]


async def statuses(services: Services) -> dict[int, str]:
    return {row["_id"]: row["status"] for row in await scene.stored_events(services)}


async def at_once(drains: Sequence[Drain], records: Sequence[Record]) -> None:
    """Apply the records at once, each by a drain of its own."""
    pairs = zip(drains, records, strict=True)
    await asyncio.gather(*(drain.apply([record]) for drain, record in pairs))


@pytest.mark.parametrize("batches", [[[0, 1, 2]], [[0], [1], [2]], [[0, 1], [2, 0]], [[2], [1, 0]]])
async def test_the_first_event_of_a_transaction_id_in_its_scope_counts(
    services: Services, batches: list[list[int]]
) -> None:
    events = [of_config(number) for number in (3, 1, 2)]
    for batch in batches:
        await scene.applied(services, [events[at] for at in batch])
    assert set(await statuses(services)) == {events[batches[0][0]].id}
    assert await counted(services) == 1


async def test_other_ids_and_scopes_count_separately(services: Services) -> None:
    others = [of_config(2, "T"), of_config(3, "t "), of_config(4, config=new_id())]
    await scene.applied(services, [of_config(1), *others])
    assert await counted(services) == 4


@pytest.mark.parametrize("order", list(permutations(range(3))))
async def test_across_scopes_one_counts_and_the_other_is_a_duplicate_or_dropped(
    services: Services, order: tuple[int, ...]
) -> None:
    """Click scope, account scope and the click itself, in every order, one by one."""
    records: list[Record] = [of_click(1), of_account(2), CLICK]
    for at in order:
        await scene.applied(services, [records[at]])
    found = await statuses(services)
    assert sorted(found.values()).count("attributed") == 1
    assert set(found.values()) <= {"attributed", "duplicate"}
    assert await counted(services) == 1


async def test_an_id_that_moves_from_its_click_to_the_account_counts_once(
    services: Services,
) -> None:
    await scene.applied(services, [of_click(1)])
    await scene.applied(services, [of_account(2)])
    assert await statuses(services) == {1: "pending", 2: "pending"}
    assert await counted(services) == 1
    await scene.applied(services, [CLICK])
    assert await statuses(services) == {1: "duplicate", 2: "attributed"}
    assert await counted(services) == 1


async def test_two_clicks_of_an_account_that_share_an_id_count_once(services: Services) -> None:
    other = make_click(ACCOUNT)
    await scene.applied(services, [of_click(1), of_click(2, other)])
    await scene.applied(services, [other])
    await scene.applied(services, [CLICK])
    assert await statuses(services) == {1: "duplicate", 2: "attributed"}
    assert await counted(services) == 1


async def test_drains_that_get_the_same_id_at_once_count_it_once(services: Services) -> None:
    async with scene.process(services.settings) as other:
        drains = [scene.drain_of(one) for one in (services, other)]
        for number in range(20):
            events = [of_config(2 * number + 1 + at, f"t{number}") for at in (0, 1)]
            await at_once(drains, events)
    assert len(await statuses(services)) == 20
    assert await counted(services) == 20


async def test_drains_that_get_an_id_in_two_scopes_at_once_count_it_once(
    services: Services,
) -> None:
    """The click is stored before, or arrives at the same moment."""
    async with scene.process(services.settings) as other:
        drains = [scene.drain_of(one) for one in (services, other, services)]
        for number in range(14):
            click = make_click(ACCOUNT)
            if number % 2:
                await scene.applied(services, [click])
            text = f"t{number}"
            first = 2 * number + 1
            await at_once(
                drains, [of_click(first, click, text), of_account(first + 1, click, text), click]
            )
    found = await statuses(services)
    assert sorted(found.values()).count("attributed") == 14
    assert set(found.values()) <= {"attributed", "duplicate"}
    assert await counted(services) == 14


EARLY = [of_config(1), of_click(1), of_account(1)]


@pytest.mark.parametrize("event", EARLY, ids=["config", "click", "account"])
@pytest.mark.parametrize("before", [[], [CLICK]], ids=["", "after its click"])
async def test_an_event_that_was_claimed_counts_when_its_entry_arrives(
    services: Services, event: Conversion, before: list[Record]
) -> None:
    await services.conversions.store.claim(event, [])
    assert (await statuses(services), await counted(services)) == ({1: "claimed"}, 0)
    await scene.applied(services, before)
    assert (await statuses(services), await counted(services)) == ({1: "claimed"}, 0)
    has_account = event.account_id is not None or before
    for _ in range(2):
        await scene.applied(services, [event])
        assert await counted(services) == (1 if has_account else 0)
    await scene.applied(services, [CLICK, event])
    status = "no_click" if event.click_id is None else "attributed"
    assert (await statuses(services), await counted(services)) == ({1: status}, 1)


@pytest.mark.parametrize("event", EARLY, ids=["config", "click", "account"])
async def test_a_claimed_event_and_its_click_in_one_batch_count_once(
    services: Services, event: Conversion
) -> None:
    await services.conversions.store.claim(event, [])
    await scene.applied(services, [CLICK, event])
    assert await counted(services) == 1


async def test_drains_that_get_a_claimed_event_at_once_count_it_once(services: Services) -> None:
    async with scene.process(services.settings) as other:
        drains = [scene.drain_of(one) for one in (services, other)]
        for number in range(1, 15):
            event = of_config(number, f"t{number}")
            await services.conversions.store.claim(event, [])
            await asyncio.gather(*(one.apply([event]) for one in drains))
    assert await counted(services) == 14


async def test_a_claim_at_the_same_moment_as_the_entry_counts_once(services: Services) -> None:
    drain = scene.drain_of(services)
    for number in range(1, 15):
        event = of_config(number, f"t{number}")
        await asyncio.gather(services.conversions.store.claim(event, []), drain.apply([event]))
        await drain.apply([event])
    assert await counted(services) == 14


async def test_an_event_whose_id_another_claimed_is_dropped(services: Services) -> None:
    await services.conversions.store.claim(of_config(1), [])
    await services.conversions.store.claim(of_config(2), [])
    await scene.applied(services, [of_config(2)])
    assert (await statuses(services), await counted(services)) == ({1: "claimed"}, 0)
    await scene.applied(services, [of_config(1), of_config(2)])
    assert (await statuses(services), await counted(services)) == ({1: "no_click"}, 1)


@pytest.mark.parametrize("claimed", [False, True])
async def test_another_event_of_a_known_id_is_refused_and_counts_nothing(
    services: Services, claimed: bool
) -> None:
    first, other = of_config(1), of_config(1, value="7")
    if claimed:
        await services.conversions.store.claim(first, [])
    else:
        await scene.applied(services, [first])
    with pytest.raises(EventIdTaken):
        await scene.applied(services, [other, make_click(ACCOUNT)])
    with pytest.raises(EventIdTaken):
        await scene.applied(services, [first, other])
    await scene.applied(services, [first])
    assert await counted(services) == 1

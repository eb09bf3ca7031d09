"""Everything counts once, whatever is delivered how often, by whom, in which order, and who dies.

`checked` is what must hold at the end of any schedule; the sum of the rollups must be that of what
is stored at every moment.
"""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial
from itertools import count
from random import Random
from typing import Any, NamedTuple
from uuid import UUID

import msgspec
import pytest
from tornado.platform.asyncio import AsyncIOLoop

from tests.conversions import scene
from tests.factories import AT_MS, CHROME, create_webhook, make_click, make_conversion
from tests.ingest import ledger
from tests.ingest.dying import Died, dying_drain
from tracker.clicks.click import Click
from tracker.conversions.conversion import Conversion
from tracker.ids import new_id
from tracker.ingest.batch_writer import WriteConflict
from tracker.ingest.drain_number import DrainNumber
from tracker.ingest.record import Record
from tracker.service.services import Services

pytestmark = pytest.mark.redis

AGENTS = (CHROME, CHROME, CHROME + " Edg/126.0", "curl/8.0", "Googlebot/2.1")
DAY = 24 * 3600 * 1000
ACCOUNTS = (new_id(), new_id())


@pytest.fixture(autouse=True)
def webhooks(services: Services, io_loop: AsyncIOLoop) -> None:
    """Create two webhooks of one account and one of the other."""
    for account in (*ACCOUNTS, ACCOUNTS[0]):
        io_loop.run_sync(partial(create_webhook, services, account))


class Traffic(NamedTuple):
    clicks: list[Click]
    events: list[Conversion]

    def records(self) -> list[Record]:
        return [*self.clicks, *self.events]


def traffic(random: Random, clicks: int = 60, events: int = 60) -> Traffic:
    """Return traffic of two accounts, with so few links, visitors and ids that much coincides."""
    links = [(random.choice(ACCOUNTS), new_id()) for _ in range(4)]
    configs = [(account, new_id()) for account in ACCOUNTS]
    made = [_click(random, *random.choice(links)) for _ in range(clicks)]
    named = [*made, *(_click(random, *random.choice(links)) for _ in range(3))]
    return Traffic(
        made, [_event(random, number, random.choice(named), configs) for number in range(events)]
    )


def _click(random: Random, account_id: UUID, link_id: UUID) -> Click:
    return make_click(
        account_id,
        link_id=link_id.bytes,
        at=AT_MS + random.choice((0, DAY)),
        address=f"198.51.100.{random.randrange(4)}",
        user_agent=random.choice(AGENTS),
    )


def _event(
    random: Random, number: int, click: Click, configs: Sequence[tuple[UUID, UUID]]
) -> Conversion:
    """Return an event accepted with an event config, with a known click, or with neither."""
    account, config = (one.bytes for one in random.choice(configs))
    fields: dict[str, Any] = random.choice(
        [
            {"account_id": account, "event_config_id": config, "transaction_scope": config},
            {"account_id": click.account_id, "transaction_scope": click.account_id},
            {"transaction_scope": click.id},
        ]
    )
    by_config = "event_config_id" in fields
    if random.random() < 0.4:
        fields["transaction_id"] = random.choice("tu")
    else:
        del fields["transaction_scope"]
    click_id = None if by_config and random.random() < 0.2 else click.id
    value = random.choice((None, "0.1", "19.99", "-3"))
    return make_conversion(number + 1, click_id, value=value, payout=value, **fields)


async def checked(services: Services, sent: Traffic) -> None:
    await ledger.check(services)
    clicks = {row["_id"]: row async for row in services.stores.mongodb["clicks"].find()}
    assert clicks.keys() == {UUID(bytes=one.id) for one in sent.clicks}
    _check_unique(sent.clicks, clicks)
    rows = {row["_id"]: row for row in await scene.stored_events(services)}
    for row in rows.values():
        _check_joined(row, clicks.get(row["click_id"]))
    _check_transactions(sent.events, rows, clicks)
    totals = await ledger.totals(services)
    assert totals["clicks"] + totals["bots"] == len(sent.clicks)
    await ledger.check_deliveries(services)


def _check_unique(sent: Sequence[Click], stored: dict[UUID, Any]) -> None:
    visits: dict[tuple[Any, ...], list[bool]] = {}
    for one in sent:
        row = stored[UUID(bytes=one.id)]
        assert not (row["bot"] and row["unique"])
        if row["bot"] is None:
            visitor = (one.link_id, one.at, one.address, one.user_agent)
            visits.setdefault(visitor, []).append(row["unique"])
    assert all(sum(visit) == 1 for visit in visits.values())


def _check_joined(event: dict[str, Any], click: dict[str, Any] | None) -> None:
    """Check that an event has met its click, and moved on."""
    if event["click_id"] is None:
        assert event["status"] in ("no_click", "duplicate")
    elif click is None:
        assert event["status"] == "pending"
    elif event["account_id"] not in (None, click["account_id"]):
        assert event["status"] == "foreign_click"
    else:
        assert event["status"] in ("attributed", "duplicate")
    if event["status"] == "attributed":
        assert click is not None
        assert (event["link_id"], event["country"]) == (click["link_id"], click["country"])


def _check_transactions(
    sent: Sequence[Conversion], stored: dict[int, Any], clicks: dict[UUID, Any]
) -> None:
    """Check that one event of each transaction id counts, and each without one."""
    counted: dict[Any, list[bool]] = {}
    for one in sent:
        is_counted = one.id in stored and stored[one.id]["status"] != "duplicate"
        if one.transaction_id is None:
            assert is_counted
        else:
            counted.setdefault((_scope(one, clicks), one.transaction_id), []).append(is_counted)
    assert all(sum(ones) == 1 for ones in counted.values())


def _scope(event: Conversion, clicks: dict[UUID, Any]) -> UUID:
    assert event.transaction_scope is not None
    scope = UUID(bytes=event.transaction_scope)
    is_of_click = event.transaction_scope == event.click_id and scope in clicks
    return clicks[scope]["account_id"] if is_of_click else scope


def batches_of(random: Random, records: Sequence[Record]) -> list[list[Record]]:
    """Return batches of all records, with a random order and sizes."""
    left = random.sample(records, len(records))
    batches = []
    while left:
        size = random.choice((1, 2, 5, 20))
        batches.append(left[:size])
        left = left[size:]
    return batches


class SharedSlot(DrainNumber):
    """A drain number that drains share, as when more drains live than there are drain numbers."""

    async def number(self) -> int:
        return 7


@asynccontextmanager
async def processes(services: Services, number: int) -> AsyncIterator[list[Services]]:
    async with AsyncExitStack() as stack:
        others = [
            await stack.enter_async_context(scene.process(services.settings))
            for _ in range(number - 1)
        ]
        yield [services, *others]


async def test_redelivery_in_any_grouping_and_order_changes_nothing(services: Services) -> None:
    random = Random(1)
    sent = traffic(random)
    drain = scene.drain_of(services)
    await drain.apply(sent.records())
    await checked(services, sent)
    before = await scene.dump(services)
    for _ in range(3):
        for batch in batches_of(random, sent.records()):
            await drain.apply(batch)
    assert await scene.dump(services) == before


async def test_a_record_that_is_twice_in_a_batch_counts_once(services: Services) -> None:
    sent = traffic(Random(2))
    await scene.applied(services, [*sent.records(), *sent.records()[::-1]])
    await checked(services, sent)


@pytest.mark.parametrize("shared", [False, True])
@pytest.mark.parametrize("number", [2, 4])
async def test_simultaneous_drains_with_overlapping_batches_count_once(
    services: Services, number: int, shared: bool
) -> None:
    random = Random(number)
    sent = traffic(random, 40, 40)
    kind = SharedSlot if shared else DrainNumber

    async def drain(process: Services, batches: list[list[Record]]) -> None:
        drain = process.ingest.drain(kind(process.stores.redis, process.stores.mongodb))
        while batches:
            try:
                await drain.apply(batches[0])
                batches.pop(0)
            except WriteConflict:  # others were faster each time
                await asyncio.sleep(0)

    async with processes(services, number) as each:
        await asyncio.gather(*(drain(one, batches_of(random, sent.records())) for one in each))
    await checked(services, sent)


async def test_simultaneous_drains_with_the_same_batch_count_once(services: Services) -> None:
    """The drains run in step with each other, many times."""
    random = Random(3)
    async with processes(services, 2) as each:
        drains = [scene.drain_of(one) for one in each]
        everything = Traffic([], [])
        for start in range(0, 100, 10):
            sent = traffic(random, 5, 5)
            events = [msgspec.structs.replace(one, id=one.id + start) for one in sent.events]
            everything.clicks.extend(sent.clicks)
            everything.events.extend(events)
            await asyncio.gather(*(one.apply([*sent.clicks, *events]) for one in drains))
            await ledger.check(services)
    await checked(services, everything)


async def prepared(services: Services, number: int) -> Traffic:
    """A batch that does everything: new ones, a claimed event, one that waits, one moved on."""
    random = Random(number)
    sent = traffic(random, 6, 8)
    events = [msgspec.structs.replace(one, id=one.id + 100 * number) for one in sent.events]
    account = sent.clicks[0].account_id
    of_config = {"account_id": account, "event_config_id": new_id().bytes, "value": "5"}
    unique = {"transaction_id": f"claimed {number}", "transaction_scope": account}
    waiting, claimed = (
        make_conversion(100 * number + 50, sent.clicks[0].id, **of_config),
        make_conversion(100 * number + 51, sent.clicks[1].id, account_id=account, **unique),
    )
    await scene.applied(services, [waiting])
    await services.conversions.store.claim(claimed, [])
    return Traffic(sent.clicks, [*events, waiting, claimed])


async def test_after_a_death_at_any_step_nothing_is_lost_or_counted_twice(
    services: Services,
) -> None:
    """The rollups are right at once; the rest when the batch is delivered again."""
    everything, drain_number = (
        Traffic([], []),
        DrainNumber(services.stores.redis, services.stores.mongodb),
    )
    for at in count():
        sent = await prepared(services, at)
        everything.clicks.extend(sent.clicks)
        everything.events.extend(sent.events)
        try:
            await dying_drain(services, drain_number, at).apply(sent.records())
        except Died:
            await ledger.check(services)
            await services.ingest.drain(drain_number).apply(sent.records())
        else:
            break
    assert at > 20
    await checked(services, everything)


@pytest.mark.parametrize("seed", range(5))
async def test_any_schedule_of_drains_that_die_counts_once(services: Services, seed: int) -> None:
    random = Random(seed)
    sent = traffic(random)
    batches = [batch for _ in range(2) for batch in batches_of(random, sent.records())]
    random.shuffle(batches)
    early = [one for one in sent.events if one.transaction_id and random.random() < 0.3]

    async def drain(process: Services, drain_number: DrainNumber) -> None:
        while batches:
            batch = batches.pop()
            at = random.choice((-1, -1, random.randrange(40)))
            try:
                await dying_drain(process, drain_number, at).apply(batch)
            except (Died, WriteConflict):
                batches.insert(random.randrange(len(batches) + 1), batch)

    async def claim() -> None:
        for one in early:
            await services.conversions.store.claim(one, [])

    async with processes(services, 3) as each:
        kinds = random.choice(
            ((DrainNumber, DrainNumber, DrainNumber), (DrainNumber, SharedSlot, SharedSlot))
        )
        drain_numbers = [
            kind(one.stores.redis, one.stores.mongodb)
            for kind, one in zip(kinds, each, strict=True)
        ]
        async with asyncio.TaskGroup() as together:
            for one in (claim(), *map(drain, each, drain_numbers)):
                together.create_task(one)
        # What was claimed after its entry had been applied is applied by a redelivery.
        await services.ingest.drain(drain_numbers[0]).apply(sent.records())
    await checked(services, sent)

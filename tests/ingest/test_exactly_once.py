"""Everything counts once, whatever is delivered how often, by whom, in which order, and who dies.

At the end everything that is stored must equal the naive model. The rollups must equal what is
stored at every moment.
"""

import asyncio
from datetime import timedelta
from itertools import count
from random import Random

import pytest

from tests.conversions import scene
from tests.factories import make_conversion
from tests.ingest import ledger
from tests.ingest.dying import Died, dying_drain
from tests.ingest.model import Model
from tests.ingest.traffic import (
    SharedNumber,
    Traffic,
    accounts_with_webhooks,
    batches_of,
    processes,
    traffic,
)
from tracker.clock import now
from tracker.ingest.drain_number import DrainNumber
from tracker.ingest.planning.write_set import WriteConflict
from tracker.ingest.record import Record
from tracker.service.services import Services

pytestmark = pytest.mark.redis

RULES = (
    {"max_per_click": 2},
    {"max_per_click": 1},
    {"require_pbk": True},
    {"no_negative_values": True},
    {"max_value": 10},
    {"require_pbk": False, "max_value": None},
)


class World:
    """A database and its model: each step changes both."""

    def __init__(self, services: Services, model: Model, random: Random) -> None:
        self.services, self.model, self.random = services, model, random
        self.accounts = list(model.webhooks)
        kinds = (DrainNumber, DrainNumber, SharedNumber, SharedNumber)
        self._numbers = [kind(services.stores.redis, services.stores.mongodb) for kind in kinds]
        self.sent = traffic(random, self.accounts, 40, 60)

    async def apply(self, batch: list[Record]) -> None:
        """Apply a batch; a drain that dies at it leaves it to another."""
        number, at = self.random.choice(self._numbers), self.random.choice((-1, -1, 5, 12, 20, 30))
        try:
            await dying_drain(self.services, number, at).apply(batch)
        except Died:
            await ledger.check(self.services)
            await self.services.ingest.drain(self.random.choice(self._numbers)).apply(batch)
        self.model.apply(batch)

    async def claim(self) -> None:
        event = self.random.choice([one for one in self.sent.events if one.transaction_id])
        await self.services.conversions.store.claim(event, [])
        self.model.claim(event)

    async def let_an_hour_pass(self) -> None:
        waiting = {"tell_at": {"$gt": now()}}
        due = {"$set": {"tell_at": now() - timedelta(seconds=1)}}
        await self.services.stores.mongodb["events"].update_many(waiting, due)
        while await self.services.ingest.drain(self._numbers[0]).notify_overdue():
            pass
        self.model.let_an_hour_pass()

    async def expire(self) -> None:
        expiring = {"expires_at": {"$exists": True}}
        await self.services.stores.mongodb["events"].delete_many(expiring)
        self.model.expire()

    async def change_rules(self) -> None:
        account, rules = self.random.choice(self.accounts), self.random.choice(RULES)
        await self.services.conversions.account_rules.change(account, rules)
        self.model.set_rules(account, rules)

    async def step(self, batches: list[list[Record]]) -> None:
        rare = (self.claim, self.change_rules, self.let_an_hour_pass, self.expire)
        if self.random.random() < 0.4:
            await self.random.choices(rare, (4, 2, 1, 1))[0]()
        else:
            await self.apply(batches.pop())
        await self.model.check(self.services)


@pytest.mark.parametrize("seed", range(6))
async def test_batches_in_any_order_leave_what_the_model_has(services: Services, seed: int) -> None:
    random = Random(seed)
    world = World(services, await accounts_with_webhooks(services), random)
    batches = [batch for _ in range(2) for batch in batches_of(random, world.sent.records())]
    random.shuffle(batches)
    while batches:
        await world.step(batches)
    twice = [*world.sent.records(), *world.sent.records()[::-1]]
    await scene.applied(services, twice)
    world.model.apply(twice)
    await world.model.check(services)


async def check_simultaneous(services: Services, model: Model, sent: Traffic) -> None:
    """Check the outcome of drains at once by the model, in the order that they had in effect."""
    clicks = await services.stores.mongodb["clicks"].find().to_list(None)
    rows = {row["_id"]: row for row in (*clicks, *await scene.stored_events(services))}
    model.replay(sent.clicks, sent.events, rows)
    await model.check_documents(services)


async def test_after_a_death_at_any_step_nothing_is_lost_or_counted_twice(
    services: Services,
) -> None:
    """The rollups are right at once; the rest when the batch is delivered again."""
    random, model = Random(1), await accounts_with_webhooks(services)
    number = DrainNumber(services.stores.redis, services.stores.mongodb)
    for at in count():
        batch = await batch_of_everything(services, model, random, 1 + 100 * at)
        try:
            await dying_drain(services, number, at).apply(batch)
        except Died:
            await ledger.check(services)
            await services.ingest.drain(number).apply(batch)
        else:
            break
        model.apply(batch)
    assert at > 20
    model.apply(batch)
    await model.check(services)


async def batch_of_everything(
    services: Services, model: Model, random: Random, first: int
) -> list[Record]:
    """Return a batch with new records, an event that is claimed, and one that is pending."""
    sent = traffic(random, list(model.webhooks), 6, 8, first)
    click = sent.clicks[0]
    known = {"account_id": click.account_id, "transaction_scope": click.account_id}
    pending = make_conversion(first + 50, sent.clicks[0].id, account_id=click.account_id)
    claimed = make_conversion(first + 51, click.id, transaction_id=f"claimed {first}", **known)
    await scene.applied(services, [pending])
    model.apply([pending])
    await services.conversions.store.claim(claimed, [])
    model.claim(claimed)
    return [*sent.records(), pending, claimed]


async def test_drains_with_the_same_batch_at_once_count_it_once(services: Services) -> None:
    """The drains run in step with each other, many times."""
    random, model = Random(3), await accounts_with_webhooks(services)
    everything = Traffic([], [])
    async with processes(services, 2) as each:
        drains = [scene.drain_of(one) for one in each]
        for first in range(1, 100, 10):
            sent = traffic(random, list(model.webhooks), 5, 5, first)
            everything.clicks.extend(sent.clicks)
            everything.events.extend(sent.events)
            await asyncio.gather(*(one.apply(sent.records()) for one in drains))
            await ledger.check(services)
    await check_simultaneous(services, model, everything)


@pytest.mark.parametrize("seed", range(5))
async def test_any_schedule_of_drains_that_die_counts_once(services: Services, seed: int) -> None:
    """Each batch is delivered twice or more, and some events are claimed meanwhile."""
    random, model = Random(seed), await accounts_with_webhooks(services)
    account = next(iter(model.webhooks))
    await services.conversions.account_rules.change(account, {"max_per_click": 2})
    model.set_rules(account, {"max_per_click": 2})
    sent = traffic(random, list(model.webhooks))
    batches = [batch for _ in range(2) for batch in batches_of(random, sent.records())]
    random.shuffle(batches)
    early = [one for one in sent.events if one.transaction_id and random.random() < 0.3]

    async def drain(process: Services, number: DrainNumber) -> None:
        while batches:
            batch = batches.pop()
            at = random.choice((-1, -1, random.randrange(40)))
            try:
                await dying_drain(process, number, at).apply(batch)
            except (Died, WriteConflict):  # others were faster each time
                batches.insert(random.randrange(len(batches) + 1), batch)

    async def claim() -> None:
        for one in early:
            await services.conversions.store.claim(one, [])

    async with processes(services, 3) as each:
        kinds = random.choice(((DrainNumber,) * 3, (DrainNumber, SharedNumber, SharedNumber)))
        numbers = [
            kind(one.stores.redis, one.stores.mongodb)
            for kind, one in zip(kinds, each, strict=True)
        ]
        async with asyncio.TaskGroup() as together:
            for one in (claim(), *map(drain, each, numbers)):
                together.create_task(one)
        # What was claimed after its entry had been applied is applied by a redelivery.
        await services.ingest.drain(numbers[0]).apply(sent.records())
    await check_simultaneous(services, model, sent)

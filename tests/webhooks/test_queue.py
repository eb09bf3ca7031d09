"""The queue of accounts: whose turn is next, and that no time in it is ever too late."""

import asyncio
import random
from collections import defaultdict
from datetime import datetime, timedelta
from uuid import UUID

import pytest

from tracker.clock import moment, now
from tracker.ids import new_id
from tracker.service.services import Services
from tracker.webhooks.delivery import DeliveryStatus, new_row
from tracker.webhooks.queue import (
    BLOCKED,
    COLLECTION,
    FRESH,
    DeliveryQueue,
    DueWebhook,
    QueuedAccount,
    SettledAccount,
)
from tracker.webhooks.queue_repair import AHEAD, QueueRepair

AT = moment(1_800_000_000_000)
SECOND = timedelta(seconds=1)


def due(account_id: UUID, webhook_id: UUID, at: datetime = AT) -> DueWebhook:
    return DueWebhook(account_id, webhook_id, at)


async def test_accounts_take_turns_and_the_one_served_longest_ago_is_next(
    services: Services,
) -> None:
    queue, accounts, hook = services.webhooks.queue, [new_id() for _ in range(4)], new_id()
    for number, account in enumerate(accounts):
        await queue.add([due(account, hook, AT + number * SECOND)])
    at, order = AT + 10 * SECOND, list[UUID]()
    for _ in range(10):
        [found] = await queue.next(at, 1)
        order.append(found.account_id)
        await queue.settle([SettledAccount(found, {hook: AT})], at)
        at += SECOND
    assert order == (accounts * 3)[:10]


async def test_accounts_that_are_hardly_late_come_first_and_others_are_not_among_them(
    services: Services,
) -> None:
    queue, hook = services.webhooks.queue, new_id()
    late, later, fresh, future = [new_id() for _ in range(4)]
    times = {late: AT - FRESH, later: AT - SECOND, fresh: AT, future: AT + SECOND}
    await queue.add([due(account, hook, at) for account, at in times.items()])
    assert [one.account_id for one in await queue.fresh(AT, 9)] == [fresh, later]
    assert [one.account_id for one in await queue.next(AT, 9)] == [late, later, fresh]


async def test_a_settled_account_waits_for_its_next_delivery_and_an_idle_one_for_nothing(
    services: Services,
) -> None:
    queue, account, one, other = services.webhooks.queue, new_id(), new_id(), new_id()
    await queue.add([due(account, one), due(account, other)])
    [found] = await queue.next(AT, 9)
    later = AT + 60 * SECOND
    await queue.settle([SettledAccount(found, {one: later, other: None})], AT)
    assert await queue.next(later - SECOND, 9) == await queue.fresh(later - SECOND, 9) == []
    [found] = await queue.next(later, 9)
    assert found.webhooks == {one: later}
    await queue.settle([SettledAccount(found, {one: None})], later)
    [row] = await services.stores.mongodb.reads.of_primary().find(COLLECTION, {})
    assert row.keys() == {"_id", "token", "webhooks"}
    assert row["webhooks"] == {}


async def test_a_blocked_account_lets_others_pass_for_a_moment(services: Services) -> None:
    queue, account, hook = services.webhooks.queue, new_id(), new_id()
    await queue.add([due(account, hook)])
    await queue.settle([SettledAccount(one, {}) for one in await queue.next(AT, 9)], AT)
    assert await queue.next(AT, 9) == await queue.fresh(AT, 9) == []
    [found] = await queue.next(AT + BLOCKED, 9)
    assert found.webhooks == {hook: AT}


async def test_processes_that_add_an_account_at_once_both_add_it(services: Services) -> None:
    account, hooks = new_id(), [new_id() for _ in range(20)]
    queues = [DeliveryQueue(services.stores.mongodb) for _ in hooks]
    await asyncio.gather(
        *(queue.add([due(account, hook)]) for queue, hook in zip(queues, hooks, strict=True))
    )
    [found] = await queues[0].next(AT, 9)
    assert found.webhooks.keys() == set(hooks)


class Model:
    """Deliveries, and senders that have read turns of them and not settled them yet."""

    def __init__(self, queue: DeliveryQueue, seed: int) -> None:
        self.queue = queue
        self.random = random.Random(seed)
        self.accounts = [new_id() for _ in range(2)]
        self.hooks = {one: [new_id() for _ in range(2)] for one in self.accounts}
        self.times: defaultdict[UUID, list[datetime]] = defaultdict(list)
        self.read: list[tuple[QueuedAccount, datetime]] = []
        self.looked: list[tuple[SettledAccount, datetime]] = []
        self.unadded: list[DueWebhook] = []
        self.at = AT

    async def step(self) -> None:
        steps = (self.store, self.add, self.take, self.send, self.look, self.settle)
        await self.random.choice(steps)()
        self.at += timedelta(seconds=self.random.choice((0, 0, 0.2, 3)))

    async def store(self) -> None:
        """Store a delivery that is due now or later, which is added in a later step."""
        account = self.random.choice(self.accounts)
        hook = self.random.choice(self.hooks[account])
        at = self.at + self.random.choice((0, 0, 5, 300)) * SECOND
        self.times[hook].append(at)
        self.unadded.append(due(account, hook, at))

    async def add(self) -> None:
        added, self.unadded = self.unadded, []
        await self.queue.add(added)

    async def take(self) -> None:
        accounts = [*await self.queue.fresh(self.at, 1), *await self.queue.next(self.at, 2)]
        self.read += [(found, self.at) for found in accounts]

    async def send(self) -> None:
        """Claim, finish or retry a delivery that is due."""
        found = [(hook, at) for hook, times in self.times.items() for at in times if at <= self.at]
        if not found:
            return
        hook, at = self.random.choice(found)
        self.times[hook].remove(at)
        account = next(one for one, hooks in self.hooks.items() if hook in hooks)
        match self.random.choice(("claim", "finish", "retry")):
            case "claim":
                self.times[hook].append(self.at + 30 * SECOND)
            case "retry":
                self.times[hook].append(self.at + 5 * SECOND)
                self.unadded.append(due(account, hook, self.at + 5 * SECOND))

    async def look(self) -> None:
        """Look for what is left of some webhooks of a turn."""
        if self.read:
            found, at = self.read.pop(self.random.randrange(len(self.read)))
            hooks = [one for one in found.webhooks if self.random.random() < 0.7]
            next_due = {hook: min(self.times[hook], default=None) for hook in hooks}
            self.looked.append((SettledAccount(found, next_due), at))

    async def settle(self) -> None:
        if self.looked:
            settled, at = self.looked.pop(self.random.randrange(len(self.looked)))
            await self.queue.settle([settled], at)

    async def check(self) -> None:
        """Check that each delivery that was added is looked at when it is due, if not before."""
        looked_at = await self.queue.times(one.bytes for one in self.accounts)
        waiting = {one.webhook_id for one in self.unadded}
        for hook, times in self.times.items():
            if times and hook not in waiting:
                assert looked_at[hook.hex] <= max(min(times), self.at + BLOCKED)


@pytest.mark.parametrize("seed", range(4))
async def test_no_time_is_too_late_however_senders_and_drains_interleave(
    services: Services, seed: int
) -> None:
    model = Model(services.webhooks.queue, seed)
    for _ in range(250):
        await model.step()
        await model.check()


async def test_a_repair_adds_what_is_looked_at_too_late_and_due_soon_and_nothing_else(
    services: Services,
) -> None:
    queue, account, at = services.webhooks.queue, new_id(), now()
    unknown, late, backlog, soon, future, done = [new_id() for _ in range(6)]
    times = {
        unknown: at,
        late: at,
        backlog: at - 60 * SECOND,
        done: at,
        soon: at + 20 * SECOND,
        future: at + 3600 * SECOND,
    }
    documents = [
        {**new_row(new_id(), one, account, at), "due_at": time} for one, time in times.items()
    ]
    documents[3]["status"] = DeliveryStatus.DELIVERED
    await services.stores.mongodb["deliveries"].insert_many(documents)
    await queue.add([due(account, late, at + 30 * SECOND), due(account, backlog, at - SECOND)])
    repair = QueueRepair(services.stores.mongodb, queue)
    looked_at = {late: at, backlog: at - SECOND, unknown: at, soon: times[soon]}
    for number in (3, 0):
        assert await repair.repair(at) == number
        [found] = await queue.next(at, 9)
        assert found.webhooks == looked_at
    later = times[future] - AHEAD
    assert await repair.repair(later) == 1
    [found] = await queue.next(times[future], 9)
    assert found.webhooks[future] == times[future]
    assert await repair.repair(later) == 0

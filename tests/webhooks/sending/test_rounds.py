"""A claim takes accounts in turn, reads only what it takes, and may die between any two steps."""

import contextlib
from contextlib import AsyncExitStack
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

import pytest

from tests.factories import create_webhook
from tests.ingest.dying import Died, Steps
from tests.stores.mongodb.profiler import profiled
from tests.waiting import eventually
from tests.webhooks.receiver import answer
from tests.webhooks.sending.scene import Clock, converted, listening, running, sending, stored
from tracker.clock import moment, now
from tracker.ids import new_id
from tracker.service.services import Services
from tracker.webhooks.deliveries import LEASE
from tracker.webhooks.delivery import new_row
from tracker.webhooks.limits import MAX_DELIVERIES_PER_CLAIM
from tracker.webhooks.queue import COLLECTION, DueWebhook
from tracker.webhooks.sending import sender as sender_module

ACCOUNT = new_id()
HOUR = timedelta(hours=1)


async def store_due(services: Services, accounts: int, webhooks: int, at: datetime) -> list[UUID]:
    """Store a delivery of each of so many webhooks of so many accounts; return the accounts."""
    owners = [new_id() for _ in range(accounts)]
    documents = [
        {**new_row(new_id(), new_id(), account, at), "event_id": 1}
        for account in owners
        for _ in range(webhooks)
    ]
    await services.stores.mongodb["deliveries"].insert_many(documents, ordered=False)
    await services.webhooks.queue.add(
        [DueWebhook(one["account_id"], one["webhook_id"], at) for one in documents]
    )
    return owners


@pytest.mark.parametrize("age", [timedelta(), HOUR], ids=["as fresh", "an hour old"])
async def test_a_fresh_delivery_is_in_the_next_claim_although_ten_thousand_of_others_are_due(
    services: Services, age: timedelta
) -> None:
    await store_due(services, accounts=1000, webhooks=10, at=now() - age)
    async with listening(services, ACCOUNT) as (receiver, _), sending(services) as one:
        for number in (1, 2, 3):
            await converted(services, ACCOUNT)
            await one._start()
            await one._finish()
            assert len(receiver.received) == number
    other = {"account_id": {"$ne": ACCOUNT}, "status": "due"}
    left = await services.stores.mongodb["deliveries"].count_documents(other)
    assert left <= 10_000 - 3 * (MAX_DELIVERIES_PER_CLAIM // 2)


async def test_every_account_of_a_backlog_has_its_turn_although_others_are_fresh(
    services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sender_module, "MAX_DELIVERIES_PER_CLAIM", 4)
    late = await store_due(services, accounts=6, webhooks=1, at=now() - HOUR)
    async with sending(services) as one:
        for _ in range(3):
            await store_due(services, accounts=9, webhooks=1, at=now())
            await one._start()
    cancelled = {row["account_id"] for row in await stored(services) if row["status"] != "due"}
    assert set(late) <= cancelled
    assert len(cancelled) == 12


async def examined(services: Services, clock: Clock) -> dict[str, list[tuple[int, int]]]:
    """Return the keys and documents that each query of a look examines, by collection."""
    async with sending(services, clock) as one, profiled(services.stores.mongodb.database) as rows:
        await one._start()
        await one._finish()
    found: dict[str, list[tuple[int, int]]] = {}
    for row in rows:
        if row["op"] in ("query", "command", "getmore") and "keysExamined" in row:
            counts = (row["keysExamined"], row["docsExamined"])
            found.setdefault(row["ns"].partition(".")[2], []).append(counts)
    return found


async def test_a_claim_examines_no_more_than_it_takes_however_much_is_due(
    services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sender_module, "MAX_DELIVERIES_PER_CLAIM", 5)
    clock = Clock()
    await store_due(services, accounts=300, webhooks=10, at=moment(clock()) - HOUR)
    await store_due(services, accounts=100, webhooks=1, at=moment(clock()) + HOUR)
    for _ in range(5):
        account = new_id()
        for _ in range(2):
            await create_webhook(services, account, "http://127.0.0.1:1/")
        await converted(services, account, 20)
    found = await examined(services, clock)
    assert found.keys() >= {"delivery_queue", "webhooks", "deliveries"}
    for collection, queries in found.items():
        for keys, documents in queries:
            # An index is left one key after the last one that is taken.
            assert keys <= 2 * 5 + 1, (collection, queries)
            assert documents <= 5, (collection, queries)


STEPS = {
    "deliveries": ("claim", "store_content", "next_due", "record", "release"),
    "queue": ("add", "settle"),
}


@pytest.mark.parametrize("at", range(0, 16, 2))
async def test_nothing_is_lost_when_a_sender_dies_between_two_steps(
    services: Services, monkeypatch: pytest.MonkeyPatch, at: int
) -> None:
    """No repair is needed: what it has left is due again with its lease."""
    clock, steps = Clock(), Steps(at)
    async with listening(services, ACCOUNT) as (receiver, _):
        await converted(services, ACCOUNT, 2)
        receiver.behaviour = answer(500)
        async with sending(services, clock) as dying:
            with monkeypatch.context() as patched:
                for room, names in STEPS.items():
                    for name in names:
                        holder: Any = getattr(services.webhooks, room)
                        patched.setattr(holder, name, steps.around(getattr(holder, name)))
                with contextlib.suppress(Died):
                    await dying.burst()
                with contextlib.suppress(Died):
                    await dying._finish()
        receiver.behaviour = answer()
        async with sending(services, clock) as other:
            clock.pass_seconds(LEASE.total_seconds() + 6)
            while await other.burst():
                pass
    assert {row["status"] for row in await stored(services)} == {"delivered"}


async def test_a_sender_takes_no_turn_of_a_backlog_that_another_has_taken(
    services: Services,
) -> None:
    at = now()
    accounts = await store_due(services, accounts=12, webhooks=1, at=at - HOUR)
    async with sending(services) as one, sending(services) as other:
        first = await one._rounds.take(at, 6)
        second = await other._rounds.take(at, 6)
        taken = [one.account_id for one in (*first.accounts, *second.accounts)]
        assert len(taken) == len(set(taken)) >= 8
        assert set(taken) <= set(accounts)


async def test_receivers_that_take_no_more_requests_let_a_backlog_behind_them_pass(
    services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sender_module, "MAX_DELIVERIES_PER_CLAIM", 4)
    async with AsyncExitStack() as stack:
        one = await stack.enter_async_context(sending(services, Clock()))
        hanging = [await stack.enter_async_context(listening(services, new_id())) for _ in range(9)]
        good, behind = await stack.enter_async_context(listening(services, ACCOUNT))
        for _, webhook in (*hanging, (good, behind)):
            await converted(services, webhook.account_id)
        for receiver, webhook in hanging:
            assert one._limiter.acquire(webhook.id, webhook.account_id, receiver.url, 9) == 1
        late = {"$set": {"due_at": now() - HOUR, "turn_at": now() - HOUR}}
        await services.stores.mongodb[COLLECTION].update_many({}, late)
        async with running(one):
            await eventually(lambda: good.received)
        assert not any(receiver.received for receiver, _ in hanging)

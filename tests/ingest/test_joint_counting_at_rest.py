"""Accounts cost the counting ahead nothing while nothing of them arrives."""

import asyncio
from collections import Counter
from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest

from tests.factories import make_click_document
from tests.ingest.stored_arrivals import store_arrival
from tests.stores.mongodb.profiler import profiled
from tracker.accounts.accounts import Account
from tracker.ingest import joint_counting
from tracker.ingest.joint_counting import BUSY_BYTES, JointCounting
from tracker.reports.joint_counts.due_accounts import DueAccounts
from tracker.reports.repair.recount import Recount
from tracker.service.services import Services
from tracker.stores.redis import keys

pytestmark = pytest.mark.redis

NOON = datetime(2099, 2, 3, 12, tzinfo=UTC)  # MongoDB deletes old arrivals.
OVER = datetime(2099, 2, 4, 0, 10, tzinfo=UTC)


@pytest.fixture(autouse=True)
def noon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(joint_counting, "_BUSY_SECONDS", 0.01)
    at(monkeypatch, NOON)


def at(monkeypatch: pytest.MonkeyPatch, moment: datetime) -> None:
    monkeypatch.setattr(joint_counting, "now", lambda: moment)


def counting(services: Services) -> JointCounting:
    return JointCounting(services.stores.mongodb, services.stores.redis)


async def create_accounts(services: Services, number: int) -> list[Account]:
    return [await services.accounts.accounts.create("Acme") for _ in range(number)]


async def click(services: Services, account_id: UUID) -> None:
    """Store a click of noon and what it counts, without its arrival."""
    document = make_click_document(account_id=account_id, at=NOON)
    await services.stores.mongodb["clicks"].insert_one(document)
    calendar = await services.accounts.time_zones.find(account_id)
    await Recount(services.stores.mongodb).correct(account_id, "2099-02-03", calendar)
    await services.stores.mongodb["joint_counts_due"].delete_one({"_id": account_id})


async def make_due(services: Services, account_id: UUID) -> None:
    await DueAccounts(services.stores.mongodb.database).add([account_id], NOON)


async def due(services: Services) -> list[UUID]:
    found = services.stores.mongodb["joint_counts_due"].find({"due_at": {"$exists": True}})
    return [row["_id"] async for row in found]


async def queries(services: Services) -> Counter[str]:
    """Count ahead; return the number of commands, by collection."""
    async with profiled(services.stores.mongodb.database) as rows:
        await counting(services).count_days()
    return Counter(row["ns"].partition(".")[2] for row in rows)


async def periods(services: Services) -> list[str]:
    return sorted(await services.stores.mongodb["joint_counts"].distinct("_id.period"))


async def test_many_accounts_at_rest_are_asked_about_as_little_as_none(services: Services) -> None:
    await counting(services).count_days()
    none = await queries(services)
    await create_accounts(services, 20)
    assert await queries(services) == none
    assert none.keys() <= {"arrivals", "joint_counts_due"}


async def test_only_accounts_with_arrivals_are_looked_at(
    services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    accounts = await create_accounts(services, 3)
    await counting(services).count_days()
    await click(services, accounts[1].id)
    await store_arrival(services, accounts[1].id, NOON)
    at(monkeypatch, NOON + timedelta(minutes=30))
    await counting(services).count_days()
    assert await due(services) == [accounts[1].id]


async def test_a_day_is_counted_when_it_is_over_though_nothing_else_arrived(
    services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    [account] = await create_accounts(services, 1)
    await click(services, account.id)
    await make_due(services, account.id)
    assert await counting(services).count_days() == 0
    at(monkeypatch, OVER - timedelta(seconds=1))
    assert await counting(services).count_days() == 0
    at(monkeypatch, OVER)
    assert await counting(services).count_days() == 1
    assert await periods(services) == ["2099-02-03"]
    assert await due(services) == []


@pytest.mark.parametrize(("clicks", "looks"), [(BUSY_BYTES // 16, 0), (BUSY_BYTES // 16 + 1, 1)])
async def test_an_account_is_looked_at_again_on_its_day_if_much_arrives(
    services: Services, monkeypatch: pytest.MonkeyPatch, clicks: int, looks: int
) -> None:
    [account] = await create_accounts(services, 1)
    await click(services, account.id)
    await make_due(services, account.id)
    await counting(services).count_days()
    await store_arrival(services, account.id, NOON + timedelta(minutes=1), clicks)
    at(monkeypatch, NOON + timedelta(minutes=10))
    assert (await queries(services))["accounts"] == looks


async def test_a_corrected_day_is_counted_again(
    services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    [account] = await create_accounts(services, 1)
    await click(services, account.id)
    await make_due(services, account.id)
    at(monkeypatch, OVER)
    assert await counting(services).count_days() == 1
    document = make_click_document(account_id=account.id, at=NOON)
    await services.stores.mongodb["clicks"].insert_one(document)
    assert await counting(services).count_days() == 0
    monkeypatch.setattr("tracker.reports.repair.recount.now", lambda: OVER)
    await Recount(services.stores.mongodb).correct(account.id, "2099-02-03")
    assert await counting(services).count_days() == 1


async def test_accounts_that_are_due_wait_while_drains_are_behind(services: Services) -> None:
    [account] = await create_accounts(services, 1)
    await make_due(services, account.id)
    await services.stores.redis.xadd(keys.JOURNAL, {"d": b""}, id="1-1")
    task = asyncio.create_task(counting(services).count_days())
    await asyncio.wait([task], timeout=0.1)
    assert await due(services) == [account.id]
    await services.stores.redis.delete(keys.JOURNAL)
    await task
    assert await due(services) == []

"""Which accounts are counted ahead, and when: much has been stored, or a day is over."""

import asyncio
from collections import Counter
from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest

from tests.factories import make_click, make_click_document, make_conversion
from tests.feeds.scene import store_arrivals
from tests.ingest.drain_numbers import drain_number_of
from tests.stores.mongodb.profiler import profiled
from tests.waiting import eventually
from tracker.accounts.accounts import Account
from tracker.clicks.click import Click
from tracker.feeds import arrivals
from tracker.ids import new_id
from tracker.ingest import joint_counting
from tracker.ingest.joint_counting import BUSY_BYTES, JointCounting
from tracker.ingest.record import Record
from tracker.ingest.services import DrainParts
from tracker.reports.joint_counts import due_accounts
from tracker.reports.joint_counts.due_accounts import DueAccounts, StoredTally
from tracker.reports.joint_counts.hour_so_far import STORING_TIME
from tracker.reports.repair.recount import Recount
from tracker.service.services import Services
from tracker.stores.mongodb.transaction import run_in_transaction
from tracker.stores.redis import keys

pytestmark = pytest.mark.redis

NOON = datetime(2099, 2, 3, 12, tzinfo=UTC)  # MongoDB deletes old arrivals.
OVER = datetime(2099, 2, 4, 0, 10, tzinfo=UTC)
MANY = 5


@pytest.fixture(autouse=True)
def noon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(joint_counting, "_BUSY_SECONDS", 0.01)
    monkeypatch.setattr(joint_counting, "MANY_STORED", MANY)
    monkeypatch.setattr(joint_counting, "LARGE_HOUR", MANY)
    at(monkeypatch, NOON)


def at(monkeypatch: pytest.MonkeyPatch, moment: datetime) -> None:
    monkeypatch.setattr(joint_counting, "now", lambda: moment)


def counting(services: Services) -> JointCounting:
    stores = services.stores
    return JointCounting(stores.mongodb, stores.redis, services.journal.backlog, StoredTally())


def clicks(account_id: UUID, number: int, moment: datetime = NOON) -> list[Click]:
    milliseconds = int(moment.timestamp() * 1000)
    return [make_click(account_id, at=milliseconds) for _ in range(number)]


async def due(services: Services) -> dict[UUID, datetime]:
    found = services.stores.mongodb["joint_counts_due"].find({"due_at": {"$exists": True}})
    return {row["_id"]: row["due_at"] async for row in found}


async def store_arrival(
    services: Services, account_id: UUID, at: datetime, clicks: int = 1
) -> None:
    """Store the arrivals of so many clicks, as a drain whose clock says `at`."""
    made = [make_click_document(account_id=account_id.bytes) for _ in range(clicks)]
    rows = [one | {"_id": one["_id"].bytes} for one in made]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(arrivals, "now", lambda: at)
        await run_in_transaction(
            services.stores.mongodb.database,
            lambda session: store_arrivals(services, 0, session, rows),
        )


def parts_of(services: Services) -> DrainParts:
    return services.ingest.parts(drain_number_of(services), serves=False)


async def add_stored(parts: DrainParts) -> None:
    """Look twice: first while much has just been stored, then without anything new."""
    for _ in range(2):
        await parts.joint_counts.add_stored()


async def test_the_stored_clicks_are_counted_before_a_report_asks(
    services: Services, account: Account, monkeypatch: pytest.MonkeyPatch
) -> None:
    parts = parts_of(services)
    await parts.drain.apply(clicks(account.id, MANY))
    await add_stored(parts)
    assert await due(services) == {account.id: NOON + STORING_TIME}
    assert await parts.joint_counts.count_due() == 0
    at(monkeypatch, NOON + STORING_TIME + timedelta(seconds=1))
    assert await parts.joint_counts.count_due() == 1
    [row] = await services.stores.mongodb["joint_counts"].find({}).to_list(None)
    assert row["_id"]["period"] == "2099-02-03T12"
    assert (await due(services))[account.id] > NOON + timedelta(hours=1)


@pytest.mark.parametrize(
    ("records", "is_due"),
    [
        (clicks(UUID(int=1), MANY - 1), False),
        (clicks(UUID(int=1), MANY), True),
        ([*clicks(UUID(int=1), MANY - 1), *clicks(UUID(int=2), MANY - 1)], False),
        ([make_conversion(number, account_id=UUID(int=1).bytes) for number in range(MANY)], True),
        ([make_conversion(number) for number in range(MANY)], False),  # of no account
    ],
)
async def test_only_an_account_with_many_is_due(
    services: Services, records: list[Record], is_due: bool
) -> None:
    parts = parts_of(services)
    for record in records:
        await parts.drain.apply([record])
    await add_stored(parts)
    assert (UUID(int=1) in await due(services)) is is_due
    assert UUID(int=2) not in await due(services)


async def test_an_account_whose_drain_dies_during_a_look_is_due_again(
    services: Services, account: Account, monkeypatch: pytest.MonkeyPatch
) -> None:
    await make_due(services, account.id)
    dying, other = counting(services), counting(services)

    async def die(account_id: UUID) -> object:
        raise RuntimeError("died")

    monkeypatch.setattr(dying, "_missing", die)
    with pytest.raises(RuntimeError):
        await dying.count_due()
    await other.count_due()
    assert account.id in await due(services)
    at(monkeypatch, OVER)
    await other.count_due()
    assert await due(services) == {}


async def test_an_account_is_not_due_while_a_burst_goes_on(
    services: Services, account: Account
) -> None:
    parts = parts_of(services)
    for new, is_due in ((MANY, False), (MANY, False), (MANY - 1, True)):
        await parts.drain.apply(clicks(account.id, new))
        await parts.joint_counts.add_stored()
        assert (account.id in await due(services)) is is_due


def test_the_tally_forgets_accounts_beyond_its_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(due_accounts, "_TALLIED_ACCOUNTS", 3)
    tally = StoredTally()
    accounts = [new_id() for _ in range(4)]
    tally.add(one.bytes for one in accounts[:3])
    assert tally.take(2) == []
    tally.add([accounts[0].bytes])
    assert tally.take(2) == [accounts[0]]
    tally.add([accounts[0].bytes])
    tally.add([accounts[3].bytes])
    assert [tally.take(1) for _ in range(2)] == [[], []]


async def test_the_loop_of_a_drain_counts_what_the_drain_has_stored(
    services: Services, account: Account, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(joint_counting, "_LOOK_SECONDS", 0.05)
    at(monkeypatch, NOON + 2 * STORING_TIME)
    monkeypatch.setattr(joint_counting, "STORING_TIME", timedelta())
    parts, stop = parts_of(services), asyncio.Event()
    running = asyncio.create_task(parts.joint_counts.run(stop))
    await parts.drain.apply(clicks(account.id, MANY))
    await eventually(lambda: services.stores.mongodb["joint_counts"].count_documents({}))
    stop.set()
    await running


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
    assert list(await due(services)) == [accounts[1].id]


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
    assert await due(services) == {}


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
    assert list(await due(services)) == [account.id]
    await services.stores.redis.delete(keys.JOURNAL)
    await task
    assert await due(services) == {}

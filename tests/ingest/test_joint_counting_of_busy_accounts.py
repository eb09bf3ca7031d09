"""An account of which drains have stored much is counted ahead within a minute."""

import asyncio
from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest

from tests.factories import make_click, make_conversion
from tests.ingest.drain_numbers import drain_number_of
from tests.waiting import eventually
from tracker.accounts.accounts import Account
from tracker.clicks.click import Click
from tracker.ids import new_id
from tracker.ingest import joint_counting
from tracker.ingest.joint_counting import JointCounting
from tracker.ingest.record import Record
from tracker.ingest.services import DrainParts
from tracker.reports.joint_counts import due_accounts
from tracker.reports.joint_counts.due_accounts import DueAccounts, StoredTally
from tracker.reports.joint_counts.hour_so_far import STORING_TIME
from tracker.service.services import Services

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


def clicks(account_id: UUID, number: int, moment: datetime = NOON) -> list[Click]:
    milliseconds = int(moment.timestamp() * 1000)
    return [make_click(account_id, at=milliseconds) for _ in range(number)]


async def due(services: Services) -> dict[UUID, datetime]:
    found = services.stores.mongodb["joint_counts_due"].find({"due_at": {"$exists": True}})
    return {row["_id"]: row["due_at"] async for row in found}


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
    await DueAccounts(services.stores.mongodb.database).add([account.id], NOON)
    counting = JointCounting(services.stores.mongodb, services.stores.redis)

    async def die(account_id: UUID) -> object:
        raise RuntimeError("died")

    monkeypatch.setattr(counting, "_missing", die)
    with pytest.raises(RuntimeError):
        await counting.count_due()
    other = JointCounting(services.stores.mongodb, services.stores.redis)
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

"""A write set is stored with what it counts, or not at all, wherever it dies."""

import asyncio
from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import Any

import pytest
from pymongo.errors import DocumentTooLarge, OperationFailure

from tests.conversions import scene
from tests.factories import AT_MS, make_click, make_conversion
from tests.ingest import ledger
from tests.ingest.dying import Died, Steps, dying_mongodb
from tests.ports import free_port
from tracker.clicks.document import ClickDocument
from tracker.conversions.document import ConversionStatus, document
from tracker.ids import new_id
from tracker.ingest.batch_writer import BatchWriter, Move, WriteConflict, WriteSet
from tracker.ingest.drain_number import DrainNumber
from tracker.reports.rollups import stored_rollups
from tracker.service.services import Services
from tracker.stores.builtin.servers import mongodb_uri
from tracker.stores.mongodb.database import MongoDB
from tracker.stores.mongodb.documents import as_read

pytestmark = pytest.mark.redis

ACCOUNT, LINK = new_id(), new_id()
CONFIG = {"account_id": ACCOUNT.bytes, "event_config_id": new_id().bytes}
MONEY = {"value": "12.50", "payout": "0.000000001"}
Document = Any


def click(services: Services, **changed: Any) -> ClickDocument:
    made = make_click(ACCOUNT, link_id=LINK.bytes, **changed)
    return services.clicks.enrichment.document(made)


def event(number: int, **fields: Any) -> Document:
    return document(make_conversion(number, **{**CONFIG, **MONEY, **fields}))


def writer_of(services: Services) -> BatchWriter:
    return BatchWriter(
        services.stores.mongodb,
        DrainNumber(services.stores.redis, services.stores.mongodb),
        services.webhooks.queue,
    )


async def everything(services: Services) -> tuple[list[Document], WriteSet]:
    """Store events, and return a write set of a click, an event and their moves."""
    pending = [event(number, click_id=new_id().bytes) for number in (1, 2)]
    await writer_of(services).write(WriteSet([], pending, []))
    moves = [
        Move(one, {"status": ConversionStatus.FOREIGN_CLICK, "country": "DE"}) for one in pending
    ]
    return pending, WriteSet([click(services)], [event(3)], moves)


async def test_clicks_events_and_moves_are_stored_with_what_they_count(
    services: Services,
) -> None:
    _, write_set = await everything(services)
    await writer_of(services).write(write_set)
    assert await services.stores.mongodb["clicks"].find().to_list(None) == [
        as_read(one) for one in write_set.clicks
    ]
    rows = await scene.stored_events(services)
    assert [row["status"] for row in rows] == ["foreign_click", "foreign_click", "no_click"]
    found = await ledger.totals(services)
    assert found == {"clicks": 1, "conversions": 3, "value": 37_500_000_000, "payout": 3}
    await ledger.check(services)


async def test_an_empty_write_set_asks_neither_store(services: Services) -> None:
    nothing: Any = None
    nowhere = MongoDB(mongodb_uri(free_port()), "any")
    await BatchWriter(nowhere, nothing, nothing).write(WriteSet([], [], []))
    await nowhere.close()
    assert await scene.dump(services) == {name: [] for name in await scene.dump(services)}


async def test_an_event_that_counts_nowhere_is_stored_without_rollups(services: Services) -> None:
    unknown = document(make_conversion(1, new_id().bytes))
    await writer_of(services).write(WriteSet([], [unknown], []))
    assert len(await scene.stored_events(services)) == 1
    assert await services.stores.mongodb["rollups"].count_documents({}) == 0


def again_click(write_set: WriteSet) -> WriteSet:
    return write_set._replace(events=[], moves=[])


def again_event(write_set: WriteSet) -> WriteSet:
    return write_set._replace(clicks=[], moves=[])


def again_move(write_set: WriteSet) -> WriteSet:
    return write_set._replace(clicks=[], events=[])


@pytest.mark.parametrize("part", [again_click, again_event, again_move, lambda whole: whole])
async def test_documents_that_are_stored_already_conflict_and_change_nothing(
    services: Services, part: Callable[[WriteSet], WriteSet]
) -> None:
    _, write_set = await everything(services)
    await writer_of(services).write(write_set)
    before = await scene.dump(services)
    more = WriteSet([click(services), click(services)], [event(7)], [])
    with pytest.raises(WriteConflict):
        old = part(write_set)
        both = WriteSet(more.clicks + old.clicks, more.events + old.events, old.moves)
        await writer_of(services).write(both)
    assert await scene.dump(services) == before


async def test_a_write_set_with_the_same_id_twice_is_refused(services: Services) -> None:
    one = click(services)
    with pytest.raises(WriteConflict):
        await writer_of(services).write(WriteSet([one, one.copy()], [], []))
    assert await services.stores.mongodb["clicks"].count_documents({}) == 0


async def test_a_transaction_id_that_is_taken_is_a_conflict_by_insert_and_by_move(
    services: Services,
) -> None:
    held = {"transaction_id": "t", "transaction_scope": ACCOUNT.bytes}
    click_id = new_id()
    waiting = event(
        2, click_id=click_id.bytes, transaction_id="t", transaction_scope=click_id.bytes
    )
    await writer_of(services).write(WriteSet([], [event(1, **held), waiting], []))
    before = await scene.dump(services)
    moved = Move(
        waiting, {"status": ConversionStatus.ATTRIBUTED, "transaction_scope": ACCOUNT.bytes}
    )
    for write_set in (WriteSet([], [event(3, **held)], []), WriteSet([], [], [moved])):
        with pytest.raises(WriteConflict):
            await writer_of(services).write(write_set)
    assert await scene.dump(services) == before


@pytest.mark.parametrize("state", ["gone", "moved on", "claimed"])
async def test_a_move_from_a_state_that_has_passed_is_a_conflict(
    services: Services, state: str
) -> None:
    pending, write_set = await everything(services)
    one = {"_id": pending[1]["_id"]}
    if state == "gone":
        await services.stores.mongodb["events"].delete_one(one)
    else:
        await services.stores.mongodb["events"].update_one(one, {"$set": {"status": state}})
    before = await scene.dump(services)
    with pytest.raises(WriteConflict):
        await writer_of(services).write(write_set)
    assert await scene.dump(services) == before


@pytest.mark.parametrize("at", range(12))
async def test_a_death_before_the_commit_stores_nothing_and_a_second_try_stores_all(
    services: Services, at: int
) -> None:
    """Five writes, with a step before and after each."""
    _, write_set = await everything(services)
    before = await scene.dump(services)
    drain_number = DrainNumber(services.stores.redis, services.stores.mongodb)
    queue = services.webhooks.queue
    with pytest.raises(Died):
        dying = dying_mongodb(services.stores.mongodb, Steps(at))
        await BatchWriter(dying, drain_number, queue).write(write_set)
    assert await scene.dump(services) == before
    await BatchWriter(services.stores.mongodb, drain_number, queue).write(write_set)
    await ledger.check(services)
    assert (await ledger.totals(services))["clicks"] == 1


async def test_twelve_steps_are_all_that_lead_to_a_commit(services: Services) -> None:
    _, write_set = await everything(services)
    alive = dying_mongodb(services.stores.mongodb, Steps(12))
    await BatchWriter(
        alive, DrainNumber(services.stores.redis, services.stores.mongodb), services.webhooks.queue
    ).write(write_set)
    await ledger.check(services)


@pytest.mark.parametrize(
    ("broken", "error"),
    [
        ({"query": "x" * (17 * 1024 * 1024)}, DocumentTooLarge),
        ({"_id": ["an array"]}, OperationFailure),
    ],
    ids=["too large", "bad id"],
)
async def test_a_refused_document_fails_its_whole_write_set_and_is_named(
    services: Services, broken: Any, error: type[Exception]
) -> None:
    with pytest.raises(error) as caught:
        await writer_of(services).write(
            WriteSet([click(services), click(services) | broken], [event(1)], [])
        )
    assert not isinstance(caught.value, WriteConflict)
    assert await services.stores.mongodb["clicks"].count_documents({}) == 0
    assert await services.stores.mongodb["rollups"].count_documents({}) == 0


async def test_a_click_is_not_stored_when_its_rollup_cannot_be_updated(services: Services) -> None:
    """Somebody has changed a document by hand."""
    writer = writer_of(services)
    await writer.write(WriteSet([click(services)], [], []))
    await services.stores.mongodb["rollups"].update_many({}, {"$set": {"total": 5}})
    with pytest.raises(OperationFailure) as caught:
        await writer.write(WriteSet([click(services)], [], []))
    assert caught.value.code == 28
    assert await services.stores.mongodb["clicks"].count_documents({}) == 1


@pytest.mark.parametrize("shared", [False, True])
async def test_simultaneous_write_sets_all_count(
    services: Services, shared: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They count too if they share a drain number, one after the other."""
    if shared:
        monkeypatch.setattr(DrainNumber, "number", lambda _: asyncio.sleep(0, 3))

    async def several() -> None:
        writer = writer_of(services)
        for _ in range(6):
            await writer.write(WriteSet([click(services) for _ in range(3)], [], []))

    await asyncio.gather(*(several() for _ in range(4)))
    assert (await ledger.totals(services))["clicks"] == 72
    await ledger.check(services)
    drain_numbers = await services.stores.mongodb["rollups"].distinct("_id.slot")
    assert len(drain_numbers) == (1 if shared else 4)


async def test_the_cause_of_a_conflict_can_be_read_at_once(services: Services) -> None:
    """Another drain has stored it just now, and perhaps no majority has it yet."""

    async def written(writer: BatchWriter, one: Document) -> bool:
        """Return whether another write set was first."""
        try:
            await writer.write(
                WriteSet([], [], [Move(one, {"status": ConversionStatus.FOREIGN_CLICK})])
            )
        except WriteConflict:
            [row] = (await services.conversions.store.stored([one["_id"]])).values()
            assert row["status"] == "foreign_click"
            return True
        return False

    async with scene.process(services.settings) as other:
        both = [writer_of(services), writer_of(other)]
        for number in range(1, 41):
            one = event(number, click_id=new_id().bytes)
            await both[0].write(WriteSet([], [one], []))
            assert sum(await asyncio.gather(*(written(writer, one) for writer in both))) == 1
    await ledger.check(services)


async def test_stored_sums_of_money_are_exact(services: Services) -> None:
    amounts: Sequence[str] = ["999999999999999.999999999", "0.000000001", "-0.1"] * 20
    writer = writer_of(services)
    for number, amount in enumerate(amounts, 1):
        await writer.write(WriteSet([], [event(number, value=amount, payout=None)], []))
    assert (await ledger.totals(services))["value"] == 20 * (10**24 - 10**8)
    row: Any = await services.stores.mongodb["rollups"].find_one({"_id.of": "account"})
    assert row["total"]["value"].to_decimal() == Decimal("19999999999999998")


async def test_a_stored_rollup_that_is_taken_for_a_new_one_is_added_to(
    services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stored_rollups, "LOOKED_UP_IN_VAIN", 1)
    number = DrainNumber(services.stores.redis, services.stores.mongodb)
    guessing, other = (
        BatchWriter(services.stores.mongodb, number, services.webhooks.queue) for _ in range(2)
    )
    await guessing.write(WriteSet([click(services)], [], []))
    next_day = AT_MS + 24 * 3600 * 1000
    for writer in (other, guessing, guessing):
        await writer.write(WriteSet([click(services, at=next_day)], [], []))
    assert (await ledger.totals(services))["clicks"] == 4
    await ledger.check(services)

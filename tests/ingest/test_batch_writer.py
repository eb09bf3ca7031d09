"""A write set is stored with what it counts, or not at all, wherever it dies."""

import asyncio
from collections.abc import Sequence
from decimal import Decimal
from typing import Any

import pytest
from pymongo.errors import DocumentTooLarge, OperationFailure

from tests.conversions import scene
from tests.factories import AT_MS, make_click, make_conversion
from tests.ingest import ledger
from tracker.clicks.document import ClickDocument
from tracker.conversions.document import ConversionStatus, document
from tracker.ids import new_id
from tracker.ingest.batch_writer import BatchWriter, WriteConflict
from tracker.ingest.drain_number import DrainNumber
from tracker.ingest.plan import Move, WriteSet
from tracker.reports.rollups import stored_rollups
from tracker.reports.rollups.layout import DRAIN_NUMBER
from tracker.service.services import Services

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
    drain_numbers = await services.stores.mongodb["rollups"].distinct(f"_id.{DRAIN_NUMBER}")
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

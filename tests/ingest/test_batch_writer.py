"""A write set is stored with what it counts, or not at all, wherever it dies."""

from collections.abc import Sequence
from decimal import Decimal
from typing import Any

import pytest
from pymongo.errors import DocumentTooLarge, OperationFailure

from tests.factories import AT_MS, make_click, make_conversion
from tests.ingest import ledger
from tests.stores.mongodb.profiler import profiled
from tracker.clicks.document import ClickDocument
from tracker.conversions.new_document import document
from tracker.ids import new_id
from tracker.ingest.batch_writer import BatchWriter
from tracker.ingest.drain_number import DrainNumber
from tracker.ingest.planning.write_set import WriteConflict, WriteSet
from tracker.reports.rollups import stored_rollups
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


async def test_after_a_conflict_a_majority_has_the_other_drains_documents(
    services: Services,
) -> None:
    """Otherwise the reads for the next plan might not find them."""
    writes = WriteSet([click(services)], [], [])
    await writer_of(services).write(writes)
    async with profiled(services.stores.mongodb.database) as rows:
        with pytest.raises(WriteConflict):
            await writer_of(services).write(writes)
    assert rows[-1]["op"] == "query"
    assert "afterClusterTime" in rows[-1]["command"]["readConcern"]

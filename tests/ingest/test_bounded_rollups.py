"""No rollup grows without a bound, and reports stay exact."""

from collections import Counter
from collections.abc import Sequence
from datetime import date
from typing import Any

import pytest
from bson import encode
from pymongo.errors import OperationFailure

from tests.conversions import scene
from tests.factories import make_click, make_conversion
from tests.ingest import ledger
from tracker.clicks.click import Click
from tracker.ids import new_id
from tracker.ingest import batch_writer
from tracker.ingest.drain import Drain
from tracker.reports.query import ReportQuery
from tracker.reports.repair.recount import Recount
from tracker.reports.rollups.parts import MAX_CELLS, PARTS
from tracker.service.services import Services
from tracker.stores.mongodb.documents import DOCUMENT_TOO_LARGE

pytestmark = pytest.mark.redis

ACCOUNT = new_id()
DAY = "2025-12-29"
MAX_BYTES = 16 * 1024 * 1024


def clicks_of(names: Sequence[str]) -> list[Click]:
    link_id = new_id().bytes
    return [make_click(ACCOUNT, domain_name=name, link_id=link_id) for name in names]


def domains(first: int, end: int) -> list[str]:
    return [f"d{number}.example.com" for number in range(first, end)]


async def rollups(services: Services, of: str = "account") -> list[dict[str, Any]]:
    return await services.stores.mongodb["rollups"].find({"_id.of": of}).to_list(None)


async def report(services: Services, group_by: Any) -> Counter[str]:
    day = date.fromisoformat(DAY)
    query = ReportQuery(account_id=ACCOUNT, first=day, last=day, group_by=group_by, page_size=10**6)
    found = await services.reports.reports.run(query)
    return Counter({row.key: row.measures.clicks + row.measures.conversions for row in found.rows})


async def check_bounded(services: Services, of: str = "account") -> None:
    for row in await rollups(services, of):
        assert len(row.get("domain", ())) + len(row.get("event", ())) <= MAX_CELLS


@pytest.mark.parametrize("batch", [90, 3 * MAX_CELLS])
async def test_domains_fill_a_document_to_its_bound_and_then_its_parts(
    services: Services, batch: int
) -> None:
    drain = scene.drain_of(services)
    names = domains(0, 3 * MAX_CELLS)
    for start in range(0, len(names), batch):
        await drain.apply(clicks_of(names[start : start + batch]))
    await drain.apply(clicks_of(names[:90]))
    await check_bounded(services)
    assert len(await rollups(services)) == 1 + PARTS
    assert await report(services, "domain") == Counter(names) + Counter(names[:90])
    assert await report(services, "country") == {"US": len(names) + 90}
    await ledger.check(services)


async def test_event_configurations_fill_a_document_to_its_bound_too(services: Services) -> None:
    drain = scene.drain_of(services)
    click = make_click(ACCOUNT)
    configs = [new_id() for _ in range(2 * MAX_CELLS)]
    known: dict[str, Any] = {"click_id": click.id, "account_id": ACCOUNT.bytes, "checked": True}
    events = [
        make_conversion(number, **known, event_config_id=config.bytes, value="1.5")
        for number, config in enumerate(configs, 1)
    ]
    await drain.apply([click])
    for start in range(0, len(events), 100):
        await drain.apply(events[start : start + 100])
    for of in ("account", "link"):
        await check_bounded(services, of)
        assert len(await rollups(services, of)) > PARTS // 2
    found = await report(services, "event")
    assert {found[str(config)] for config in configs} == {1}
    await ledger.check(services)


async def filled(services: Services, drain: Drain) -> None:
    """Let a drain of another release have filled the document up to 16 MB."""
    await drain.apply(clicks_of(domains(0, 1)))
    [row] = await rollups(services)
    cell = {"clicks": 1, "unique": 1}
    names = [f"{number:0250}" for number in range(70_000)]
    each = len(encode({names[0]: cell})) - len(encode({}))
    names = names[: (MAX_BYTES - 20_000) // each]
    # In parts: a write and its copy in the oplog must fit into the cache of a trial's mongod.
    size = len(names) // 4 + 1
    for start in range(0, len(names), size):
        added = {"$literal": dict.fromkeys(names[start : start + size], cell)}
        grow = [{"$set": {"domain": {"$mergeObjects": ["$domain", added]}}}]
        await services.stores.mongodb["rollups"].update_one({"_id": row["_id"]}, grow)


async def test_a_batch_that_would_pass_16_megabytes_is_stored(services: Services) -> None:
    drain = scene.drain_of(services)
    await filled(services, drain)
    names = [f"{'d' * 60}.{'e' * 60}.{'f' * 60}.{number:060}" for number in range(200)]
    await drain.apply(clicks_of(names))
    assert await services.stores.mongodb["clicks"].count_documents({}) == 201
    size = {"$project": {"size": {"$bsonSize": "$$ROOT"}}}
    found = services.stores.mongodb["rollups"].aggregate([{"$match": {"_id.of": "account"}}, size])
    sizes = [row["size"] async for row in found]
    assert max(sizes) < MAX_BYTES
    assert len(sizes) > PARTS // 2


async def test_a_correction_of_many_cells_is_divided(services: Services) -> None:
    names = domains(0, 2 * MAX_CELLS)
    await scene.applied(services, clicks_of(names))
    await services.stores.mongodb["rollups"].delete_many({})
    await Recount(services.stores.mongodb).correct(ACCOUNT, DAY)
    await check_bounded(services)
    assert await report(services, "domain") == Counter(names)
    await ledger.check(services)


async def test_a_document_that_is_too_large_even_so_is_an_error_and_no_endless_loop(
    services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    attempts: list[str] = []

    async def refused(database: Any, collection: str, *_: Any) -> int:
        attempts.append(collection)
        raise OperationFailure("too large", DOCUMENT_TOO_LARGE[0])

    monkeypatch.setattr(batch_writer, "run_updates", refused)
    with pytest.raises(OperationFailure):
        await scene.applied(services, clicks_of(domains(0, 3)))
    assert len(attempts) == 2

"""A drain inserts the rollups that are not stored, and updates those that are."""

from typing import Any

from tests.reports.rollups.examples import CLICK, EVENT, JOINED
from tests.stores.mongodb.profiler import profiled
from tracker.ids import new_id
from tracker.reports.rollups.rollup import Rollup
from tracker.reports.rollups.stored_rollups import StoredRollups, inserted
from tracker.service.services import Services

Upserts = list[dict[str, Any]]


def upserts_of(*documents: dict[str, Any]) -> Upserts:
    rollup = Rollup()
    for one in documents:
        (rollup.add_event if "status" in one else rollup.add_click)(one)
    return list(rollup.updates(3))


async def upsert(services: Services, upserts: Upserts) -> None:
    database = services.stores.mongodb.database
    command = {"update": "rollups", "updates": upserts}
    answer = await database.command(command, codec_options=database.codec_options)
    assert "writeErrors" not in answer


async def kinds(stored: StoredRollups, upserts: Upserts) -> tuple[int, int]:
    """Return the numbers of inserts and of updates."""
    writes = await stored.writes(upserts)
    return len(writes.inserts), len(writes.updates)


async def test_an_insert_stores_what_the_upsert_would(services: Services) -> None:
    rollup = Rollup()
    rollup.add_click(CLICK | {"domain_name": "", "country": "$.."})
    rollup.add_event(JOINED)
    rollup.add_event(EVENT, sign=-1)
    upserts = list(rollup.updates(3))
    await upsert(services, upserts)
    rollups = services.stores.mongodb["rollups"]
    by_upserts = await rollups.find().sort("_id", 1).to_list(None)
    await rollups.delete_many({})
    await rollups.insert_many([inserted(one) for one in upserts])
    assert await rollups.find().sort("_id", 1).to_list(None) == by_upserts


async def test_documents_of_others_are_looked_up_and_own_ones_are_remembered(
    services: Services,
) -> None:
    upserts = upserts_of(CLICK, EVENT)
    stored = StoredRollups(services.stores.mongodb.reads)
    assert await kinds(stored, upserts) == (3, 0)
    await upsert(services, upserts[:1])
    assert await kinds(stored, upserts) == (2, 1)
    stored.remember(upserts)
    async with profiled(services.stores.mongodb.database) as rows:
        assert await kinds(stored, upserts) == (0, 3)
    assert not rows


async def test_another_number_has_other_documents(services: Services) -> None:
    rollup = Rollup()
    rollup.add_click(CLICK)
    stored = StoredRollups(services.stores.mongodb.reads)
    stored.remember(list(rollup.updates(3)))
    assert await kinds(stored, list(rollup.updates(4))) == (2, 0)


async def test_memory_is_bounded_and_what_is_forgotten_is_looked_up(services: Services) -> None:
    stored = StoredRollups(services.stores.mongodb.reads, max_remembered=2)
    first, second, third = (upserts_of(CLICK | {"account_id": new_id()}) for _ in range(3))
    for one in (first, second[:1]):
        stored.remember(one)
    assert await kinds(stored, first) == (0, 2)
    stored.remember(second)
    stored.remember(third)
    await upsert(services, first[:1])
    assert await kinds(stored, first) == (1, 1)


def test_inserts_of_equal_visits_share_no_ids() -> None:
    first, second = (inserted(upserts_of(CLICK | {"link_id": new_id()})[0]) for _ in range(2))
    assert first.pop("_id") != second.pop("_id")
    assert first == second

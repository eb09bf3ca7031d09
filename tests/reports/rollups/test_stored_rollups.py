"""A drain inserts the rollups that are not stored, and updates those that are."""

from typing import Any

import pytest

from tests.reports.rollups.examples import CLICK, EVENT, JOINED
from tests.stores.mongodb.profiler import profiled
from tracker.ids import new_id
from tracker.reports.rollups import stored_rollups
from tracker.reports.rollups.rollup import Rollup
from tracker.reports.rollups.stored_rollups import StoredRollups
from tracker.reports.rollups.upsert import Upsert
from tracker.service.services import Services

Upserts = list[Upsert]


def upserts_of(*documents: dict[str, Any]) -> Upserts:
    rollup = Rollup()
    for one in documents:
        (rollup.add_event if "status" in one else rollup.add_click)(one)
    return list(rollup.upserts(3))


async def upsert(services: Services, upserts: Upserts) -> None:
    database = services.stores.mongodb.database
    command = {"update": "rollups", "updates": [one.statement() for one in upserts]}
    answer = await database.command(command, codec_options=database.codec_options)
    assert "writeErrors" not in answer


async def kinds(stored: StoredRollups, upserts: Upserts) -> tuple[int, int]:
    """Return the numbers of inserts and of updates."""
    writes = await stored.writes(upserts)
    return len(writes.inserts), len(writes.updates)


@pytest.mark.parametrize(
    "clicks",
    [
        [{"domain_name": "", "country": "$.."}],
        [{"domain_name": "a.test"}, {"domain_name": "b.test"}],
        [{"domain_name": "a.test"}, {"domain_name": "b.test"}, {"domain_name": "a.test", "os": ""}],
        [{"unique": True}, {"unique": False}],
        [],
    ],
)
@pytest.mark.parametrize("has_change", [True, False])
async def test_an_insert_stores_what_the_upsert_would(
    services: Services, clicks: list[dict[str, Any]], has_change: bool
) -> None:
    rollup = Rollup()
    for one in clicks:
        rollup.add_click(CLICK | one)
    rollup.add_event(JOINED)
    if has_change:
        rollup.add_event(EVENT, sign=-1)
    upserts = list(rollup.upserts(3))
    await upsert(services, upserts)
    rollups = services.stores.mongodb["rollups"]
    by_upserts = await rollups.find().sort("_id", 1).to_list(None)
    await rollups.delete_many({})
    await rollups.insert_many([one.document() for one in upserts])
    assert await rollups.find().sort("_id", 1).to_list(None) == by_upserts


async def test_documents_of_others_are_looked_up_and_own_ones_are_remembered(
    services: Services,
) -> None:
    upserts = upserts_of(CLICK, EVENT)
    stored = StoredRollups(services.stores.mongodb.reads)
    assert await kinds(stored, upserts) == (3, 0)
    await upsert(services, upserts[:1])
    assert await kinds(stored, upserts) == (2, 1)
    stored.remember(await stored.writes(upserts))
    async with profiled(services.stores.mongodb.database) as rows:
        assert await kinds(stored, upserts) == (0, 3)
    assert not rows


async def test_another_number_has_other_documents(services: Services) -> None:
    rollup = Rollup()
    rollup.add_click(CLICK)
    stored = StoredRollups(services.stores.mongodb.reads)
    stored.remember(await stored.writes(list(rollup.upserts(3))))
    assert await kinds(stored, list(rollup.upserts(4))) == (2, 0)


async def test_memory_is_bounded_and_what_is_forgotten_is_looked_up(services: Services) -> None:
    stored = StoredRollups(services.stores.mongodb.reads, max_remembered=2)
    first, second, third = (upserts_of(CLICK | {"account_id": new_id()}) for _ in range(3))
    for one in (first, second[:1]):
        stored.remember(await stored.writes(one))
    assert await kinds(stored, first) == (0, 2)
    for one in (second, third):
        stored.remember(await stored.writes(one))
    await upsert(services, first[:1])
    assert await kinds(stored, first) == (1, 1)


async def test_no_document_is_looked_up_after_many_in_vain_until_one_is_a_duplicate(
    services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stored_rollups, "LOOKED_UP_IN_VAIN", 4)
    stored = StoredRollups(services.stores.mongodb.reads)
    first, second, third = (upserts_of(CLICK | {"account_id": new_id()}) for _ in range(3))
    await upsert(services, third)
    for one in (first, second):
        assert not (await stored.writes(one)).is_guess
    async with profiled(services.stores.mongodb.database) as rows:
        guess = await stored.writes(third)
    assert not rows
    assert guess.is_guess
    assert len(guess.inserts) == len(third)
    stored.refuse(guess)
    assert await kinds(stored, third) == (0, 2)
    for one in (first, second, first):  # twice as many
        assert not (await stored.writes(one)).is_guess
    assert not (await stored.writes(second)).is_guess
    assert (await stored.writes(first)).is_guess


async def test_duplicates_that_were_looked_up_are_taken_for_stored(services: Services) -> None:
    upserts = upserts_of(CLICK)
    stored = StoredRollups(services.stores.mongodb.reads)
    stored.refuse(await stored.writes(upserts))
    assert await kinds(stored, upserts) == (0, 2)


def test_inserts_of_equal_visits_share_no_ids() -> None:
    first, second = (upserts_of(CLICK | {"link_id": new_id()})[0].document() for _ in range(2))
    assert first.pop("_id") != second.pop("_id")
    assert first == second

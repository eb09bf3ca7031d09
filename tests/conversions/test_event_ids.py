"""Event ids are positive, and never given twice, whatever store is lost."""

import asyncio
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import msgspec
import pytest

from config.settings import Settings
from tests.conversions import scene
from tests.factories import make_conversion
from tests.ports import free_port
from tracker.conversions import event_ids
from tracker.conversions.event_ids import EventIds, SpareBlock
from tracker.errors import Unavailable
from tracker.service.services import Services
from tracker.stores.mongodb import drivers


def without_mongodb(settings: Settings) -> Settings:
    return msgspec.structs.replace(
        settings, mongodb_uri=f"mongodb://127.0.0.1:{free_port()}/?directConnection=true"
    )


async def given(ids: EventIds, number: int) -> list[int]:
    return list(await asyncio.gather(*(ids.next() for _ in range(number))))


async def counter(services: Services) -> int:
    row: Any = await services.stores.mongodb["counters"].find_one({"_id": "event_id"})
    return int(row["last"])


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(event_ids, "BLOCK_IDS", 10_000)


async def test_ids_are_positive_and_unique_across_processes(services: Services) -> None:
    async with scene.process(services.settings) as other:
        parts = await asyncio.gather(
            *(given(each.conversions.event_ids, 12_000) for each in (services, other, services))
        )
    ids = [number for part in parts for number in part]
    assert len(set(ids)) == len(ids) == 36_000
    assert min(ids) > 0
    assert max(ids) < 2**53


async def test_ids_of_one_process_grow(services: Services) -> None:
    ids = await given(services.conversions.event_ids, 25_000)
    assert ids == sorted(set(ids))


async def test_the_next_block_is_fetched_before_the_last_is_used_up(services: Services) -> None:
    await services.conversions.event_ids.start()
    granted = await counter(services)
    await given(services.conversions.event_ids, 5_000)
    await services.conversions.event_ids.close()
    assert await counter(services) == granted
    await given(services.conversions.event_ids, 2)
    await services.conversions.event_ids.close()
    assert await counter(services) == granted + 10_000
    waits = asyncio.get_running_loop().create_task(given(services.conversions.event_ids, 4_000))
    await services.conversions.event_ids.close()
    assert len(await waits) == 4_000
    assert await counter(services) == granted + 10_000


async def test_a_lost_counter_starts_above_the_highest_stored_event(services: Services) -> None:
    await scene.applied(services, [make_conversion(7_000_000_000), make_conversion(5)])
    await services.stores.mongodb["counters"].delete_many({})
    assert await services.conversions.event_ids.next() > 7_000_000_000


async def test_ids_stay_unique_when_redis_loses_everything(services: Services) -> None:
    before = await given(services.conversions.event_ids, 100)
    await services.stores.redis.flushall()
    async with scene.process(services.settings) as other:
        after = await given(other.conversions.event_ids, 100)
    again = await given(services.conversions.event_ids, 12_000)
    assert len({*before, *after, *again}) == 12_200


async def test_a_database_from_the_past_never_gives_an_id_that_was_stored(
    services: Services,
) -> None:
    used = await given(services.conversions.event_ids, 100)
    await scene.applied(services, [make_conversion(max(used))])
    await services.stores.mongodb["counters"].update_one({"_id": "event_id"}, {"$set": {"last": 1}})
    async with scene.process(services.settings) as other:
        assert min(await given(other.conversions.event_ids, 100)) > max(used)


async def test_a_lost_counter_starts_beyond_all_granted_ids(services: Services) -> None:
    used = await given(services.conversions.event_ids, 100)
    await services.conversions.event_ids.close()
    await scene.applied(services, [make_conversion(used[0])])
    await services.stores.mongodb["counters"].delete_many({})
    async with scene.process(services.settings) as other:
        later = await given(other.conversions.event_ids, 15_000)
    still = await given(services.conversions.event_ids, 9_000)
    assert len({*used, *later, *still}) == 24_100


async def test_without_mongodb_ids_come_from_the_spare_block_once(
    services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = await given(services.conversions.event_ids, 100)
    await services.conversions.event_ids.close()
    monkeypatch.setattr(drivers, "MONGODB_TIMEOUT_SECONDS", 0.2)
    async with scene.process(without_mongodb(services.settings)) as cut_off:
        await cut_off.conversions.event_ids.start()
        first = await given(cut_off.conversions.event_ids, 100)
    assert len({*own, *first}) == 200
    async with scene.process(without_mongodb(services.settings)) as next_one:
        with pytest.raises(Unavailable):
            await next_one.conversions.event_ids.next()


def test_only_one_process_gets_the_spare_block(tmp_path: Path) -> None:
    spare = SpareBlock(tmp_path / "data")
    spare.store(range(5, 15))
    spare.store(range(50, 60))
    with ThreadPoolExecutor(8) as threads:
        taken = [block for block in threads.map(lambda _: spare.take(), range(32)) if block]
    assert taken == [range(5, 15)]
    assert [path.name for path in (tmp_path / "data").iterdir()] == []


async def test_a_damaged_spare_block_is_not_used(
    services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(drivers, "MONGODB_TIMEOUT_SECONDS", 0.2)
    (services.settings.data_path / "event_ids.spare").write_text("12 x")
    async with scene.process(without_mongodb(services.settings)) as cut_off:
        refused = await asyncio.gather(
            *(cut_off.conversions.event_ids.next() for _ in range(10)), return_exceptions=True
        )
    assert all(isinstance(error, Unavailable) for error in refused)

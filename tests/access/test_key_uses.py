"""The last use of a key is noted in memory, and stored for all keys by one write."""

import asyncio
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from tests.conversions.scene import process
from tests.stores.mongodb.profiler import profiled
from tracker.access import key_uses
from tracker.access.api_keys import ApiKey
from tracker.ids import new_id
from tracker.service.services import Services
from tracker.stores.mongodb.documents import run_updates

NOON = datetime(2026, 1, 31, 12, tzinfo=UTC)


def at(monkeypatch: pytest.MonkeyPatch, seconds: float) -> None:
    monkeypatch.setattr(key_uses, "now", lambda: NOON + timedelta(seconds=seconds))


async def stored(services: Services, key: ApiKey) -> float | None:
    row: Any = await services.stores.mongodb["api_keys"].find_one({"_id": key.id})
    last = row["last_used_at"]
    return None if last is None else float((last - NOON).total_seconds())


async def test_the_last_use_is_stored_at_most_once_a_minute(
    services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    keys = services.access.api_keys
    key, secret = await keys.create(new_id(), "k")
    written = []
    for seconds in (0, 1, 59.999, 60, 61, 120):
        at(monkeypatch, seconds)
        await keys.authenticate(secret)
        await keys.uses.store()
        written.append(await stored(services, key))
    assert written == [0, 0, 0, 60, 60, 120]


async def test_two_processes_store_one_use_a_minute(
    services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    key, secret = await services.access.api_keys.create(new_id(), "k")
    async with process(services.settings) as other:
        for seconds, one in enumerate((services, other)):
            at(monkeypatch, seconds)
            await one.access.api_keys.authenticate(secret)
        for one in (services, other):
            await one.access.api_keys.uses.store()
    assert await stored(services, key) == 0


async def test_the_uses_of_many_keys_are_one_write(
    services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    keys = services.access.api_keys
    made = [await keys.create(new_id(), "k") for _ in range(20)]
    async with profiled(services.stores.mongodb.database) as rows:
        await asyncio.gather(*(keys.authenticate(secret) for _, secret in made * 2))
    assert not [row for row in rows if row["op"] == "update"]
    commands: list[int] = []

    async def counted(database: Any, collection: str, updates: Any) -> int:
        commands.append(len(updates))
        return await run_updates(database, collection, updates)

    monkeypatch.setattr(key_uses, "run_updates", counted)
    await keys.uses.store()
    await keys.uses.store()
    assert commands == [len(made)]
    for key, _ in made:
        assert await stored(services, key) is not None


async def test_a_use_is_shown_before_it_is_stored(services: Services) -> None:
    keys = services.access.api_keys
    key, secret = await keys.create(new_id(), "k")
    await keys.authenticate(secret)
    assert await stored(services, key) is None
    [shown], _ = await keys.page(key.account_id, 1, 25)
    found = await keys.find(key.id)
    assert found is not None and found.last_used_at == shown.last_used_at
    assert shown.last_used_at is not None


async def test_a_process_that_stops_stores_the_uses(services: Services) -> None:
    key, secret = await services.access.api_keys.create(new_id(), "k")
    async with process(services.settings) as other:
        await other.access.api_keys.authenticate(secret)
    assert await stored(services, key) is not None


async def test_the_uses_that_wait_are_bounded(
    services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(key_uses, "_MAX_WAITING", 3)
    uses = services.access.api_keys.uses
    ids = [new_id() for _ in range(5)]
    for one in ids:
        uses.note(one, None)
    assert [uses.latest(one, None) is not None for one in ids] == [True] * 3 + [False] * 2

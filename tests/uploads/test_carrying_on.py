"""Uploads that are killed, cancelled, or have to wait; and long ones."""

import asyncio
from itertools import count
from typing import Any

import pytest
from redis.exceptions import ConnectionError as RedisAway

from tests.conversions.scene import drained, stored_events
from tests.uploads.sending import PATH, a_config, clicks, sent, shown, stored, work
from tests.web.world import World
from tracker.clock import now
from tracker.conversions.recorder import Recorder
from tracker.errors import Unavailable
from tracker.jobs.files import Files
from tracker.journal.backlog import Backlog, BacklogSize
from tracker.loops import wait
from tracker.uploads import worker
from tracker.uploads.store import Uploads
from tracker.uploads.worker import UploadWorker


async def begun(world: World, rows: int, **query: Any) -> str:
    """Send a file of so many rows; return the id of its upload."""
    config, [click] = await a_config(world), await clicks(world, 1)
    file = "".join(f"{click},{number},T{number}\n" for number in range(rows))
    answer = await sent(world, file, form="keitaro", event=config.id, **query)
    assert answer.status == 200, answer.body
    upload_id: str = answer.json()["id"]
    return upload_id


async def lapse(world: World) -> None:
    await world.services.stores.mongodb["uploads"].update_one({}, {"$set": {"leased_until": now()}})


async def test_a_killed_worker_repeats_at_most_a_chunk_which_changes_nothing(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(worker, "ROWS_PER_CHUNK", 3)
    upload_id = await begun(world, 10)
    advance = Uploads.advance

    async def dying(self: Any, held: Any, *given: Any, **named: Any) -> None:
        if given and given[0].get("position") == 6:
            raise KeyError("killed before it is stored how far it came")
        await advance(self, held, *given, **named)

    with monkeypatch.context() as patched:
        patched.setattr(Uploads, "advance", dying)
        with pytest.raises(KeyError):
            await work(world)
    assert (await shown(world, upload_id))["position"] == 3
    assert not await work(world)  # its lease is not over
    await lapse(world)
    assert await work(world)
    await drained(world.services)
    found = await shown(world, upload_id)
    assert (found["state"], sum(found["counts"].values())) == ("done", 10)
    assert await stored(world, "value") == [(str(number),) for number in range(10)]
    assert all(len(one.get("changes", [])) <= 1 for one in await stored_events(world.services))


async def test_an_upload_is_cancelled_between_two_chunks(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(worker, "ROWS_PER_CHUNK", 2)
    upload_id = await begun(world, 6)
    advance = Uploads.advance

    async def cancelled(self: Any, held: Any, *given: Any, **named: Any) -> None:
        await advance(self, held, *given, **named)
        if not given:
            return
        answer = await world.api.send("POST", f"{PATH}/{upload_id}/cancel")
        assert answer.status == 200, answer.body

    with monkeypatch.context() as patched:
        patched.setattr(Uploads, "advance", cancelled)
        await work(world)
    await drained(world.services)
    assert (await shown(world, upload_id))["state"] == "cancelled"
    assert len(await stored_events(world.services)) == 2
    assert not await work(world)


async def test_a_stopped_worker_leaves_the_rest_to_the_next_at_once(world: World) -> None:
    upload_id = await begun(world, 1)
    stop = asyncio.Event()
    stop.set()
    assert await world.services.uploads.worker.work_on_one(stop)
    assert await work(world)
    assert (await shown(world, upload_id))["state"] == "done"


async def test_a_process_that_closes_its_journal_appends_no_further_chunk(world: World) -> None:
    upload_id = await begun(world, 1)
    await world.services.uploads.worker.close()
    assert await work(world)
    assert await drained(world.services) == 0
    found = await shown(world, upload_id)
    assert (found["state"], found["position"]) == ("running", 0)


async def test_an_upload_waits_while_drains_are_behind(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    upload_id = await begun(world, 1)
    behind = iter([BacklogSize(9, 60_000), BacklogSize(9, 60_000), BacklogSize(0, 0)])
    waits = list[float]()

    async def measure(_: Backlog) -> BacklogSize:
        return next(behind)

    async def waited(event: asyncio.Event, seconds: float) -> bool:
        waits.append(seconds)
        return await wait(event, 0)

    monkeypatch.setattr(Backlog, "measure", measure)
    monkeypatch.setattr(worker, "wait", waited)
    assert await work(world)
    assert len(waits) == 2
    assert (await shown(world, upload_id))["state"] == "done"


@pytest.mark.parametrize("what", ["backlog", "recorder", "spool"])
async def test_an_upload_waits_for_redis_and_drops_nothing(
    world: World, monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    upload_id = await begun(world, 3)

    async def away(*_: Any, **__: Any) -> Any:
        raise RedisAway if what == "backlog" else Unavailable("redis: is away")

    with monkeypatch.context() as patched:
        if what == "backlog":
            patched.setattr(Backlog, "measure", away)
        elif what == "recorder":
            patched.setattr(Recorder, "record", away)
        else:
            patched.setattr(UploadWorker, "_empty_spool", away)
        assert await work(world)
    found = await shown(world, upload_id)
    assert (found["state"], found["position"], found["counts"]) == ("running", 0, {})
    await lapse(world)
    assert await work(world)
    await drained(world.services)
    assert (await shown(world, upload_id))["state"] == "done"
    assert await stored(world, "value") == [("0",), ("1",), ("2",)]


async def test_a_chunk_that_fails_has_ended_before_its_journal_may_close(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    await begun(world, 3)
    numbers, is_open = count(), list[bool]()

    async def failing(self: UploadWorker, *_: Any) -> Any:
        if next(numbers) == 0:
            raise Unavailable("redis: is away")
        for _turn in range(9):
            await asyncio.sleep(0)
        is_open.append(self._appending.locked())
        return "same"

    monkeypatch.setattr(UploadWorker, "_tell", failing)
    assert await work(world)
    assert is_open == [True, True]


async def test_a_long_file_is_read_as_its_rows_are_recorded(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of 50,000 rows a chunk is in memory, and of the file a piece."""
    upload_id = await begun(world, 50_000, dry_run=True)
    found = await shown(world, upload_id)
    read, chunks, largest = 0, 0, 0
    pieces, chunk = Files.read, UploadWorker._chunk

    async def reading(self: Files, *given: Any) -> Any:
        nonlocal read
        async for piece in pieces(self, *given):
            read += len(piece)
            yield piece

    async def watched(self: UploadWorker, held: Any, rows: Any) -> Any:
        nonlocal chunks, largest
        chunks += 1
        largest = max(largest, len(rows))
        if chunks == 1:
            assert read < found["file_bytes"] * 0.7
            return await chunk(self, held, rows)
        return {"recorded": len(rows)}

    monkeypatch.setattr(Files, "read", reading)
    monkeypatch.setattr(UploadWorker, "_chunk", watched)
    assert await work(world)
    found = await shown(world, upload_id)
    assert (found["state"], found["counts"]) == ("checked", {"recorded": 50_000})
    assert largest == worker.ROWS_PER_CHUNK

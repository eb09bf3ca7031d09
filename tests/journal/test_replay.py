"""A replay sends each entry once and in order, wherever it fails, is cancelled or ends."""

import asyncio
import time
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests.journal.spooling import Sink, opened, sizes, spooled
from tracker.journal import spool as module
from tracker.journal import spool_file
from tracker.loops import cancel_and_wait


async def test_a_payload_appended_during_a_replay_waits_for_the_next(folder: Path) -> None:
    sink = Sink()
    async with opened(folder) as spool:
        await spool.append(b"1")

        async def send(payloads: Sequence[bytes]) -> None:
            await spool.append(b"appended while " + payloads[0])
            await sink.send(payloads)

        assert await spool.replay(send) == 1
        assert await spool.replay(sink.send) == 1
    assert sink.taken == [b"1", b"appended while 1"]


async def test_only_one_of_simultaneous_replays_takes_a_file(folder: Path) -> None:
    payloads = [b"%d" % number for number in range(20)]
    await spooled(folder, payloads)
    sink = Sink()
    async with opened(folder) as one, opened(folder) as other:
        counts = await asyncio.gather(*(each.replay(sink.send) for each in (one, other, one)))
    assert sorted(counts) == [0, 0, 20]
    assert sink.taken == payloads


@pytest.mark.parametrize("steps", [*range(8), None])
async def test_a_replay_cancelled_at_any_moment_loses_and_repeats_nothing(
    folder: Path, one_by_one: None, steps: int | None
) -> None:
    """After some steps of the loop, or while the second entry is sent."""
    path = await spooled(folder, [b"1", b"2", b"3"])
    sink, sending = Sink(), asyncio.Event()

    async def hang(payloads: Sequence[bytes]) -> None:
        if b"2" in payloads:
            sending.set()
            await asyncio.Event().wait()
        sink.taken.extend(payloads)

    async with opened(folder) as spool:
        replay = asyncio.ensure_future(spool.replay(hang))
        if steps is None:
            await sending.wait()
        for _ in range(steps or 0):
            await asyncio.sleep(0)
        await cancel_and_wait(replay)
        assert path.exists()
        await spool.replay(sink.send)
    assert sink.taken == [b"1", b"2", b"3"]


async def test_a_large_file_is_finished_and_those_after_it_are_replayed_one_by_one(
    folder: Path, small_files: None
) -> None:
    payloads = [b"%d" % number for number in range(7)]
    seen: list[tuple[list[bytes], int]] = []
    waiting: list[int] = []

    async def send(batch: Sequence[bytes]) -> None:
        seen.append(([*batch], len(list(folder.glob("*.sqlite")))))
        waiting.append(spool.bytes_waiting)

    async with opened(folder) as spool:
        for payload in payloads:
            await spool.append(payload)
        assert await spool.replay(send) == 7
        assert spool.bytes_waiting == 0
    assert seen == [([b"0", b"1"], 4), ([b"2", b"3"], 3), ([b"4", b"5"], 2), ([b"6"], 1)]
    assert waiting == sorted(waiting, reverse=True)
    assert waiting[0] > waiting[-1] > 0
    assert sizes(folder) == {}


async def test_replays_that_fail_make_no_more_files_of_what_is_appended_meanwhile(
    folder: Path,
) -> None:
    sink = Sink(refuses=b"0")
    async with opened(folder) as spool:
        for number in range(5):
            await spool.append(b"%d" % number)
            with pytest.raises(RuntimeError):
                await spool.replay(sink.send)
        assert len(list(folder.glob("*.sqlite"))) == 2
        sink.refuses = None
        assert await spool.replay(sink.send) == 5
    assert sink.taken == [b"%d" % number for number in range(5)]


@pytest.mark.parametrize(
    ("lengths", "expected"), [([1] * 7, [3, 3, 1]), ([9, 1, 1, 9], [2, 2]), ([30, 30], [1, 1])]
)
async def test_a_batch_ends_at_a_number_of_entries_or_bytes(
    folder: Path, monkeypatch: pytest.MonkeyPatch, lengths: list[int], expected: list[int]
) -> None:
    monkeypatch.setattr(spool_file, "BATCH_ENTRIES", 3)
    monkeypatch.setattr(spool_file, "BATCH_BYTES", 10)
    payloads = [b"%0*d" % (length, number) for number, length in enumerate(lengths)]
    await spooled(folder, payloads)
    batches: list[Sequence[bytes]] = []

    async def send(batch: Sequence[bytes]) -> None:
        batches.append(batch)

    async with opened(folder) as spool:
        await spool.replay(send)
    assert [len(batch) for batch in batches] == expected
    assert [payload for batch in batches for payload in batch] == payloads


async def test_a_replay_ends_when_its_time_is_up_and_the_next_goes_on(
    folder: Path, one_by_one: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    await spooled(folder, [b"1", b"2"])
    await spooled(folder, [b"3"])
    now, sink = [0.0], Sink()
    clock = SimpleNamespace(monotonic=lambda: now[0], time_ns=time.time_ns)
    monkeypatch.setattr(module, "time", clock)

    async def slow(payloads: Sequence[bytes]) -> None:
        await sink.send(payloads)
        now[0] = 2.0

    async with opened(folder) as spool:
        assert await spool.replay(slow, until=2.0) == 1
        assert await spool.replay(slow, until=2.0) == 0
        assert len(list(folder.glob("*.sqlite"))) == 2
        assert await spool.replay(sink.send) == 2
    assert sink.taken == [b"1", b"2", b"3"]

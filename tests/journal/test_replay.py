"""A replay sends each entry once and in order, wherever it fails, is cancelled or ends."""

import asyncio
import time
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests.journal.spooling import HEADER, Logs, Sink, opened, replayed, spooled
from tracker.journal import spool as module
from tracker.loops import cancel_and_wait


async def test_several_files_are_replayed_in_order(folder: Path) -> None:
    for start in range(0, 9, 3):
        await spooled(folder, [b"%d" % number for number in range(start, start + 3)])
    assert len(list(folder.iterdir())) == 3
    assert await replayed(folder) == [b"%d" % number for number in range(9)]


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


async def test_a_replay_that_fails_goes_on_where_it_failed(folder: Path, one_by_one: None) -> None:
    path = await spooled(folder, [b"1", b"2", b"3"])
    sink = Sink()
    async with opened(folder) as spool:
        for sink.refuses in (b"2", b"2", b"3"):
            with pytest.raises(RuntimeError):
                await spool.replay(sink.send)
            assert path.exists()
        sink.refuses = None
        assert await spool.replay(sink.send) == 1
        assert not path.exists()
    assert sink.taken == [b"1", b"2", b"3"]


async def test_after_a_restart_a_file_is_replayed_again_from_its_start(
    folder: Path, one_by_one: None
) -> None:
    await spooled(folder, [b"1", b"2"])
    sink = Sink(refuses=b"2")
    async with opened(folder) as spool:
        with pytest.raises(RuntimeError):
            await spool.replay(sink.send)
        assert await replayed(folder) == []
    assert sink.taken == [b"1"]
    assert await replayed(folder) == [b"1", b"2"]


async def test_damage_before_the_place_where_a_replay_failed_is_not_forgotten(
    folder: Path, logs: Logs, one_by_one: None
) -> None:
    path = await spooled(folder, [b"1", b"2", b"3"])
    path.write_bytes(b"damage" + path.read_bytes())
    sink = Sink(refuses=b"2")
    async with opened(folder) as spool:
        with pytest.raises(RuntimeError):
            await spool.replay(sink.send)
        sink.refuses = None
        await spool.replay(sink.send)
    assert sink.taken == [b"1", b"2", b"3"]
    (report,) = [entry for entry in logs if entry["log_level"] == "error"]
    assert (report["entries_replayed"], report["bytes_unread"]) == (3, len(b"damage"))
    assert path.with_suffix(".damaged").exists()


async def test_a_cancelled_replay_keeps_the_file_and_its_place_in_it(
    folder: Path, one_by_one: None
) -> None:
    path = await spooled(folder, [b"1", b"2", b"3"])
    sink, sending = Sink(), asyncio.Event()

    async def hang(payloads: Sequence[bytes]) -> None:
        if b"2" in payloads:
            sending.set()
            await asyncio.Event().wait()
        await sink.send(payloads)

    async with opened(folder) as spool:
        replay = asyncio.ensure_future(spool.replay(hang))
        await sending.wait()
        await cancel_and_wait(replay)
        assert path.exists()
        assert await spool.replay(sink.send) == 2
    assert sink.taken == [b"1", b"2", b"3"]


@pytest.mark.parametrize("steps", range(12))
async def test_a_replay_cancelled_at_any_moment_loses_and_repeats_nothing(
    folder: Path, one_by_one: None, steps: int
) -> None:
    await spooled(folder, [b"1", b"2", b"3"])
    taken: list[bytes] = []

    async def send(payloads: Sequence[bytes]) -> None:
        taken.extend(payloads)

    async with opened(folder) as spool:
        replay = asyncio.ensure_future(spool.replay(send))
        for _ in range(steps):
            await asyncio.sleep(0)
        await cancel_and_wait(replay)
        await spool.replay(send)
    assert taken == [b"1", b"2", b"3"]


async def test_a_large_file_is_finished_and_those_after_it_are_replayed_one_by_one(
    folder: Path, small_files: None
) -> None:
    payloads = [b"%d" % number for number in range(7)]
    seen: list[tuple[list[bytes], int]] = []

    async def send(batch: Sequence[bytes]) -> None:
        seen.append(([*batch], len(list(folder.iterdir()))))

    async with opened(folder) as spool:
        for payload in payloads:
            await spool.append(payload)
        sizes = [path.stat().st_size for path in sorted(folder.iterdir())]
        assert sizes == [module.FILE_BYTES] * 3 + [HEADER + 1]
        assert await spool.replay(send) == 7
    assert seen == [
        ([b"0", b"1"], 4),
        ([b"2", b"3"], 3),
        ([b"4", b"5"], 2),
        ([b"6"], 1),
    ]
    assert list(folder.iterdir()) == []


async def test_replays_that_fail_make_no_more_files_of_what_is_appended_meanwhile(
    folder: Path,
) -> None:
    sink = Sink(refuses=b"0")
    async with opened(folder) as spool:
        for number in range(10):
            await spool.append(b"%d" % number)
            with pytest.raises(RuntimeError):
                await spool.replay(sink.send)
        assert len(list(folder.iterdir())) == 2
        sink.refuses = None
        assert await spool.replay(sink.send) == 10
    assert sink.taken == [b"%d" % number for number in range(10)]


async def test_the_bytes_that_wait_are_known_during_a_replay(
    folder: Path, small_files: None
) -> None:
    waiting: list[int] = []

    async def send(_: Sequence[bytes]) -> None:
        waiting.append(spool.bytes_waiting)

    async with opened(folder) as spool:
        for number in range(4):
            await spool.append(b"%d" % number)
        await spool.replay(send)
        assert [*waiting, spool.bytes_waiting] == [2 * module.FILE_BYTES, module.FILE_BYTES, 0]


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
        assert len(list(folder.iterdir())) == 2
        assert await spool.replay(sink.send) == 2
    assert sink.taken == [b"1", b"2", b"3"]

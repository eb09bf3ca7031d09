"""What the disk has taken is replayed in order, whatever happened to the process or the file."""

import asyncio
import os
import random
import resource
import signal
import struct
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Callable, Iterator, MutableMapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import structlog
from hypothesis import given, settings
from hypothesis import strategies as st
from tornado.platform.asyncio import AsyncIOLoop

from tracker.journal import spool as module
from tracker.journal import spool_file
from tracker.journal.spool import Spool

HEADER = 12
PROJECT = Path(__file__).parents[2]

HOLDER = """
import asyncio, sys
from pathlib import Path
from tracker.journal.spool import Spool

async def main():
    spool = Spool(Path(sys.argv[1]), 10_000)
    await spool.append(b"from a child")
    print("ready", flush=True)
    sys.stdin.read()

asyncio.run(main())
"""

LIMITED = """
import asyncio, resource, sys
from pathlib import Path
from tracker.journal.spool import Spool

async def main():
    spool = Spool(Path(sys.argv[1]), 10_000)
    await spool.append(b"first")
    limit = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, limit[1]))
    try:
        await spool.append(b"x" * 1000)
    except OSError as error:
        print(type(error).__name__, flush=True)
    resource.setrlimit(resource.RLIMIT_FSIZE, limit)
    await spool.append(b"later")
    await spool.close()

asyncio.run(main())
"""


Logs = Sequence[MutableMapping[str, Any]]


@pytest.fixture
def logs(monkeypatch: pytest.MonkeyPatch) -> Iterator[Logs]:
    """What is logged, with the level; the module's own logger may be cached already."""
    with structlog.testing.capture_logs() as captured:
        monkeypatch.setattr(module, "log", structlog.get_logger())
        yield captured


def told(logs: Logs, level: str) -> list[str]:
    return [str(entry["event"]) for entry in logs if entry["log_level"] == level]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "made" / "when needed"


class Sink:
    """Takes what is replayed; fails at a batch with the payload `refuses`, and takes none of it."""

    def __init__(self, refuses: bytes | None = None) -> None:
        self.taken: list[bytes] = []
        self.refuses = refuses

    async def send(self, payloads: Sequence[bytes]) -> None:
        await asyncio.sleep(0)
        if self.refuses in payloads:
            raise RuntimeError("refused")
        self.taken.extend(payloads)


@pytest.fixture
def one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every entry is a batch."""
    monkeypatch.setattr(spool_file, "BATCH_ENTRIES", 1)


@pytest.fixture
def small_files(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every file is finished by its second entry of one byte."""
    monkeypatch.setattr(module, "FILE_BYTES", 2 * (HEADER + 1))


@asynccontextmanager
async def opened(folder: Path, max_bytes: int = 1024**3) -> AsyncIterator[Spool]:
    spool = Spool(folder, max_bytes)
    try:
        yield spool
    finally:
        await spool.close()


async def spooled(folder: Path, payloads: Sequence[bytes]) -> Path:
    """A file with these entries that nobody holds."""
    before = set(folder.glob("*"))
    async with opened(folder) as spool:
        for payload in payloads:
            await spool.append(payload)
    (path,) = set(folder.glob("*")) - before
    return path


async def replayed(folder: Path) -> list[bytes]:
    sink = Sink()
    async with opened(folder) as spool:
        assert await spool.replay(sink.send) == len(sink.taken)
    return sink.taken


async def test_what_was_appended_is_replayed_once_in_order(folder: Path) -> None:
    sink, payloads = Sink(), [b"a", b"", b"c" * 1_000_000]
    async with opened(folder) as spool:
        assert await spool.is_empty()
        for payload in payloads:
            await spool.append(payload)
        assert not await spool.is_empty()
        assert await spool.replay(sink.send) == 3
        assert sink.taken == payloads
        assert await spool.is_empty()
        assert await spool.replay(sink.send) == 0
    assert list(folder.iterdir()) == []


async def test_an_append_that_returned_is_in_a_file_that_nobody_else_may_read(folder: Path) -> None:
    async with opened(folder) as spool:
        await spool.append(b"payload")
        (path,) = folder.iterdir()
        assert path.read_bytes().endswith(b"payload")
        assert folder.stat().st_mode & 0o077 == 0


@settings(max_examples=50)
@given(payloads=st.lists(st.binary(max_size=300), max_size=10))
def test_any_payload_comes_back_as_it_went(
    io_loop: AsyncIOLoop, tmp_path_factory: pytest.TempPathFactory, payloads: list[bytes]
) -> None:
    folder = tmp_path_factory.mktemp("spool")
    tricky = [b"TRK1" + payload for payload in payloads]

    async def there_and_back() -> list[bytes]:
        await spooled(folder, [*payloads, *tricky, b"last"])
        return await replayed(folder)

    assert io_loop.run_sync(there_and_back) == [*payloads, *tricky, b"last"]


async def test_simultaneous_appends_keep_their_order(folder: Path) -> None:
    payloads = [b"%d" % number for number in range(100)]
    async with opened(folder) as spool:
        await asyncio.gather(*map(spool.append, payloads))
    assert await replayed(folder) == payloads


async def test_several_files_are_replayed_in_order(folder: Path) -> None:
    for start in range(0, 9, 3):
        await spooled(folder, [b"%d" % number for number in range(start, start + 3)])
    assert len(list(folder.iterdir())) == 3
    assert await replayed(folder) == [b"%d" % number for number in range(9)]


async def test_what_is_appended_during_a_replay_waits_for_the_next(folder: Path) -> None:
    sink = Sink()
    async with opened(folder) as spool:
        await spool.append(b"1")

        async def send(payloads: Sequence[bytes]) -> None:
            await spool.append(b"appended while " + payloads[0])
            await sink.send(payloads)

        assert await spool.replay(send) == 1
        assert await spool.replay(sink.send) == 1
    assert sink.taken == [b"1", b"appended while 1"]


async def test_of_simultaneous_replays_one_takes_a_file(folder: Path) -> None:
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


async def test_a_restart_in_the_middle_of_a_file_begins_it_anew(
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
        replay.cancel()
        await asyncio.gather(replay, return_exceptions=True)
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
        replay.cancel()
        await asyncio.gather(replay, return_exceptions=True)
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


async def test_what_waits_is_told_while_a_replay_goes_on(folder: Path, small_files: None) -> None:
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


async def test_a_torn_tail_at_any_byte_is_reported_and_what_stands_before_it_replayed(
    folder: Path, logs: Logs
) -> None:
    whole = (await spooled(folder, [b"first", b"second", b"last"])).read_bytes()
    before = len(whole) - HEADER - len(b"last")
    for length in range(before + 1, len(whole)):
        path = folder / "1.spool"
        path.write_bytes(whole[:length])
        for other in folder.glob("0*.spool"):
            other.unlink()
        assert await replayed(folder) == [b"first", b"second"]
        assert told(logs, "warning") == ["spool file had a torn tail"] * (length - before)
    assert told(logs, "error") == []
    assert list(folder.iterdir()) == []


async def test_a_file_of_nothing_but_a_torn_entry_is_reported(folder: Path, logs: Logs) -> None:
    path = await spooled(folder, [b"only"])
    path.write_bytes(path.read_bytes()[:-1])
    assert await replayed(folder) == []
    assert told(logs, "warning") == ["spool file had a torn tail"]
    assert list(folder.iterdir()) == []


async def test_an_empty_file_is_nothing_to_report(folder: Path, logs: Logs) -> None:
    path = await spooled(folder, [b"only"])
    path.write_bytes(b"")
    assert await replayed(folder) == []
    assert told(logs, "warning") + told(logs, "error") == []
    assert list(folder.iterdir()) == []


ENTRY = HEADER + len(b"entry 0")


@pytest.mark.parametrize("number", [0, 1, 2], ids=["first", "middle", "last"])
@pytest.mark.parametrize("byte", range(ENTRY))
async def test_damage_at_any_byte_sets_the_file_aside_and_the_other_entries_are_replayed(
    folder: Path, logs: Logs, number: int, byte: int
) -> None:
    path = await spooled(folder, [b"entry %d" % each for each in range(3)])
    damaged = bytearray(path.read_bytes())
    damaged[number * ENTRY + byte] ^= 0xFF
    path.write_bytes(damaged)
    assert await replayed(folder) == [b"entry %d" % each for each in range(3) if each != number]
    (report,) = [entry for entry in logs if entry["log_level"] == "error"]
    assert report["event"] == "spool file damaged"
    assert (report["entries_replayed"], report["bytes_unread"]) == (2, ENTRY)
    assert path.with_suffix(".damaged").read_bytes() == damaged
    assert not path.exists()
    assert await replayed(folder) == []


async def test_a_damaged_file_with_a_torn_tail_is_reported_as_both(
    folder: Path, logs: Logs
) -> None:
    path = await spooled(folder, [b"entry %d" % each for each in range(4)])
    damaged = bytearray(path.read_bytes())[:-1]
    damaged[ENTRY] ^= 0xFF
    path.write_bytes(damaged)
    assert await replayed(folder) == [b"entry 0", b"entry 2"]
    assert told(logs, "warning") == ["spool file had a torn tail"]
    assert told(logs, "error") == ["spool file damaged"]
    assert path.with_suffix(".damaged").exists()


async def test_zeros_at_the_end_are_set_aside(folder: Path, logs: Logs) -> None:
    path = await spooled(folder, [b"1"])
    path.write_bytes(path.read_bytes() + bytes(4096))
    assert await replayed(folder) == [b"1"]
    assert path.with_suffix(".damaged").exists()


async def test_a_length_of_gigabytes_costs_no_memory(folder: Path) -> None:
    path = await spooled(folder, [b"1"])
    entry = struct.pack(">4sII", b"TRK1", 0xFFFF_FFFF, 0) + b"x"
    path.write_bytes(path.read_bytes() + entry)
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    before = resource.getrlimit(resource.RLIMIT_AS)
    most = pages * resource.getpagesize() + 1024**3
    resource.setrlimit(resource.RLIMIT_AS, (most, before[1]))
    try:
        assert await replayed(folder) == [b"1"]
    finally:
        resource.setrlimit(resource.RLIMIT_AS, before)


async def test_random_garbage_is_set_aside_and_nothing_of_it_sent(folder: Path, logs: Logs) -> None:
    chance = random.Random(1)
    folder.mkdir(parents=True)
    (folder / "1.spool").write_bytes(chance.randbytes(1000))
    await spooled(folder, [b"whole"])
    assert await replayed(folder) == [b"whole"]
    assert told(logs, "error") == ["spool file damaged"]
    assert [path.name for path in folder.iterdir()] == ["1.damaged"]


async def test_a_file_that_cannot_be_read_does_not_hold_up_the_others(
    folder: Path, logs: Logs
) -> None:
    (folder / "0.spool").mkdir(parents=True)
    await spooled(folder, [b"1"])
    assert await replayed(folder) == [b"1"]
    assert told(logs, "error") == ["spool file unreadable"]


@pytest.fixture
def child(folder: Path) -> Iterator[subprocess.Popen[bytes]]:
    """Another process that has appended to a file of its own and lives."""
    command = [sys.executable, "-c", HOLDER, str(folder)]
    with subprocess.Popen(
        command, cwd=PROJECT, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"
        yield process
        process.kill()


async def test_the_file_of_another_process_is_replayed_only_after_it_died(
    folder: Path, child: subprocess.Popen[bytes]
) -> None:
    await spooled(folder, [b"ours"])
    assert await replayed(folder) == [b"ours"]
    assert len(list(folder.glob("*.spool"))) == 1
    child.send_signal(signal.SIGKILL)
    child.wait()
    assert await replayed(folder) == [b"from a child"]


async def test_our_own_file_is_left_alone_by_another_spool(folder: Path) -> None:
    async with opened(folder) as spool:
        await spool.append(b"held")
        assert await replayed(folder) == []
        await spool.append(b"held too")
    assert await replayed(folder) == [b"held", b"held too"]


async def test_a_disk_that_refuses_an_entry_loses_none_of_the_others(folder: Path) -> None:
    command = [sys.executable, "-c", LIMITED, str(folder)]
    child = subprocess.run(command, cwd=PROJECT, capture_output=True, check=True)
    assert child.stdout == b"OSError\n"
    assert len(list(folder.glob("*.spool"))) == 1
    assert await replayed(folder) == [b"first", b"later"]


async def test_a_folder_that_cannot_be_made_is_an_error_until_it_can(tmp_path: Path) -> None:
    blocker = tmp_path / "blocker"
    blocker.write_text("a file")
    async with opened(blocker / "spool") as spool:
        for _ in range(2):
            with pytest.raises(OSError, match="Not a directory"):
                await spool.append(b"refused")
        assert await spool.is_empty()
        blocker.unlink()
        await spool.append(b"taken")
    assert await replayed(blocker / "spool") == [b"taken"]


@pytest.mark.parametrize("call", ["fsync", "fdatasync"])
async def test_a_disk_that_does_not_flush_is_an_error_until_it_does(
    folder: Path, monkeypatch: pytest.MonkeyPatch, call: str
) -> None:
    flush: Callable[[int], None] = getattr(os, call)
    failing = [OSError("no")]

    def fail_once(descriptor: int) -> None:
        if failing:
            raise failing.pop()
        flush(descriptor)

    monkeypatch.setattr(os, call, fail_once)
    async with opened(folder) as spool:
        with pytest.raises(OSError, match="no"):
            await spool.append(b"refused")
        await spool.append(b"taken")
    assert (await replayed(folder))[-1:] == [b"taken"]


async def test_a_descriptor_that_broke_is_an_error_once(folder: Path) -> None:
    async with opened(folder) as spool:
        await spool.append(b"1")
        assert spool._file is not None
        os.close(spool._file.fileno())
        with pytest.raises(OSError):
            await spool.append(b"refused")
        await spool.append(b"2")
    assert await replayed(folder) == [b"1", b"2"]

"""Whatever happens to a spool, what was answered is replayed, and what was refused is not."""

import contextlib
import os
import resource
import shutil
import signal
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tornado.platform.asyncio import AsyncIOLoop

from tests.journal.spooling import Sink, opened, replayed, restored, sizes
from tracker.journal import spool as module
from tracker.journal import spool_file
from tracker.journal.spool import Spool


async def test_nobody_else_may_read_the_files(folder: Path) -> None:
    before = os.umask(0)
    try:
        async with opened(folder) as spool:
            await spool.append(b"payload")
            assert [one.stat().st_mode & 0o077 for one in (folder, *folder.iterdir())] == [0, 0, 0]
    finally:
        os.umask(before)


async def test_the_file_of_another_process_is_replayed_only_after_it_died(
    folder: Path, child: subprocess.Popen[bytes]
) -> None:
    async with opened(folder) as spool:
        await spool.append(b"held")
        assert await replayed(folder) == []
        child.send_signal(signal.SIGKILL)
        child.wait()
        assert await replayed(folder) == [b"from a child"]
    assert await replayed(folder) == [b"held"]


async def test_of_a_process_that_died_while_it_wrote_all_is_replayed_but_the_unfinished_entry(
    folder: Path, tmp_path: Path
) -> None:
    ends: list[int] = []
    async with opened(folder) as spool:
        for number in range(3):
            await spool.append(b"%d" % number)
            (log,) = folder.glob("*.sqlite-wal")
            ends.append(log.stat().st_size)
        shutil.copytree(folder, tmp_path / "dead")
    whole = (tmp_path / "dead" / log.name).read_bytes()
    for length in sorted({*range(ends[0], len(whole), 997), *ends, *(end - 1 for end in ends)}):
        copy = tmp_path / str(length)
        shutil.copytree(tmp_path / "dead", copy)
        (copy / log.name).write_bytes(whole[:length])
        expected = [b"%d" % number for number, end in enumerate(ends) if end <= length]
        assert await replayed(copy) == expected


def in_the_way(folder: Path) -> Iterator[None]:
    folder.write_text("a file")
    yield
    folder.unlink()


def full_disk(folder: Path) -> Iterator[None]:
    largest = max([one.stat().st_size for one in folder.glob("*")], default=0)
    yield from _limited(resource.RLIMIT_FSIZE, largest)


def no_descriptors(_: Path) -> Iterator[None]:
    yield from _limited(resource.RLIMIT_NOFILE, 3)


def _limited(kind: int, limit: int) -> Iterator[None]:
    before = resource.getrlimit(kind)
    resource.setrlimit(kind, (limit, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(kind, before)


def removed_and_in_the_way(folder: Path) -> Iterator[None]:
    shutil.rmtree(folder)
    yield from in_the_way(folder)


def names_are_not_flushed(_: Path) -> Iterator[None]:
    def fail(_: int) -> None:
        raise OSError("no")

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(os, "fsync", fail)
        yield


def removed_as_fast_as_it_is_written(folder: Path) -> Iterator[None]:
    create = spool_file.create

    def create_and_remove(folder: Path) -> spool_file.SpoolFile:
        made = create(folder)
        shutil.rmtree(folder)
        return made

    shutil.rmtree(folder, ignore_errors=True)
    with pytest.MonkeyPatch.context() as patched:
        for one in (spool_file, module):  # for a copy, and for a new file
            patched.setattr(one, "create", create_and_remove)
        yield


FIRST = (in_the_way, full_disk, no_descriptors, names_are_not_flushed)
LATER = (full_disk, no_descriptors, removed_and_in_the_way, removed_as_fast_as_it_is_written)


@pytest.mark.parametrize(
    ("before", "fault"), [*(([], one) for one in FIRST), *(([b"1"], one) for one in LATER)]
)
async def test_while_the_disk_fails_appends_are_refused_and_nothing_else_is_lost(
    folder: Path, before: list[bytes], fault: Callable[[Path], Iterator[None]]
) -> None:
    folder.parent.mkdir(parents=True)
    async with opened(folder) as spool:
        for payload in before:
            await spool.append(payload)
        with contextlib.contextmanager(fault)(folder):
            for _ in range(2):
                with pytest.raises(OSError):
                    await spool.append(b"refused" * 1000)
        with pytest.raises(OSError):  # it may fail again
            await spool.check()
        await spool.append(b"later")
        await spool.check()
    assert sorted(await replayed(folder)) == [*before, b"later"]
    assert list(folder.iterdir()) == []


ACTIONS = ("append", "append", "replay", "refuse", "another", "restore", "remove")


@settings(max_examples=20, deadline=None)
@given(lives=st.lists(st.lists(st.sampled_from(ACTIONS), max_size=9), min_size=1, max_size=3))
def test_what_was_answered_is_sent_whatever_happens_meanwhile(
    io_loop: AsyncIOLoop, tmp_path_factory: pytest.TempPathFactory, lives: list[list[str]]
) -> None:
    """In order, and once unless a spool that has begun a file ends, or has to write it again."""
    folder = tmp_path_factory.mktemp("spool") / "made"
    answered: list[bytes] = []
    left_behind: set[str] = set()
    restored_before = restored()
    sink = Sink()

    async def act(spool: Spool, action: str) -> None:
        if action == "append":
            answered.append(b"%d" % len(answered))
            await spool.append(answered[-1])
        elif action == "replay":
            await spool.replay(sink.send)
        elif action == "refuse":
            refusing = Sink(refuses=b"%d" % (len(answered) // 2))
            with contextlib.suppress(RuntimeError):
                await spool.replay(refusing.send)
            sink.taken += refusing.taken
        elif action == "another":
            async with opened(folder) as other:
                await other.replay(sink.send)
        elif action == "restore":
            await spool.restore()
        elif left_behind.isdisjoint(sizes(folder)):  # nobody could write those again
            shutil.rmtree(folder, ignore_errors=True)

    async def run() -> None:
        for life in lives:
            left_behind.update(sizes(folder))
            async with opened(folder) as spool:
                for action in life:
                    await act(spool, action)
        sink.taken += await replayed(folder)

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(module, "FILE_BYTES", 2)
        patched.setattr(module, "MOST_FILES", 1024**3)
        patched.setattr(spool_file, "BATCH_ENTRIES", 1)
        io_loop.run_sync(run)
    assert set(sink.taken) == set(answered)
    done = {action for life in lives for action in life}
    if "remove" not in done:
        assert restored() == restored_before
        if len(lives) == 1:
            assert [*dict.fromkeys(sink.taken)] == answered
        if "refuse" not in done:
            assert sorted(sink.taken) == sorted(answered)

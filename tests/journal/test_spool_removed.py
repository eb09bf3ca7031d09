"""Files that others remove or rename lose nothing that was answered."""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.journal.spooling import Logs, Sink, messages, opened, replayed, spooled
from tracker.journal import locked_file
from tracker.journal.locked_file import LockedFile
from tracker.journal.spool_folder import SpoolFolder
from tracker.metrics import REGISTRY

WRITTEN_AGAIN = "spool file was removed or renamed; its entries are written again"


def remove_file(folder: Path) -> None:
    for path in folder.iterdir():
        path.unlink()


def rename_file(folder: Path) -> None:
    for path in [*folder.iterdir()]:
        path.rename(path.with_suffix(".other"))


def replace_file(folder: Path) -> None:
    for path in [*folder.iterdir()]:
        path.unlink()
        path.touch()


def rename_folder(folder: Path) -> None:
    folder.rename(folder.with_name("elsewhere"))


def make_again(folder: Path) -> None:
    shutil.rmtree(folder)
    folder.mkdir()


WAYS = [remove_file, rename_file, replace_file, shutil.rmtree, rename_folder, make_again]


def restored() -> float:
    return REGISTRY.get_sample_value("tracker_spool_files_restored_total") or 0.0


def waiting(folder: Path) -> list[Path]:
    return [path for path in folder.glob("*.spool") if path.stat().st_size]


@pytest.mark.parametrize("take_away", WAYS)
async def test_an_append_is_answered_only_once_everything_before_it_has_a_name_again(
    folder: Path, logs: Logs, take_away: Callable[[Path], object]
) -> None:
    before = restored()
    async with opened(folder) as spool:
        await spool.append(b"1")
        await spool.append(b"2")
        take_away(folder)
        await spool.append(b"3")
        [path] = waiting(folder)
        assert all(path.read_bytes().count(b"%d" % number) for number in (1, 2, 3))
        assert messages(logs, "error") == [WRITTEN_AGAIN]
        assert restored() == before + 1
        assert spool.bytes_waiting == path.stat().st_size
        await spool.append(b"4")
        assert restored() == before + 1
    assert await replayed(folder) == [b"1", b"2", b"3", b"4"]


async def test_a_folder_may_be_removed_again_and_again(folder: Path, logs: Logs) -> None:
    payloads = [b"%d" % number for number in range(10)]
    async with opened(folder) as spool:
        for payload in payloads:
            await spool.append(payload)
            shutil.rmtree(folder)
    assert await replayed(folder) == payloads
    assert set(messages(logs, "error")) == {WRITTEN_AGAIN}


async def test_finished_files_are_written_again_too_without_an_append(
    folder: Path, logs: Logs, small_files: None
) -> None:
    payloads = [b"%d" % number for number in range(7)]
    async with opened(folder) as spool:
        for payload in payloads:
            await spool.append(payload)
        shutil.rmtree(folder)
        await spool.restore()
        assert len(waiting(folder)) == 4
        assert spool.bytes_waiting == sum(path.stat().st_size for path in waiting(folder))
    assert messages(logs, "error") == [WRITTEN_AGAIN] * 4
    assert sorted(await replayed(folder)) == payloads


async def test_what_is_removed_just_before_a_stop_is_there_at_the_next_start(folder: Path) -> None:
    async with opened(folder) as spool:
        await spool.append(b"1")
        shutil.rmtree(folder)
    assert await replayed(folder) == [b"1"]


async def test_a_replay_sends_what_was_removed_though_it_cannot_be_written_again(
    folder: Path, logs: Logs
) -> None:
    sink = Sink(refuses=b"1")
    async with opened(folder) as spool:
        await spool.append(b"1")
        with pytest.raises(RuntimeError):
            await spool.replay(sink.send)
        await spool.append(b"2")
        shutil.rmtree(folder)
        folder.touch()
        await spool.restore()
        await spool.restore()
        assert messages(logs, "error") == ["a removed spool file cannot be written again"]
        assert not await spool.is_empty()
        sink.refuses = None
        assert await spool.replay(sink.send) == 2
        assert await spool.is_empty()
    assert sink.taken == [b"1", b"2"]


async def test_the_file_of_a_dead_process_that_a_replay_has_begun_is_written_again(
    folder: Path, one_by_one: None
) -> None:
    await spooled(folder, [b"1", b"2"])
    sink = Sink(refuses=b"2")
    async with opened(folder) as spool:
        with pytest.raises(RuntimeError):
            await spool.replay(sink.send)
        shutil.rmtree(folder)
    assert await replayed(folder) == [b"1", b"2"]


async def test_an_append_that_cannot_have_a_name_is_refused_and_those_before_it_kept(
    folder: Path,
) -> None:
    async with opened(folder) as spool:
        await spool.append(b"1")
        shutil.rmtree(folder)
        folder.touch()
        for _ in range(2):
            with pytest.raises(OSError):
                await spool.append(b"refused")
        folder.unlink()
        await spool.append(b"2")
    assert await replayed(folder) == [b"1", b"2"]


async def test_an_append_is_refused_while_files_are_removed_as_fast_as_they_are_written(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with opened(folder) as spool:
        await spool.append(b"1")
        create = locked_file._create

        def create_and_remove(*arguments: Any) -> LockedFile:
            made = create(*arguments)
            shutil.rmtree(folder)
            return made

        with monkeypatch.context() as patched:
            patched.setattr(locked_file, "_create", create_and_remove)
            shutil.rmtree(folder)
            with pytest.raises(OSError, match="removed as fast"):
                await spool.append(b"refused")
        await spool.append(b"2")
    assert await replayed(folder) == [b"1", b"2"]


@pytest.mark.parametrize("call", ["write_into", "_flush_names"])
async def test_a_copy_that_fails_is_never_replayed_and_takes_no_room(
    folder: Path, monkeypatch: pytest.MonkeyPatch, call: str
) -> None:
    """While it is filled, or once it has its name."""
    owner: object = LockedFile if call == "write_into" else locked_file
    made: list[Path] = []

    def fail(*_: Any) -> None:
        made.extend(folder.iterdir())
        raise OSError("no")

    async with opened(folder) as spool:
        await spool.append(b"1")
        shutil.rmtree(folder)
        with monkeypatch.context() as patched:
            patched.setattr(owner, call, fail)
            for _ in range(2):
                with pytest.raises(OSError, match="no"):
                    await spool.append(b"refused")
            await spool.restore()
        assert len(made) == 3
        assert [*folder.iterdir()] == []
        await spool.append(b"2")
    assert await replayed(folder) == [b"1", b"2"]


async def test_a_copy_stands_though_the_folder_cannot_be_measured(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: Any) -> None:
        raise OSError("no descriptors")

    async with opened(folder) as spool:
        await spool.append(b"1")
        shutil.rmtree(folder)
        with monkeypatch.context() as patched:
            patched.setattr(SpoolFolder, "measure", fail)
            await spool.append(b"2")
        await spool.append(b"3")
    assert await replayed(folder) == [b"1", b"2", b"3"]


async def test_a_file_that_was_replayed_is_not_taken_for_removed(
    folder: Path, logs: Logs, small_files: None
) -> None:
    sink = Sink()
    async with opened(folder) as spool:
        for number in range(5):
            await spool.append(b"%d" % number)
        assert await spool.replay(sink.send) == 5
        await spool.restore()
        await spool.append(b"5")
        assert await spool.replay(sink.send) == 1
        assert await spool.is_empty()
    assert messages(logs, "error") == []

"""Files that others remove or rename lose nothing that was answered."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.journal.spooling import Logs, Sink, messages, opened, replayed, restored, spooled

WRITTEN_AGAIN = "spool file was removed or renamed; its entries are written again"


def remove(pattern: str) -> Callable[[Path], None]:
    def remove_files(folder: Path) -> None:
        for path in [*folder.glob(pattern)]:
            path.unlink()

    return remove_files


def rename_files(folder: Path) -> None:
    for path in [*folder.iterdir()]:
        path.rename(f"{path}.other")


def replace_files(folder: Path) -> None:
    for path in [*folder.iterdir()]:
        path.unlink()
        path.touch()


def rename_folder(folder: Path) -> None:
    folder.rename(folder.with_name("elsewhere"))


def make_again(folder: Path) -> None:
    shutil.rmtree(folder)
    folder.mkdir()


@pytest.mark.parametrize(
    "take_away",
    [
        remove("*.sqlite"),
        remove("*-wal"),
        rename_files,
        replace_files,
        rename_folder,
        shutil.rmtree,
        make_again,
    ],
)
async def test_an_append_is_answered_only_once_everything_before_it_has_a_name_again(
    folder: Path, tmp_path: Path, logs: Logs, take_away: Callable[[Path], object]
) -> None:
    before = restored()
    async with opened(folder) as spool:
        await spool.append(b"1")
        await spool.append(b"2")
        take_away(folder)
        await spool.append(b"3")
        assert messages(logs, "error") == [WRITTEN_AGAIN]
        assert restored() == before + 1
        assert spool.bytes_waiting > 0
        shutil.copytree(folder, tmp_path / "copy")
        assert await replayed(tmp_path / "copy") == [b"1", b"2", b"3"]
        await spool.append(b"4")
        assert restored() == before + 1
    assert await replayed(folder) == [b"1", b"2", b"3", b"4"]


async def test_the_file_of_a_dead_process_that_a_replay_has_begun_is_written_again(
    folder: Path, one_by_one: None
) -> None:
    await spooled(folder, [b"1", b"2"])
    sink = Sink(refuses=b"2")
    async with opened(folder) as spool:
        with pytest.raises(RuntimeError):
            await spool.replay(sink.send)
        shutil.rmtree(folder)
    assert sink.taken + await replayed(folder) == [b"1", b"2"]


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

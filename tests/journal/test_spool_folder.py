"""The total of the folder is bounded and reported; leftovers of dead processes are removed."""

import fcntl
import os
import subprocess
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from tests.journal.spooling import HEADER, opened, replayed, spooled
from tracker.journal import spool_folder as module
from tracker.journal.spool_folder import LEFTOVER_SECONDS, SpoolFolder, SpoolFull
from tracker.metrics import REGISTRY

ENTRY = HEADER + 8
"""Bytes of an entry whose payload is one of `EIGHT`."""
EIGHT = b"8 bytes "


@pytest.fixture
def measures_always(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MEASURE_SECONDS", 0.0)


def spool_bytes() -> float | None:
    return REGISTRY.get_sample_value("tracker_spool_bytes")


def leftover(folder: Path, seconds: float) -> Path:
    """Make the file of a process that died `seconds` ago, before it had its name."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "1.new"
    path.touch()
    os.utime(path, (time.time() - seconds,) * 2)
    return path


async def test_an_append_beyond_the_bound_is_refused_and_those_before_it_are_kept(
    folder: Path,
) -> None:
    async with opened(folder, 3 * ENTRY) as spool:
        for _ in range(3):
            await spool.append(EIGHT)
        for _ in range(2):
            with pytest.raises(SpoolFull, match="84 of at most 84 bytes are in use"):
                await spool.append(b"")
    assert await replayed(folder) == [EIGHT] * 3


async def test_a_payload_that_is_too_large_is_refused_and_a_smaller_one_still_taken(
    folder: Path,
) -> None:
    async with opened(folder, 3 * ENTRY) as spool:
        await spool.append(EIGHT)
        with pytest.raises(SpoolFull):
            await spool.append(b"x" * 100)
        await spool.append(EIGHT)
    assert await replayed(folder) == [EIGHT] * 2


async def test_the_first_append_of_a_spool_that_is_too_small_makes_no_file(folder: Path) -> None:
    async with opened(folder, 1) as spool:
        with pytest.raises(SpoolFull):
            await spool.append(EIGHT)
    assert not folder.exists()


async def test_a_replay_makes_room(folder: Path) -> None:
    async def send(payloads: Sequence[bytes]) -> None:
        assert payloads == [EIGHT]

    async with opened(folder, ENTRY) as spool:
        for _ in range(3):
            await spool.append(EIGHT)
            assert (spool.bytes_waiting, spool_bytes()) == (ENTRY, ENTRY)
            assert await spool.replay(send) == 1
            assert (spool.bytes_waiting, spool_bytes()) == (0, 0)


@pytest.mark.parametrize("suffix", ["spool", "damaged", "new", "other"])
async def test_every_file_counts_and_the_files_that_wait_also_by_themselves(
    folder: Path, suffix: str
) -> None:
    folder.mkdir(parents=True)
    (folder / f"1.{suffix}").write_bytes(bytes(50))
    async with opened(folder, 50 + ENTRY) as spool:
        await spool.append(EIGHT)
        with pytest.raises(SpoolFull):
            await spool.append(EIGHT)
        assert spool_bytes() == 50 + ENTRY
        assert spool.bytes_waiting == ENTRY + (50 if suffix == "spool" else 0)


async def test_appends_of_another_process_count(
    folder: Path, child: subprocess.Popen[bytes], measures_always: None
) -> None:
    theirs = HEADER + len(b"from a child")
    async with opened(folder, theirs + 2 * ENTRY) as spool:
        await spool.append(EIGHT)
        assert spool.bytes_waiting == theirs + ENTRY
        await spool.append(EIGHT)
        with pytest.raises(SpoolFull):
            await spool.append(EIGHT)


async def test_the_folder_is_scanned_periodically_and_not_for_each_append(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    measured: list[SpoolFolder] = []
    measure = SpoolFolder.measure

    def counted(self: SpoolFolder) -> list[Path]:
        measured.append(self)
        return measure(self)

    monkeypatch.setattr(SpoolFolder, "measure", counted)
    async with opened(folder) as spool:
        begun = time.monotonic()
        for _ in range(50):
            await spool.append(EIGHT)
        assert len(measured) <= 2 + (time.monotonic() - begun) / module.MEASURE_SECONDS


@pytest.mark.parametrize(
    ("seconds", "stays"), [(0, True), (LEFTOVER_SECONDS - 10, True), (LEFTOVER_SECONDS + 10, False)]
)
async def test_a_leftover_of_an_unfinished_opening_is_not_replayed_and_removed_when_old(
    folder: Path, seconds: float, stays: bool
) -> None:
    path = leftover(folder, seconds)
    assert await replayed(folder) == []
    assert path.exists() is stays


@pytest.fixture
def held(folder: Path) -> Iterator[Path]:
    """Yield a file that another process takes very long to open."""
    path = leftover(folder, LEFTOVER_SECONDS * 2)
    with path.open("rb") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield path


async def test_a_leftover_that_somebody_holds_is_left_alone(folder: Path, held: Path) -> None:
    await spooled(folder, [EIGHT])
    assert await replayed(folder) == [EIGHT]
    assert held.exists()

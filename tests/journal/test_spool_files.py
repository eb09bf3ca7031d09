"""The total of the folder is bounded and reported; damaged and old files are set aside or named."""

from pathlib import Path

import pytest

from tests.journal.spooling import Logs, Sink, messages, opened, replayed, sizes, spooled
from tracker.journal.spool_folder import GROUP_BYTES, SpoolFull, check_no_old_files
from tracker.metrics import REGISTRY
from tracker.stores.startup.diagnosis import UnusableStore

MAX_BYTES = 3 * GROUP_BYTES


def spool_bytes() -> float | None:
    return REGISTRY.get_sample_value("tracker_spool_bytes")


@pytest.mark.parametrize("length", [10_000, 300_000])
async def test_appends_beyond_the_bound_are_refused_until_a_replay_makes_room(
    folder: Path, length: int
) -> None:
    sink, taken = Sink(), 0
    async with opened(folder, MAX_BYTES) as spool:
        with pytest.raises(SpoolFull, match=f"of at most {MAX_BYTES} bytes are in use"):
            while True:
                await spool.append(b"x" * length)
                taken += 1
                assert spool.bytes_waiting == spool_bytes() == sum(sizes(folder).values())
                assert spool.bytes_waiting <= MAX_BYTES
        assert taken * length > MAX_BYTES / 4
        assert await spool.replay(sink.send) == taken
        assert (spool.bytes_waiting, spool_bytes()) == (0, 0)
        await spool.append(b"x" * length)


async def test_lone_entries_take_a_page_of_the_disk_each_for_a_short_time_only(
    folder: Path,
) -> None:
    async with opened(folder) as spool:
        for number in range(400):
            await spool.append(b"%0200d" % number)
        assert sum(sizes(folder).values()) < GROUP_BYTES + 2 * 400 * 200
    assert sum(sizes(folder).values()) < 2 * 400 * 200


@pytest.mark.parametrize(
    ("name", "waits"), [("1.sqlite", True), ("1.sqlite-wal", True), ("1.damaged", False)]
)
async def test_every_file_counts_and_the_files_that_wait_also_by_themselves(
    folder: Path, name: str, waits: bool
) -> None:
    folder.mkdir(parents=True)
    (folder / name).write_bytes(bytes(MAX_BYTES))
    async with opened(folder, MAX_BYTES) as spool:
        with pytest.raises(SpoolFull):
            await spool.append(b"x")
        assert (spool_bytes(), spool.bytes_waiting) == (MAX_BYTES, MAX_BYTES * waits)


ENTRY = 3000
"""Bytes of an entry of which each page has one."""


@pytest.mark.parametrize(
    ("start", "damage", "least"),
    [(-4096, b"", 0), (-4096, b"\xff" * 4096, 5), (-4096, bytes(4096), 5), (0, b"\xff" * 9999, 0)],
    ids=["cut", "garbage in a page", "zeros in a page", "nothing but garbage"],
)
async def test_a_damaged_file_is_set_aside_once_what_is_before_the_damage_is_sent(
    folder: Path, logs: Logs, start: int, damage: bytes, least: int
) -> None:
    payloads = [b"%0*d" % (ENTRY, number) for number in range(10)]
    path = await spooled(folder, payloads)
    contents = path.read_bytes()[:start] + damage
    path.write_bytes(contents)
    await spooled(folder, [b"of another file"])
    *before, other = await replayed(folder)
    assert other == b"of another file"
    assert not list(folder.glob("*.sqlite*"))
    (report,) = [entry for entry in logs if entry["log_level"] == "error"]
    assert (report["event"], report["entries_replayed"]) == ("spool file damaged", len(before))
    assert len(before) >= least
    assert before == payloads[: len(before)]
    assert (folder / report["kept_as"]).read_bytes() == contents


async def test_a_file_that_cannot_be_read_does_not_hold_up_the_others(
    folder: Path, logs: Logs
) -> None:
    (folder / "0.sqlite").mkdir(parents=True)
    (folder / "1.sqlite").write_bytes(b"")
    await spooled(folder, [b"1"])
    assert await replayed(folder) == [b"1"]
    assert messages(logs, "error") == ["spool file unreadable"]


def test_a_start_names_files_of_the_release_before(folder: Path) -> None:
    check_no_old_files(folder)
    folder.mkdir(parents=True)
    (folder / "1.damaged").touch()
    check_no_old_files(folder)
    (folder / "2.spool").touch()
    with pytest.raises(UnusableStore, match=r"2\.spool: clicks of release 1\.0\.0"):
        check_no_old_files(folder)

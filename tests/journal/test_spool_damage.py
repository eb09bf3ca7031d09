"""Torn and damaged files are reported, and their other entries replayed."""

import random
import resource
import struct
from pathlib import Path

import pytest

from tests.journal.spooling import HEADER, Logs, messages, replayed, spooled


async def test_a_torn_tail_at_any_byte_is_reported_and_the_entries_before_it_replayed(
    folder: Path, logs: Logs
) -> None:
    path = await spooled(folder, [b"first", b"second", b"last"])
    whole = path.read_bytes()
    before = len(whole) - HEADER - len(b"last")
    for length in range(before + 1, len(whole)):
        path.write_bytes(whole[:length])
        assert await replayed(folder) == [b"first", b"second"]
        assert messages(logs, "warning") == ["spool file had a torn tail"] * (length - before)
    assert messages(logs, "error") == []
    assert list(folder.iterdir()) == []


async def test_a_torn_entry_of_a_visitor_who_sent_what_begins_entries_is_no_damage(
    folder: Path, logs: Logs
) -> None:
    path = await spooled(folder, [b"answered", b"/c/abc?q=TRK1 and more"])
    path.write_bytes(path.read_bytes()[:-1])
    assert await replayed(folder) == [b"answered"]
    assert messages(logs, "warning") == ["spool file had a torn tail"]
    assert messages(logs, "error") == []
    assert list(folder.iterdir()) == []


async def test_a_file_of_nothing_but_a_torn_entry_is_reported(folder: Path, logs: Logs) -> None:
    path = await spooled(folder, [b"only"])
    path.write_bytes(path.read_bytes()[:-1])
    assert await replayed(folder) == []
    assert messages(logs, "warning") == ["spool file had a torn tail"]
    assert list(folder.iterdir()) == []


async def test_an_empty_file_is_nothing_to_report(folder: Path, logs: Logs) -> None:
    path = await spooled(folder, [b"only"])
    path.write_bytes(b"")
    assert await replayed(folder) == []
    assert messages(logs, "warning") + messages(logs, "error") == []
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
    assert messages(logs, "warning") == ["spool file had a torn tail"]
    assert messages(logs, "error") == ["spool file damaged"]
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


async def test_random_garbage_is_set_aside_and_none_of_it_sent(folder: Path, logs: Logs) -> None:
    chance = random.Random(1)
    folder.mkdir(parents=True)
    (folder / "1.spool").write_bytes(chance.randbytes(1000))
    await spooled(folder, [b"whole"])
    assert await replayed(folder) == [b"whole"]
    assert messages(logs, "error") == ["spool file damaged"]
    assert [path.name for path in folder.iterdir()] == ["1.damaged"]


async def test_a_file_that_cannot_be_read_does_not_hold_up_the_others(
    folder: Path, logs: Logs
) -> None:
    (folder / "0.spool").mkdir(parents=True)
    await spooled(folder, [b"1"])
    assert await replayed(folder) == [b"1"]
    assert messages(logs, "error") == ["spool file unreadable"]

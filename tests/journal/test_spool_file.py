"""Every whole entry of a file is found, whatever else is in it."""

import io
import zlib
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.waiting import bounded_work
from tracker.journal import spool_file
from tracker.journal.spool_file import (
    BATCH_BYTES,
    BATCH_ENTRIES,
    HEADER_BYTES,
    SpoolReader,
    marker_of,
    name_with_marker,
    new_marker,
)

MARKER = b"\x00\xffmarker"
UNMARKED = b""
"""The marker of files that earlier releases wrote."""

payloads = st.lists(
    st.binary(max_size=60) | st.just(b"TRK1") | st.just(b"TRK1\0\0\0\0"), max_size=8
)


def frame(payload: bytes, marker: bytes = MARKER) -> bytes:
    return spool_file.frame(payload, marker)


def read(path: Path, contents: bytes, marker: bytes = MARKER) -> tuple[list[bytes], SpoolReader]:
    path.write_bytes(contents)
    found = []
    with path.open("rb") as file:
        reader = SpoolReader(file, marker)
        while (payload := reader.read()) is not None:
            found.append(payload)
        assert reader.read() is None
    assert reader.entries == len(found)
    return found, reader


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("spool") / "1.spool"


@given(payloads)
def test_written_entries_are_read(path: Path, payloads: list[bytes]) -> None:
    found, reader = read(path, b"".join(map(frame, payloads)))
    assert found == payloads
    assert (reader.damaged_bytes, reader.torn_bytes) == (0, 0)


@given(payloads, payloads, st.binary(max_size=80))
@example([b"a"], [b"b"], b"TRK1\0\0\0\x05")
@example([b"a"], [b"b"], frame(b"x" * 99)[:-1])
@example([], [b"b"], b"TRK")
@example([b"a"], [b"b"], bytes(4096))
def test_entries_around_anything_else_are_read(
    path: Path, before: list[bytes], after: list[bytes], between: bytes
) -> None:
    whole = [*before, *after]
    contents = b"".join(map(frame, before)) + between + b"".join(map(frame, after))
    found, reader = read(path, contents)
    assert found == whole
    length = reader.damaged_bytes + reader.torn_bytes
    assert length == len(contents) - sum(len(frame(payload)) for payload in whole)
    assert not (after and reader.torn_bytes)


@given(st.lists(st.binary(min_size=1, max_size=60), min_size=1, max_size=8), st.data())
def test_a_wrong_byte_costs_one_entry(
    path: Path, payloads: list[bytes], data: st.DataObject
) -> None:
    entries = list(map(frame, payloads))
    hit = data.draw(st.integers(0, len(entries) - 1))
    byte = data.draw(st.integers(0, len(entries[hit]) - 1))
    flips = data.draw(st.integers(1, 255))
    wrong = bytearray(entries[hit])
    wrong[byte] ^= flips
    found, reader = read(path, b"".join([*entries[:hit], bytes(wrong), *entries[hit + 1 :]]))
    assert found == payloads[:hit] + payloads[hit + 1 :]
    assert (reader.damaged_bytes, reader.torn_bytes) == (len(wrong), 0)


def test_a_length_that_leads_to_a_later_entry_hides_none_between(path: Path) -> None:
    """One bit of the first length is wrong, and it ends just where the third entry begins."""
    entries = [frame(bytes([number]) * 44) for number in range(4)]
    last = HEADER_BYTES - 5
    wrong = entries[0][:last] + bytes([44 + 64]) + entries[0][last + 1 :]
    found, reader = read(path, wrong + b"".join(entries[1:]))
    assert found == [bytes([number]) * 44 for number in (1, 2, 3)]
    assert reader.damaged_bytes == 64


@pytest.mark.parametrize("distance", [*range(-20, 5), 7_000_000])
def test_an_entry_is_found_wherever_in_the_damage_it_begins(path: Path, distance: int) -> None:
    """The magic may lie across two of the pieces that are searched."""
    gap = 1024 * 1024 + distance
    found, reader = read(path, bytes(gap) + frame(b"found") + frame(b"too"))
    assert found == [b"found", b"too"]
    assert reader.damaged_bytes == gap


def test_many_magics_that_begin_nothing_are_passed_over_quickly(path: Path) -> None:
    with bounded_work():
        found, _ = read(path, (MARKER + b"TRK1") * 100_000 + frame(b"found"))
    assert found == [b"found"]


def test_a_payload_that_is_whole_though_its_length_is_not_is_damage_and_no_torn_tail(
    path: Path,
) -> None:
    payload = b"answered"
    header = MARKER + b"TRK1" + (len(payload) + 1).to_bytes(4) + zlib.crc32(payload).to_bytes(4)
    _, reader = read(path, header + payload)
    assert (reader.damaged_bytes, reader.torn_bytes) == (len(header + payload), 0)


visitors_bytes = st.binary(max_size=40) | st.just(b"/c/abc?q=TRK1")
forged = visitors_bytes.map(lambda payload: frame(payload, UNMARKED))


@given(
    st.lists(visitors_bytes, max_size=4), st.lists(visitors_bytes | forged, min_size=1), st.data()
)
@example([b"first"], [frame(b"forged", UNMARKED)], None)
def test_a_tail_cut_at_any_byte_is_torn_whatever_a_visitor_sent(
    path: Path, before: list[bytes], texts: list[bytes], data: st.DataObject | None
) -> None:
    whole = b"".join(map(frame, before))
    tail = frame(b"".join(texts))
    cut = data.draw(st.integers(1, len(tail) - 1)) if data else len(tail) - 1
    found, reader = read(path, whole + tail[:cut])
    assert found == before
    assert (reader.damaged_bytes, reader.torn_bytes) == (0, cut)


@given(st.lists(visitors_bytes | forged, min_size=3, max_size=6), st.data())
def test_damage_before_the_last_entry_is_damage_whatever_a_visitor_sent(
    path: Path, payloads: list[bytes], data: st.DataObject
) -> None:
    entries = list(map(frame, payloads))
    hit = data.draw(st.integers(0, len(entries) - 2))
    wrong = bytearray(entries[hit])
    wrong[data.draw(st.integers(0, len(wrong) - 1))] ^= 0xFF
    found, reader = read(path, b"".join([*entries[:hit], bytes(wrong), *entries[hit + 1 :]]))
    assert found == payloads[:hit] + payloads[hit + 1 :]
    assert (reader.damaged_bytes, reader.torn_bytes) == (len(wrong), 0)


def test_an_earlier_release_reads_each_entry_of_a_new_file_and_keeps_the_file(path: Path) -> None:
    """It knows no marker, and so takes it for damage between the entries."""
    found, reader = read(path, frame(b"1") + frame(b"2"), UNMARKED)
    assert found == [b"1", b"2"]
    assert reader.damaged_bytes == 2 * len(MARKER)


def test_a_marker_is_in_the_name_of_its_file_and_different_in_each() -> None:
    one, other = new_marker(), new_marker()
    assert one != other
    assert marker_of(Path(name_with_marker("00000001753000000000-4711", one) + ".spool")) == one
    assert marker_of(Path("1.spool")) == marker_of(Path("1-2-0123456789abcdeg.spool")) == b""


def batches(path: Path, payloads: list[bytes]) -> list[list[bytes]]:
    path.write_bytes(b"".join(map(frame, payloads)))
    found = []
    with path.open("rb") as file:
        reader = SpoolReader(file, MARKER)
        while batch := reader.batch():
            assert reader.batch() == batch
            found.append([*batch])
            reader.mark_sent()
    return found


LARGE = BATCH_BYTES // 2


@pytest.mark.parametrize(
    ("lengths", "expected"),
    [
        ([], []),
        ([1] * 3, [3]),
        ([1] * (2 * BATCH_ENTRIES + 1), [BATCH_ENTRIES, BATCH_ENTRIES, 1]),
        ([LARGE - 1, 1, 1, LARGE], [4]),
        ([LARGE] * 5, [2, 2, 1]),
        ([3 * LARGE, 3 * LARGE], [1, 1]),
    ],
)
def test_a_batch_ends_at_a_number_of_entries_or_bytes_and_stays_until_it_is_sent(
    path: Path, lengths: list[int], expected: list[int]
) -> None:
    payloads = [bytes([number % 256]) * length for number, length in enumerate(lengths)]
    found = batches(path, payloads)
    assert [len(batch) for batch in found] == expected
    assert [payload for batch in found for payload in batch] == payloads


class BadSector(io.FileIO):
    """A file that cannot be read from byte `bad` on. A read across it is short, as in Linux."""

    bad = 0

    def read(self, size: int | None = -1, /) -> bytes:
        if self.tell() >= self.bad:
            raise OSError("bad sector")
        assert size is not None
        return super().read(min(size, self.bad - self.tell()))


@pytest.mark.parametrize("within", [0, 5, len(frame(b"")), len(frame(b"1")) - 1])
def test_entries_before_a_bad_sector_are_a_batch_once(path: Path, within: int) -> None:
    path.write_bytes(b"".join(map(frame, (b"1", b"2", b"3"))))
    with BadSector(path) as file:
        file.bad = 2 * len(frame(b"1")) + within
        reader = SpoolReader(file, MARKER)
        with pytest.raises(OSError, match="bad sector"):
            reader.batch()
        assert reader.batch() == [b"1", b"2"]
        reader.mark_sent()
        for _ in range(2):
            with pytest.raises(OSError, match="bad sector"):
                reader.batch()
        file.bad = path.stat().st_size + 1
        assert reader.batch() == [b"3"]
        assert (reader.damaged_bytes, reader.torn_bytes) == (0, 0)

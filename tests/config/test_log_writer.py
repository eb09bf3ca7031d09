"""Logging never waits for a reader: lines that do not fit are dropped and counted."""

import contextlib
import os
import threading
import time
from collections.abc import Iterator

import pytest

from config.log_writer import LogWriter, write_within
from tests.waiting import PROCESS_PATIENCE_SECONDS

Pipe = tuple[int, int]


@pytest.fixture
def pipe() -> Iterator[Pipe]:
    reading, writing = os.pipe()
    yield reading, writing
    for fd in (reading, writing):
        with contextlib.suppress(OSError):
            os.close(fd)


class Reports:
    """The calls of a writer: lines dropped, and lines reported once they flow again."""

    def __init__(self) -> None:
        self.dropped = 0
        self.recovered: list[int] = []
        self.flowing = threading.Event()

    def drop(self, lines: int) -> None:
        self.dropped += lines

    def recover(self, lines: int) -> None:
        self.recovered.append(lines)
        self.flowing.set()


def test_a_reader_that_stops_does_not_block_logging_and_dropped_lines_are_reported(
    pipe: Pipe,
) -> None:
    reports = Reports()
    writer = LogWriter(pipe[1], reports.drop, reports.recover, max_queued_bytes=100_000)
    line = b"x" * 999 + b"\n"
    put = 0
    while reports.dropped < 50:
        writer.put(line)
        put += 1
    assert put < 50 + (65_536 + 2 * 100_000) / len(line) + 2
    read = [0]

    def read_to_the_end() -> None:
        while piece := os.read(pipe[0], 65536):
            read[0] += len(piece)

    reader = threading.Thread(target=read_to_the_end)
    reader.start()
    assert reports.flowing.wait(PROCESS_PATIENCE_SECONDS)
    assert reports.recovered == [reports.dropped] == [50]
    writer.put(b"one more\n")
    writer.stop(10)
    os.close(pipe[1])
    reader.join(PROCESS_PATIENCE_SECONDS)
    assert read[0] == (put - 50) * len(line) + len(b"one more\n")


def test_a_stop_waits_a_bounded_time_for_the_reader(pipe: Pipe) -> None:
    reports = Reports()
    writer = LogWriter(pipe[1], reports.drop, reports.recover)
    for _ in range(200):
        writer.put(b"x" * 1000)
    began = time.monotonic()
    writer.stop(0.1)
    assert time.monotonic() - began >= 0.1
    os.close(pipe[0])
    writer.stop(10)  # the thread has ended before its descriptor may be another's


def test_queued_lines_are_written_at_the_end(pipe: Pipe) -> None:
    writer = LogWriter(pipe[1], Reports().drop, Reports().recover)
    for number in range(50):
        writer.put(b"%d\n" % number)
    writer.stop(10)
    assert os.read(pipe[0], 65536).split() == [b"%d" % number for number in range(50)]


def test_lines_whose_reader_has_gone_count_as_dropped(pipe: Pipe) -> None:
    reports = Reports()
    os.close(pipe[0])
    writer = LogWriter(pipe[1], reports.drop, reports.recover)
    for _ in range(5):
        writer.put(b"x\n")
    writer.stop(10)
    assert (reports.dropped, reports.recovered) == (5, [])


def test_lines_of_two_writers_on_one_pipe_are_not_mixed(pipe: Pipe) -> None:
    writers = [LogWriter(pipe[1], Reports().drop, Reports().recover) for _ in range(2)]
    for number in range(500):
        for writer, letter in zip(writers, (b"a", b"b"), strict=True):
            writer.put(letter * (1 + number * 7 % 4000) + b"\n")
    received: list[bytes] = []

    def read() -> None:
        while piece := os.read(pipe[0], 65536):
            received.append(piece)

    reader = threading.Thread(target=read)
    reader.start()
    for writer in writers:
        writer.stop(10)
    os.close(pipe[1])
    reader.join(PROCESS_PATIENCE_SECONDS)
    lines = b"".join(received).splitlines()
    assert len(lines) == 1000
    assert all(len(set(line)) == 1 for line in lines)


def test_without_a_thread_a_line_is_written_or_dropped_in_time(pipe: Pipe) -> None:
    assert write_within(pipe[1], b"one\n", 0)
    assert os.read(pipe[0], 100) == b"one\n"
    while write_within(pipe[1], b"x" * 1000, 0):
        pass
    assert not write_within(pipe[1], b"two\n", 0.05)
    os.close(pipe[0])
    assert not write_within(pipe[1], b"three\n", 0.05)

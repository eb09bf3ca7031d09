"""The line of a request is the one that a record of it gets, and costs a fraction of it."""

import io
import json
import logging as standard
import os
import re
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stderr
from datetime import datetime
from typing import Any

import pytest
import structlog
from hypothesis import given
from hypothesis import strategies as st

from config import logging
from config.request_line import LOGGER_NAME
from config.settings import Settings
from tests.waiting import until
from tracker.http.access_log import AccessLog

HEX_ID = "0123456789abcdef0123456789abcdef"
Line = tuple[str, str, int, float, str | None]

LINES: tuple[Line, ...] = (
    ("GET", "/c/abc-def", 302, 0.00123, HEX_ID),
    ("HEAD", "/api/click", 404, 0.0, None),
    ("other", "/", 500, 12.34567, "of-this:test"),
    ("GET", "/c/caf\u00e9", 200, 0.00005, "r.1"),
    ("GET", "/c/\u65e5\u672c \u2028", 200, 0.00015, "r_1"),
    ("GET", "/c/\x00\x1b[2J\r\n\x7f\x9b", 400, 0.00095, "r-1"),
    ("GET", '/c/"a"=\\b', 400, 59.99996, "r-1"),
    ("GET", "/c/%s%d%%\ud800", 400, 0.1, "r-1"),
    ("GET", "", 400, 1e-9, ""),
)

ANY = st.tuples(
    st.text(),
    st.text(),
    st.integers(100, 999),
    st.floats(0, 1e6),
    st.none() | st.text(),
)


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture(autouse=True)
def logging_restored() -> Iterator[None]:
    root = standard.getLogger()
    before = root.handlers[:], root.level
    yield
    root.handlers[:] = before[0]
    root.setLevel(before[1])


def configured(log_format: str, written: Any) -> None:
    with redirect_stderr(written):
        logging.configure(Settings(log_format=log_format))  # type: ignore[arg-type]


def both(log_format: str, written: io.StringIO, line: Line) -> tuple[str, str]:
    """Return the line of a request, and that of a record with its fields."""
    configured(log_format, written)
    method, path, status, seconds, request_id = line
    logging.request_writer()(*line)
    of_request = written.getvalue()
    structlog.get_logger(LOGGER_NAME).info(
        "request",
        method=method,
        path=path,
        status=status,
        milliseconds=round(seconds * 1000, 1),
        request_id=request_id,
    )
    return of_request, written.getvalue()[len(of_request) :]


def without_time(line: str) -> str:
    """Return `line` without its time, which must be there once."""
    found, times = re.subn(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}(\d{3})?Z", "", line)
    assert times == 1
    return found


@pytest.mark.parametrize(
    ("log_format", "written"), [("json", io.StringIO), ("text", io.StringIO), ("auto", Terminal)]
)
@pytest.mark.parametrize("line", LINES, ids=repr)
def test_a_line_is_that_of_a_record_byte_for_byte(
    log_format: str, written: Callable[[], io.StringIO], line: Line
) -> None:
    of_request, of_record = both(log_format, written(), line)
    assert without_time(of_request) == without_time(of_record)


@given(line=ANY)
def test_any_request_is_a_line_that_decodes_to_the_fields_of_its_record(line: Line) -> None:
    of_request, of_record = both("json", io.StringIO(), line)
    found, wanted = json.loads(of_request), json.loads(of_record)
    assert list(found) == list(wanted)
    assert {**found, "timestamp": ""} == {**wanted, "timestamp": ""}
    assert of_request.isascii()
    assert of_request[:-1].isprintable()


@given(line=ANY)
def test_no_request_leaves_its_line_of_text(line: Line) -> None:
    of_request, of_record = both("text", io.StringIO(), line)
    assert of_request[24:] == of_record[24:]
    assert of_request.endswith("\n")
    assert of_request[:-1].isprintable()


def test_the_time_is_the_present_one_in_utc() -> None:
    before = time.time_ns() // 1_000_000
    of_request, _ = both("json", io.StringIO(), LINES[0])
    stamp = json.loads(of_request)["timestamp"]
    shown = structlog.processors.TimeStamper(fmt="iso", utc=True)
    assert len(stamp) == len(shown(None, "", {})["timestamp"]) == 27
    at = datetime.fromisoformat(stamp).timestamp() * 1000
    assert before <= round(at) <= time.time_ns() // 1_000_000


@contextmanager
def read_pipe() -> Iterator[tuple[Any, list[bytes]]]:
    """Yield the writing end of a pipe and what a thread has read from the other by the end."""
    reading, writing = os.pipe()
    pieces: list[bytes] = []

    def read() -> None:
        while piece := os.read(reading, 65536):
            pieces.append(piece)

    reader = threading.Thread(target=read)
    reader.start()
    try:
        with os.fdopen(writing, "w") as written:
            yield written, pieces
    finally:
        reader.join(10)
        os.close(reading)


def test_requests_and_records_keep_their_order() -> None:
    with read_pipe() as (written, pieces):
        configured("json", written)
        access, log = AccessLog(1), structlog.get_logger("tracker.own")
        with logging.background_writer(lambda lines: None):
            for number in range(300):
                access.record("GET", "/c/{slug}", f"/c/{number}", 302, 0.001, HEX_ID)
                log.info(f"/c/{number}")
            # The writer's end waits for its reader no longer than a slow machine may take.
            until(lambda: b"".join(pieces).count(b"\n") == 600)
    records = [json.loads(line) for line in b"".join(pieces).splitlines()]
    assert [record.get("path", record["event"]) for record in records] == [
        f"/c/{number}" for number in range(300) for _ in range(2)
    ]


def test_requests_that_nobody_reads_are_dropped_and_counted() -> None:
    reading, writing = os.pipe()
    dropped = 0

    def drop(lines: int) -> None:
        nonlocal dropped
        dropped += lines

    with os.fdopen(reading, "rb"), os.fdopen(writing, "w") as written:
        configured("json", written)
        access = AccessLog(1)
        with logging.background_writer(drop):
            while not dropped:
                access.record("GET", "/c/{slug}", "/c/" + "x" * 1000, 302, 0.001, HEX_ID)


@pytest.mark.parametrize("log_format", ["json", "text"])
def test_a_line_costs_about_what_the_standard_library_takes_to_encode_its_row(
    log_format: str,
) -> None:
    """Compare processor time, the writer's included, with a yardstick as slow as the machine."""
    row = dict(zip(("method", "path", "status", "seconds", "id"), LINES[0], strict=True))
    row |= {"event": "request", "level": "info", "logger": LOGGER_NAME, "timestamp": "x" * 27}
    with read_pipe() as (written, _):
        configured(log_format, written)
        logged, unlogged = AccessLog(1), AccessLog(0)
        rounds = [
            (
                seconds_of(lambda: record(logged)),
                seconds_of(lambda: record(unlogged)),
                seconds_of(lambda: (json.dumps(row) + "\n").encode()),
            )
            for _ in range(15)
        ]
    with_line, without, yardstick = (min(column) for column in zip(*rounds, strict=True))
    assert with_line - without < 1.5 * yardstick


def record(log: AccessLog) -> None:
    log.record("GET", "/c/{slug}", "/c/abc-def", 302, 0.00123, HEX_ID)


def seconds_of(act: Callable[[], object]) -> float:
    """Return the processor time of `act` for 5,000 times, until its lines are written."""
    began = time.process_time()
    with logging.background_writer(lambda lines: None):
        for _ in range(5_000):
            act()
    return time.process_time() - began

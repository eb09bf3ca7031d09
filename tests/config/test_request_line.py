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

LINE: Line = ("GET", "/c/abc-def", 302, 0.00123, HEX_ID)

ANY = st.tuples(
    st.text(), st.text(), st.integers(100, 999), st.floats(0, 1e6), st.none() | st.text()
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


@given(line=ANY)
@pytest.mark.parametrize(
    ("log_format", "written"), [("json", io.StringIO), ("text", io.StringIO), ("auto", Terminal)]
)
def test_a_line_is_that_of_a_record_byte_for_byte(
    log_format: str, written: Callable[[], io.StringIO], line: Line
) -> None:
    of_request, of_record = both(log_format, written(), line)
    assert without_time(of_request) == without_time(of_record)
    assert of_request.endswith("\n")
    assert log_format == "auto" or of_request[:-1].isprintable()


def test_the_time_is_the_present_one_in_utc() -> None:
    before = time.time_ns() // 1_000_000
    of_request, _ = both("json", io.StringIO(), LINE)
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

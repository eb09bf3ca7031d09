"""Every log record is one line, from every logger and with any content."""

import io
import json
import logging as standard
from collections.abc import Iterator
from contextlib import redirect_stderr

import pytest
import structlog

from config import logging
from config.settings import Settings

NAMES = ("", "pymongo", "asyncio", "tornado.general", "tornado.application", "tornado.access")


@pytest.fixture(autouse=True)
def logging_restored() -> Iterator[None]:
    """Restore the logging of the session after each test."""
    root = standard.getLogger()
    handlers, levels = root.handlers[:], {name: standard.getLogger(name).level for name in NAMES}
    yield
    root.handlers[:] = handlers
    for name, level in levels.items():
        standard.getLogger(name).setLevel(level)
    structlog.contextvars.clear_contextvars()


def configured(log_format: str, log_level: str = "info") -> io.StringIO:
    written = io.StringIO()
    settings = Settings(log_format=log_format, log_level=log_level)  # type: ignore[arg-type]
    with redirect_stderr(written):
        logging.configure(settings)
    return written


def fail() -> None:
    raise ValueError("two\nlines")


def write_all(log_format: str) -> list[str]:
    """Log five records with our own and the standard library's loggers; return their lines."""
    written = configured(log_format)
    own, other = structlog.get_logger("tracker.own"), standard.getLogger("tornado.application")
    structlog.contextvars.bind_contextvars(request_id="r-1")
    own.info("two\nlines", value="caf\u00e9\n", nothing=None, thing=object())
    other.warning("from %s", "else\nwhere")
    try:
        fail()
    except ValueError:
        own.error("failed", exc_info=True)
        other.exception("failed too")
    own.info("lone surrogate \ud800 and \x00")
    own.debug("not shown")
    return written.getvalue().splitlines()


def test_json_has_one_object_a_line_with_the_request_id() -> None:
    records = [json.loads(line) for line in write_all("json")]
    assert len(records) == 5
    assert all(record["request_id"] == "r-1" for record in records)
    assert [record["level"] for record in records] == ["info", "warning", "error", "error", "info"]
    assert [record["logger"] for record in records][:2] == ["tracker.own", "tornado.application"]
    assert all(record["timestamp"].endswith("Z") for record in records)
    assert records[0]["event"] == "two\nlines"
    assert records[0]["value"] == "caf\u00e9\n"
    assert records[1]["event"] == "from else\nwhere"
    for failed in records[2:4]:
        assert "ValueError: two\nlines" in failed["exception"]


def test_text_has_one_line_a_record_too() -> None:
    lines = write_all("text")
    assert len(lines) == 5
    assert all(" request_id=r-1" in line for line in lines)
    assert "ValueError: two" in lines[2]
    assert "ValueError: two" in lines[3]


def test_auto_is_json_without_a_terminal() -> None:
    written = configured("auto")
    structlog.get_logger("tracker.own").info("shown")
    assert json.loads(written.getvalue())["event"] == "shown"


@pytest.mark.parametrize(
    ("level", "shown"),
    [
        ("debug", ["debug", "info", "warning", "error"]),
        ("info", ["info", "warning", "error"]),
        ("warning", ["warning", "error"]),
        ("error", ["error"]),
    ],
)
def test_records_below_the_level_are_not_logged(level: str, shown: list[str]) -> None:
    written = configured("json", level)
    own, other = structlog.get_logger("tracker.own"), standard.getLogger("other")
    for name in ("debug", "info", "warning", "error"):
        getattr(own, name)(name)
        getattr(other, name)(name)
    events = [json.loads(line)["event"] for line in written.getvalue().splitlines()]
    assert events == [name for name in shown for _ in range(2)]


@pytest.mark.parametrize("name", ["pymongo.command", "pymongo.topology", "tornado.general"])
def test_loggers_that_repeat_user_data_are_silent_below_warning(name: str) -> None:
    written = configured("json", "debug")
    standard.getLogger(name).info("Malformed HTTP message from 203.0.113.77")
    assert written.getvalue() == ""
    standard.getLogger(name).warning("shown")
    assert json.loads(written.getvalue())["event"] == "shown"


def test_configuring_twice_does_not_write_twice() -> None:
    configured("json")
    written = configured("json")
    structlog.get_logger("tracker.own").info("once")
    assert len(written.getvalue().splitlines()) == 1

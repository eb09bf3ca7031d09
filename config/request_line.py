"""The log line of an answered request, without a log record.

Its fields are known, and structlog and `logging` would take ten times as long. Guarantee: the line
equals the renderer's output for such a record, byte for byte.
"""

import time
from collections.abc import Callable
from datetime import UTC, datetime
from json.encoder import encode_basestring_ascii as quoted
from typing import Final

import structlog

from config.log_text import TextRenderer, value_text

RequestLine = Callable[[str, str, int, float, str | None], str]
"""Formats a line of method, path, status, seconds and request id."""

LOGGER_NAME: Final = "tracker.access"

_RECORD: Final = {
    "method": "%s",
    "path": "%s",
    "status": "%d",
    "milliseconds": "%.1f",
    "request_id": "%s",
    "event": "request",
    "level": "info",
    "logger": LOGGER_NAME,
    "timestamp": "%s",
}
"""The record of a request. It is rendered once, then filled in for each request."""


def millisecond_clock() -> Callable[[], str]:
    """Return a clock, which returns the present millisecond as 2026-01-31T09:00:00.123000Z."""
    known, text = -1, ""

    def now() -> str:
        nonlocal known, text
        millisecond = time.time_ns() // 1_000_000
        if millisecond != known:
            # Cached: many requests share it, and it takes longer than the rest of the line.
            moment = datetime.fromtimestamp(millisecond // 1000, UTC)
            text = f"{moment:%Y-%m-%dT%H:%M:%S}.{millisecond % 1000:03d}000Z"
            known = millisecond
        return text

    return now


def json_line(renderer: structlog.processors.JSONRenderer) -> RequestLine:
    """Return a function that formats lines as JSON."""
    rendered = str(renderer(None, "", dict(_RECORD)))
    numbers = rendered.replace('"%d"', "%d").replace('"%.1f"', "%.1f")
    # The values that fill in the strings have their own quotes.
    template, now = numbers.replace('"%s"', "%s") + "\n", millisecond_clock()

    def line(method: str, path: str, status: int, seconds: float, request_id: str | None) -> str:
        shown_id = "null" if request_id is None else quoted(request_id)
        fields = (quoted(method), quoted(path), status, seconds * 1000, shown_id, f'"{now()}"')
        return template % fields

    return line


def text_line(renderer: TextRenderer) -> RequestLine:
    """Return a function that formats lines as text."""
    template, now = renderer(None, "", dict(_RECORD)) + "\n", millisecond_clock()

    def line(method: str, path: str, status: int, seconds: float, request_id: str | None) -> str:
        shown = (value_text(method), value_text(path), status, seconds * 1000)
        return template % (f"{now()[:-4]}Z", *shown, value_text(request_id))

    return line

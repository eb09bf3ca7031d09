"""The time that a sender names for a conversion, for reports that come late. Pure."""

import re
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any, Final

from tracker.clock import now_ms
from tracker.errors import BadRequest

MAX_DAYS_AGO: Final = 400
FUTURE_MS: Final = 300_000
"""Clocks of senders may be so far ahead."""

_MAX_CHARACTERS: Final = 40
_NUMBER: Final = re.compile(r"\d{1,20}(?:\.\d{1,9})?", re.ASCII)
_SECONDS_BELOW: Final = 10**11
"""Larger numbers are milliseconds: these seconds would be after the year 5000."""

_PLUS: Final = re.compile(r"(?<=:\d\d) (?=\d\d:?\d\d\Z)", re.ASCII)
"""A blank that was the plus of an offset, before a query was decoded."""


def parse_moment(name: str, value: Any) -> int:
    """Return milliseconds since the epoch. Raises BadRequest for no time, or one out of range."""
    at = _milliseconds(value)
    if at is None:
        raise BadRequest(f"{name}: must be ISO 8601 or Unix time, in seconds or milliseconds")
    now = now_ms()
    if not now - MAX_DAYS_AGO * 86_400_000 <= at <= now + FUTURE_MS:
        raise BadRequest(f"{name}: must be within the last {MAX_DAYS_AGO} days")
    return min(at, now)


def _milliseconds(value: Any) -> int | None:
    if isinstance(value, bool) or not isinstance(value, str | int | Decimal):
        return None
    if isinstance(value, str):
        text = value.strip()
        if len(text) > _MAX_CHARACTERS:
            return None
        if not _NUMBER.fullmatch(text):
            return _of_iso(text)
        value = Decimal(text)
    if not 0 <= value < 10**20:
        return None
    return int(value * 1000) if value < _SECONDS_BELOW else int(value)


def _of_iso(text: str) -> int | None:
    """Without an offset it is UTC."""
    try:
        at = datetime.fromisoformat(_PLUS.sub("+", text))
        return int((at if at.tzinfo else at.replace(tzinfo=UTC)).timestamp() * 1000)
    except (ValueError, OverflowError):
        return None

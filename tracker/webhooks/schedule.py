"""When a delivery is attempted again, and when its webhook is given up. Pure: time is passed in.

Called by the sender after each attempt. All times are milliseconds since the epoch.
"""

import re
from datetime import UTC
from email.utils import parsedate_to_datetime
from enum import StrEnum
from typing import Final

from tracker.webhooks.client import Outcome

_MINUTE: Final = 60
_HOUR: Final = 60 * _MINUTE

DELAYS: Final = (
    0,
    5,
    5 * _MINUTE,
    30 * _MINUTE,
    2 * _HOUR,
    5 * _HOUR,
    10 * _HOUR,
    14 * _HOUR,
    20 * _HOUR,
    24 * _HOUR,
)
"""Seconds to each attempt from the one before (the first: from the event), 75.6 hours in all."""

JITTER: Final = 0.1
"""The share of a delay that jitter adds at most, so that failures of one moment come apart."""

LONGEST_RETRY_AFTER: Final = 24 * _HOUR
"""Seconds that a receiver can put the next attempt off by."""

FAILING_MS: Final = 5 * 24 * _HOUR * 1000
"""A webhook that has delivered nothing for so long, and failed, is disabled."""

GONE: Final = 410

NO_PAYLOAD: Final = "payload"
"""The failure of an attempt that there was nothing to send for."""

_SECONDS: Final = re.compile(r"[0-9]+")


class Disabled(StrEnum):
    """Why a webhook is no longer sent to."""

    GONE = "gone"
    """Its receiver answered 410."""
    FAILING = "failing"
    """Every attempt of five days failed."""


def next_attempt_at(attempts: int, now_ms: int, outcome: Outcome, jitter: float) -> int | None:
    """When to try again after the `attempts`-th attempt (from 1) came out as `outcome`.

    None: no more, because it is delivered, the receiver is gone, there is no payload to send, or
    all attempts are made.
    `jitter` is a random number from 0 to 1. A Retry-After of the answer can make it later than the
    table says, by at most LONGEST_RETRY_AFTER, never earlier.
    """
    is_final = outcome.delivered or outcome.code == GONE or outcome.failure == NO_PAYLOAD
    if is_final or attempts >= len(DELAYS):
        return None
    seconds = max(DELAYS[attempts], retry_after_seconds(outcome.retry_after, now_ms))
    return now_ms + round(seconds * 1000 * (1 + JITTER * jitter))


def retry_after_seconds(field: str | None, now_ms: int) -> float:
    """What the value of a Retry-After header asks for, in seconds or as an HTTP date.

    From 0 to LONGEST_RETRY_AFTER; 0 if it is missing, past, or neither.
    """
    text = (field or "").strip()
    asked = float(text) if _SECONDS.fullmatch(text) else _moment(text) - now_ms / 1000
    return min(max(asked, 0), LONGEST_RETRY_AFTER)


def why_disabled(failing_since: int | None, now_ms: int, outcome: Outcome) -> Disabled | None:
    """Why to disable a webhook after an attempt; None: it stays active.

    `failing_since` is when the first attempt failed of those since the last that succeeded.
    """
    if outcome.code == GONE:
        return Disabled.GONE
    if outcome.delivered or failing_since is None or now_ms - failing_since < FAILING_MS:
        return None
    return Disabled.FAILING


def _moment(text: str) -> float:
    """The seconds of an HTTP date, of any of its three forms; 0 if it is none."""
    try:
        moment = parsedate_to_datetime(text)
        # The form of C's asctime names no zone: it is always UTC.
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError):
        return 0

"""The schedule of attempts, and the rule for disabling a webhook. Pure: time is passed in.

- A Retry-After of the receiver can make the next attempt later, never earlier.
- A webhook is disabled if its receiver answers 410, or if all attempts of five days failed.
"""

import re
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from enum import StrEnum
from typing import Final

from tracker.webhooks.delivery import Outcome

_MINUTE: Final = 60
_HOUR: Final = 60 * _MINUTE

DELAYS_SECONDS: Final = (
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
"""Each counts from the previous attempt, the first from the event: 75.6 hours in total."""

JITTER_SHARE: Final = 0.1
"""Jitter adds at most this share to a delay. It spreads simultaneous failures."""

MAX_RETRY_AFTER_SECONDS: Final = 24 * _HOUR

MAX_FAILING: Final = timedelta(days=5)
"""A webhook is disabled if all its attempts failed for this time."""

GONE: Final = 410
"""With this status a receiver asks for no more deliveries."""

NO_PAYLOAD: Final = "payload"
TOO_OLD: Final = "expired"
NOT_TOLD: Final = "untold"
"""The failure classes of attempts that send nothing. The last two say nothing of the receiver."""

_NEVER_SENT: Final = (NO_PAYLOAD, TOO_OLD, NOT_TOLD)

_DELAY_PATTERN: Final = re.compile(r"[0-9]+(?:\.[0-9]+)?")


class Disabled(StrEnum):
    """The reason why the service has disabled a webhook."""

    GONE = "gone"
    FAILING = "failing"


def next_attempt_at(attempts: int, now_ms: int, outcome: Outcome, jitter: float) -> int | None:
    """Return when the next attempt is due in milliseconds since the epoch, None after the last.

    `jitter` is from 0 to 1.
    """
    is_final = outcome.delivered or outcome.code == GONE or outcome.failure in _NEVER_SENT
    if is_final or attempts >= len(DELAYS_SECONDS):
        return None
    seconds = max(DELAYS_SECONDS[attempts], retry_after_seconds(outcome.retry_after, now_ms))
    return now_ms + round(seconds * 1000 * (1 + JITTER_SHARE * jitter))


def retry_after_seconds(field: str | None, now_ms: int) -> float:
    """Return the delay of a Retry-After header: 0 if it is missing, past or malformed."""
    text = (field or "").strip()
    seconds = (
        float(text) if _DELAY_PATTERN.fullmatch(text) else _http_date_seconds(text) - now_ms / 1000
    )
    return min(max(seconds, 0), MAX_RETRY_AFTER_SECONDS)


def why_disabled(failing_since: datetime | None, at: datetime, outcome: Outcome) -> Disabled | None:
    """Return why a webhook is disabled. `failing_since` is the first failure since a success."""
    if outcome.code == GONE:
        return Disabled.GONE
    has_failed_long = failing_since is not None and at - failing_since >= MAX_FAILING
    return Disabled.FAILING if has_failed_long and not outcome.delivered else None


def _http_date_seconds(text: str) -> float:
    """Return the seconds since the epoch; 0 if `text` is no HTTP date."""
    try:
        moment = parsedate_to_datetime(text)
        # The form of C's asctime names no zone: it is always UTC.
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError):
        return 0

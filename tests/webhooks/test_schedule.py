"""The table of attempts, walked through in no time, and what changes it."""

from datetime import UTC, datetime, timedelta, timezone
from email.utils import format_datetime
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracker.webhooks.delivery import Outcome
from tracker.webhooks.schedule import (
    DELAYS_SECONDS,
    JITTER_SHARE,
    MAX_FAILING_MS,
    MAX_RETRY_AFTER_SECONDS,
    Disabled,
    next_attempt_at,
    retry_after_seconds,
    why_disabled,
)

NOW = 1_800_000_000_000
HOUR = 3600
CODES = st.none() | st.integers(200, 599)


def outcome(code: int | None = None, retry_after: str | None = None) -> Outcome:
    error = "connection: Connection refused" if code is None else None
    return Outcome(code=code, milliseconds=3, answer="", error=error, retry_after=retry_after)


def walk(jitter: float, *outcomes: Outcome) -> list[int]:
    """Return the moments of all attempts of a delivery; the last of `outcomes` repeats."""
    at: int | None = NOW
    made: list[int] = []
    while at is not None:
        made.append(at)
        came_out = outcomes[min(len(made), len(outcomes)) - 1]
        at = next_attempt_at(len(made), at, came_out, jitter)
    return made


def test_ten_attempts_are_made_at_the_times_of_the_contract() -> None:
    minutes = [0, 5 / 60, 5, 30, 120, 300, 600, 840, 1200, 1440]
    assert [60 * one for one in minutes] == list(DELAYS_SECONDS)
    made = walk(0, outcome())
    assert [(at - before) / 1000 for before, at in pairwise(made)] == list(DELAYS_SECONDS[1:])
    assert len(made) == 10
    assert 75 * HOUR < (made[-1] - NOW) / 1000 < 76 * HOUR


def test_jitter_makes_a_delay_longer_by_a_tenth_at_most() -> None:
    assert JITTER_SHARE == 0.1
    assert next_attempt_at(1, NOW, outcome(), 0.5) == NOW + 5250
    assert walk(1, outcome())[-1] - NOW == round(1.1 * (walk(0, outcome())[-1] - NOW))


def test_no_attempt_follows_success_or_a_receiver_that_is_gone() -> None:
    for code in (200, 204, 299, 410):
        assert next_attempt_at(1, NOW, outcome(code, "5"), 0) is None


@pytest.mark.parametrize("code", [None, 300, 302, 400, 401, 404, 408, 409, 411, 429, 500, 503])
def test_any_other_failure_is_retried(code: int | None) -> None:
    assert next_attempt_at(1, NOW, outcome(code), 0) == NOW + 5000
    assert next_attempt_at(len(DELAYS_SECONDS), NOW, outcome(code), 0) is None


@pytest.mark.parametrize(
    ("field", "seconds"),
    [
        ("120", 120),
        (" 120 ", 120),
        ("0", 0),
        ("1.5", 1.5),
        ("86400", 24 * HOUR),
        ("86401", 24 * HOUR),
        ("9" * 5000, 24 * HOUR),
        ("Fri, 15 Jan 2027 08:02:00 GMT", 120),
        ("Friday, 15-Jan-27 08:02:00 GMT", 120),
        ("Fri Jan 15 08:02:00 2027", 120),
        ("Fri, 15 Jan 2027 07:00:00 GMT", 0),
        ("Fri, 15 Jan 2117 07:00:00 GMT", 24 * HOUR),
        *(
            (text, 0)
            for text in ("", "-1", "1.", ".5", "1e3", "soon", "\u0661\u0662", "0x10", "1 2")
        ),
        *((text, 0) for text in ("Fri, 99 Jan 2027 08:00:00 GMT", "Fri, 15 Jan 99999 08:00 GMT")),
        (None, 0),
    ],
)
def test_retry_after_may_be_seconds_or_a_date(field: str | None, seconds: float) -> None:
    assert datetime.fromtimestamp(NOW / 1000, UTC) == datetime(2027, 1, 15, 8, tzinfo=UTC)
    assert retry_after_seconds(field, NOW) == seconds


@pytest.mark.parametrize("code", [302, 429, 500, 503])
def test_retry_after_can_delay_an_attempt_but_not_hasten_it(code: int) -> None:
    assert next_attempt_at(1, NOW, outcome(code, "60"), 0) == NOW + 60_000
    assert next_attempt_at(2, NOW, outcome(code, "60"), 0) == NOW + 300_000
    assert next_attempt_at(1, NOW, outcome(code, "60"), 1) == NOW + 66_000
    assert (
        next_attempt_at(1, NOW, outcome(code, "999999"), 0) == NOW + MAX_RETRY_AFTER_SECONDS * 1000
    )
    assert next_attempt_at(len(DELAYS_SECONDS), NOW, outcome(code, "60"), 0) is None


@given(st.integers(0, 24 * HOUR), st.integers(-14, 14))
def test_a_retry_after_date_is_the_same_in_every_zone(seconds: int, hours: int) -> None:
    at = datetime.fromtimestamp(NOW / 1000 + seconds, timezone(timedelta(hours=hours)))
    assert retry_after_seconds(format_datetime(at), NOW) == seconds


@given(st.integers(1, 20), CODES, st.none() | st.text(), st.floats(0, 1))
def test_the_next_attempt_is_later_by_no_more_than_is_documented(
    attempts: int, code: int | None, retry_after: str | None, jitter: float
) -> None:
    at = next_attempt_at(attempts, NOW, outcome(code, retry_after), jitter)
    if at is not None:
        assert attempts < len(DELAYS_SECONDS)
        assert DELAYS_SECONDS[attempts] * 1000 <= at - NOW <= 1.1 * 24 * HOUR * 1000


def test_a_webhook_whose_receiver_is_gone_is_disabled_at_once() -> None:
    for failing_since in (None, NOW - 1, NOW - MAX_FAILING_MS):
        assert why_disabled(failing_since, NOW, outcome(410)) is Disabled.GONE


def test_a_webhook_that_fails_for_five_days_is_disabled() -> None:
    assert timedelta(milliseconds=MAX_FAILING_MS) == timedelta(days=5)
    for code in (None, 302, 404, 500):
        assert why_disabled(None, NOW, outcome(code)) is None
        assert why_disabled(NOW - MAX_FAILING_MS + 1, NOW, outcome(code)) is None
        assert why_disabled(NOW - MAX_FAILING_MS, NOW, outcome(code)) is Disabled.FAILING
    assert why_disabled(NOW - MAX_FAILING_MS, NOW, outcome(200)) is None

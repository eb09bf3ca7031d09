"""The table of attempts, walked through in no time, and what changes it."""

from datetime import UTC, datetime, timedelta, timezone
from email.utils import format_datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracker.clock import moment
from tracker.webhooks.delivery import Outcome
from tracker.webhooks.schedule import (
    DELAYS_SECONDS,
    JITTER_SHARE,
    MAX_RETRY_AFTER_SECONDS,
    Disabled,
    next_attempt_at,
    retry_after_seconds,
    why_disabled,
)

NOW = 1_800_000_000_000
AT = moment(NOW)
HOUR = 3600
CODES = st.none() | st.integers(200, 599)


def outcome(code: int | None = None, retry_after: str | None = None) -> Outcome:
    error = "connection: Connection refused" if code is None else None
    return Outcome(code=code, milliseconds=3, answer="", error=error, retry_after=retry_after)


def test_ten_attempts_are_made_at_the_times_of_the_contract() -> None:
    minutes = [0, 5 / 60, 5, 30, 120, 300, 600, 840, 1200, 1440]
    assert [60 * one for one in minutes] == list(DELAYS_SECONDS)
    assert 75 * HOUR < sum(DELAYS_SECONDS) < 76 * HOUR
    assert (JITTER_SHARE, MAX_RETRY_AFTER_SECONDS) == (0.1, 24 * HOUR)


@given(
    st.integers(1, 12),
    CODES | st.sampled_from([200, 204, 299, 300, 409, 410, 411]),
    st.none() | st.integers(0, 30 * HOUR),
    st.floats(0, 1),
)
def test_any_failure_but_a_410_is_retried_by_the_table_or_later_if_the_receiver_says_so(
    attempts: int, code: int | None, retry_after: int | None, jitter: float
) -> None:
    field = None if retry_after is None else str(retry_after)
    at = next_attempt_at(attempts, NOW, outcome(code, field), jitter)
    if attempts >= 10 or code == 410 or (code and 200 <= code <= 299):
        assert at is None
    else:
        seconds = max(DELAYS_SECONDS[attempts], min(retry_after or 0, 24 * HOUR))
        assert at == NOW + round(seconds * 1000 * (1 + JITTER_SHARE * jitter))


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


@given(st.integers(0, 24 * HOUR), st.integers(-14, 14))
def test_a_retry_after_date_is_the_same_in_every_zone(seconds: int, hours: int) -> None:
    at = datetime.fromtimestamp(NOW / 1000 + seconds, timezone(timedelta(hours=hours)))
    assert retry_after_seconds(format_datetime(at), NOW) == seconds


@given(st.text() | st.from_regex(r"[A-Z][a-z]{2}, \d+ [A-Z][a-z]{2} \d+ \d+:\d+:\d+ .*"))
def test_retry_after_may_hold_anything(field: str) -> None:
    assert 0 <= retry_after_seconds(field, NOW) <= MAX_RETRY_AFTER_SECONDS


def test_a_webhook_whose_receiver_is_gone_is_disabled_at_once() -> None:
    for failing_since in (None, AT, AT - timedelta(days=6)):
        assert why_disabled(failing_since, AT, outcome(410)) is Disabled.GONE


def test_a_webhook_that_fails_for_five_days_is_disabled() -> None:
    five_days = timedelta(days=5)
    for code in (None, 302, 404, 500):
        assert why_disabled(None, AT, outcome(code)) is None
        assert why_disabled(AT - timedelta(days=4, hours=23), AT, outcome(code)) is None
        assert why_disabled(AT - five_days, AT, outcome(code)) is Disabled.FAILING
    assert why_disabled(AT - five_days, AT, outcome(200)) is None

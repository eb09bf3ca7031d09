"""After a failure the store is left alone for a moment, and no longer."""

import pytest

from tracker.db.breaker import PAUSE, Breaker


class Clock:
    def __init__(self) -> None:
        self.seconds = 0.0

    def __call__(self) -> float:
        return self.seconds


@pytest.fixture
def clock() -> Clock:
    return Clock()


def test_a_new_breaker_is_closed(clock: Clock) -> None:
    assert not Breaker(clock).is_open


@pytest.mark.parametrize(
    ("seconds", "is_open"), [(0.0, True), (PAUSE - 0.01, True), (PAUSE, False)]
)
def test_a_failure_opens_it_for_a_moment(clock: Clock, seconds: float, is_open: bool) -> None:
    breaker = Breaker(clock)
    breaker.failed()
    clock.seconds += seconds
    assert breaker.is_open is is_open


def test_another_failure_begins_the_moment_anew(clock: Clock) -> None:
    breaker = Breaker(clock)
    breaker.failed()
    clock.seconds += PAUSE * 0.9
    breaker.failed()
    clock.seconds += PAUSE * 0.9
    assert breaker.is_open


def test_success_closes_it_at_once(clock: Clock) -> None:
    breaker = Breaker(clock)
    breaker.failed()
    breaker.worked()
    assert not breaker.is_open

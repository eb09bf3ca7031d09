"""The schedules of a load: as fast as it is answered, or at a rate."""

import pytest

from lab.traffic import LATE_SECONDS, Closed, Paced


def test_a_closed_load_sends_whenever_it_is_asked_until_its_end() -> None:
    schedule = Closed(began=10.0, seconds=2.0)
    assert schedule.due(10.0) == 10.0
    assert schedule.due(11.9) == 11.9
    assert not schedule.is_over(11.9)
    assert schedule.is_over(12.0)
    assert schedule.due(12.0) is None


def test_a_paced_load_sends_overdue_requests_and_none_early() -> None:
    schedule = Paced(began=100.0, seconds=1.0, rate=4.0)
    assert schedule.due(99.9) is None
    assert [schedule.due(100.6) for _ in range(4)] == [100.0, 100.25, 100.5, None]
    assert not schedule.is_over(100.7)
    assert schedule.due(100.75) == 100.75
    assert schedule.is_over(100.75)
    assert schedule.unsent == 0


@pytest.mark.parametrize("rate", [1.0, 3.0, 333.3, 12_345.0])
def test_a_paced_load_sends_as_many_requests_as_its_rate_says(rate: float) -> None:
    schedule = Paced(began=0.0, seconds=2.0, rate=rate)
    sent = []
    while (since := schedule.due(2.0)) is not None:
        sent.append(since)
    assert len(sent) == int(2 * rate)
    assert sent == sorted(sent)
    assert 0.0 <= sent[0] <= sent[-1] < 2.0


def test_a_paced_load_that_is_too_late_gives_up_and_counts_its_unsent_requests() -> None:
    schedule = Paced(began=0.0, seconds=2.0, rate=5.0)
    assert schedule.due(1.0) == 0.0
    end = 2.0 + LATE_SECONDS
    assert schedule.is_over(end)
    assert schedule.due(end) is None
    assert schedule.unsent == 9

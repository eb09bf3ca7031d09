"""Percentiles and rates of a load."""

from array import array

import pytest

from lab.load.outcome import outcome, percentile


@pytest.mark.parametrize(
    ("ordered", "part", "expected"),
    [
        ([], 0.99, 0.0),
        ([3.0], 0.5, 3.0),
        ([3.0], 0.99, 3.0),
        ([1.0, 2.0], 0.5, 1.0),
        ([1.0, 2.0, 3.0], 0.5, 2.0),
        ([float(number) for number in range(1, 101)], 0.99, 99.0),
        ([float(number) for number in range(1, 102)], 0.99, 100.0),
        ([1.0, 2.0], 1.0, 2.0),
        ([1.0, 2.0], 0.0, 1.0),
    ],
)
def test_a_percentile_is_one_of_the_figures(
    ordered: list[float], part: float, expected: float
) -> None:
    assert percentile(ordered, part) == expected


def test_latencies_come_in_any_order() -> None:
    found = outcome(array("d", [0.3, 0.1, 0.2]), 1.5, {"cut off": 1})
    assert (found.requests, found.rate, found.p50, found.p99) == (3, 2.0, 0.2, 0.3)
    assert found.errors == {"cut off": 1}


def test_nothing_in_no_time_has_a_rate_of_zero() -> None:
    assert outcome(array("d"), 0.0, {}).rate == 0.0

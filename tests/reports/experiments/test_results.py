"""What an experiment says of each variant."""

from typing import Any

import pytest

from tracker.ids import new_id
from tracker.reports.experiments.results import VariantCounts, VariantResult, results_of


def results(*of: tuple[int, int]) -> list[VariantResult]:
    """Return the results of variants with so many visitors and conversions."""
    shown: Any = {"name": "A", "weight": 1, "active": True, "clicks": 0}
    return results_of(
        [
            VariantCounts(id=new_id(), visitors=visitors, conversions=conversions, **shown)
            for visitors, conversions in of
        ]
    )


@pytest.mark.parametrize(
    ("first", "other", "conclusions"),
    [
        ((1000, 100), (1000, 150), ("first", "higher")),
        ((1000, 150), (1000, 100), ("first", "lower")),
        ((1000, 100), (1000, 100), ("first", "cannot_be_told_apart")),
        ((1000, 100), (1000, 120), ("first", "cannot_be_told_apart")),
        ((0, 0), (1000, 120), ("no_visitors", "cannot_be_told_apart")),
        ((1000, 120), (0, 0), ("first", "no_visitors")),
        ((0, 0), (0, 0), ("no_visitors", "no_visitors")),
    ],
)
def test_a_variant_differs_from_the_first_once_the_interval_leaves_zero_out(
    first: tuple[int, int], other: tuple[int, int], conclusions: tuple[str, ...]
) -> None:
    found = results(first, other)
    assert tuple(one.conclusion for one in found) == conclusions
    told = found[1].difference
    assert (told is not None) == (first[0] > 0 and other[0] > 0)
    if told is not None:
        is_apart = told.interval.low > 0 or told.interval.high < 0
        assert is_apart == (conclusions[1] in ("higher", "lower"))


def test_every_variant_is_compared_with_the_first() -> None:
    found = results((1000, 100), (1000, 110), (500, 60))
    assert [one.rate for one in found] == [0.1, 0.11, 0.12]
    assert [one.difference and one.difference.rate for one in found] == [None, 0.01, 0.02]
    assert results() == []


def test_more_converted_clicks_than_visitors_are_a_rate_of_one() -> None:
    [found] = results((3, 5))
    assert (found.conversions, found.rate) == (5, 1)

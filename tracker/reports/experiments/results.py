"""What an experiment shows: the rate of each variant, and its difference to the first. Pure."""

from collections.abc import Sequence
from typing import Annotated, Final, Literal
from uuid import UUID

import msgspec
from msgspec import Meta

from tracker.reports.experiments.statistics import (
    Sample,
    difference_bounds,
    rate_bounds,
    smallest_increase,
)

WARNING: Final = (
    "Decide before it begins how many visitors it takes. Whoever looks every day and stops at the "
    "first difference finds winners by chance, and so does whoever compares many variants."
)


class RateInterval(msgspec.Struct, frozen=True):
    """Both ends of an interval that holds the real value 95 times in a hundred."""

    low: float
    high: float


class RateDifference(msgspec.Struct, frozen=True):
    """The rate of a variant less that of the first."""

    rate: float
    interval: RateInterval
    smallest: Annotated[
        float | None,
        Meta(
            description="the smallest increase of the first variant's rate that so many visitors "
            "show four times in five; null: none"
        ),
    ]


class VariantCounts(msgspec.Struct, kw_only=True):
    """A variant and the clicks of people, without tests."""

    id: UUID
    name: str
    weight: Annotated[int | None, Meta(description="null: the split no longer has it")]
    active: bool
    clicks: int
    visitors: Annotated[int, Meta(description="each once a day, as unique clicks of reports")]
    conversions: Annotated[
        int, Meta(description="clicks with an approved conversion, whenever it came")
    ]

    @property
    def sample(self) -> Sample:
        """Return the visitors that have converted. Two clicks of one visitor may both have."""
        return Sample(self.visitors, min(self.conversions, self.visitors))


class VariantResult(VariantCounts, kw_only=True):
    """A variant and its result. Without visitors it has neither rate nor difference."""

    rate: Annotated[float | None, Meta(description="conversions by visitor, at most 1")] = None
    interval: RateInterval | None = None
    difference: RateDifference | None = None
    conclusion: Annotated[
        Literal["first", "no_visitors", "cannot_be_told_apart", "higher", "lower"],
        Meta(description="higher or lower: 0 is not in the interval of the difference"),
    ] = "no_visitors"


def results_of(variants: Sequence[VariantCounts]) -> list[VariantResult]:
    """Return the result of each variant, in order."""
    results = [VariantResult(**msgspec.structs.asdict(one)) for one in variants]
    for one in results:
        if one.visitors:
            one.rate = round(one.sample.rate, 6)
            one.interval = _interval(rate_bounds(one.sample))
            one.conclusion = "first" if one is results[0] else "cannot_be_told_apart"
            if one is not results[0] and results[0].visitors:
                _compare(results[0].sample, one)
    return results


def _compare(first: Sample, one: VariantResult) -> None:
    bounds, smallest = difference_bounds(first, one.sample), smallest_increase(first, one.visitors)
    one.difference = RateDifference(
        round(one.sample.rate - first.rate, 6),
        _interval(bounds),
        None if smallest is None else round(smallest, 6),
    )
    if bounds[0] > 0 or bounds[1] < 0:
        one.conclusion = "higher" if bounds[0] > 0 else "lower"


def _interval(bounds: tuple[float, float]) -> RateInterval:
    return RateInterval(*(round(one, 6) for one in bounds))

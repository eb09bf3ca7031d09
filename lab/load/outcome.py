"""The outcome of a load: answers, latencies and errors. Pure."""

from array import array
from collections.abc import Sequence

import msgspec


class Outcome(msgspec.Struct, kw_only=True):
    """The figures of one load.

    `requests` counts expected answers, in `seconds`. `p50` and `p99` are latencies in seconds, 0
    without an answer. `errors` counts by kind.
    """

    requests: int
    seconds: float
    p50: float
    p99: float
    errors: dict[str, int]

    @property
    def rate(self) -> float:
        """Return the requests a second."""
        return self.requests / self.seconds if self.seconds else 0.0


def outcome(latencies: "array[float]", seconds: float, errors: dict[str, int]) -> Outcome:
    """Return the outcome of a load with these latencies, in any order."""
    ordered = sorted(latencies)
    return Outcome(
        requests=len(ordered),
        seconds=seconds,
        p50=percentile(ordered, 0.5),
        p99=percentile(ordered, 0.99),
        errors=errors,
    )


def percentile(ordered: Sequence[float], part: float) -> float:
    """Return the least figure that `part` of `ordered` does not exceed; 0.0 if it is empty."""
    if not ordered:
        return 0.0
    rank = -int(-part * len(ordered) // 1)
    return ordered[max(0, rank - 1)]

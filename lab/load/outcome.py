"""What came of a load: how many answers, how soon, and what went wrong. Pure."""

from array import array
from collections.abc import Sequence

import msgspec


class Outcome(msgspec.Struct, kw_only=True):
    """`requests` are those that were answered as they should be, in `seconds`. `p50` and `p99` are
    latencies in seconds; 0 if nothing was answered. `errors`: by what happened, how often."""

    requests: int
    seconds: float
    p50: float
    p99: float
    errors: dict[str, int]

    @property
    def rate(self) -> float:
        """Requests a second."""
        return self.requests / self.seconds if self.seconds else 0.0


def outcome(latencies: "array[float]", seconds: float, errors: dict[str, int]) -> Outcome:
    ordered = sorted(latencies)
    return Outcome(
        requests=len(ordered),
        seconds=seconds,
        p50=percentile(ordered, 0.5),
        p99=percentile(ordered, 0.99),
        errors=errors,
    )


def percentile(ordered: Sequence[float], part: float) -> float:
    """The least of the `ordered` that at least this part of them does not exceed; 0 of none."""
    if not ordered:
        return 0.0
    rank = -int(-part * len(ordered) // 1)
    return ordered[max(0, rank - 1)]

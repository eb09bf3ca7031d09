"""Medians of what was measured, and which targets they reach. Pure."""

from collections.abc import Mapping, Sequence
from statistics import median
from typing import Final, NamedTuple

import msgspec

from lab.bench.measure import Measured
from lab.bench.rows import FIRST, Row


class Arrival(msgspec.Struct, kw_only=True):
    """`rate`: documents a second that landed in MongoDB during the load. `share` of the accepted,
    and `backlog` of them, two seconds after it."""

    rate: float
    share: float
    backlog: float


class Figures(msgspec.Struct, kw_only=True):
    """Medians of one row's rounds: requests a second, seconds, processor seconds for 1,000 requests
    by process, the rate as a multiple of the first row's. `half_p99`: at half of the rate. `rates`:
    of each round."""

    key: str
    name: str
    rates: list[float]
    rate: float
    p50: float
    p99: float
    cpu: dict[str, float]
    ratio: float | None
    arrival: Arrival | None
    half_p99: float | None

    @property
    def process(self) -> str:
        """The name of the one that answers."""
        return next(iter(self.cpu))


_DELIVERIES: Final = 500


class Target(NamedTuple):
    """`figure` is None if its rows were not measured."""

    text: str
    figure: float | None
    is_reached: bool | None


def figures(
    rows: Sequence[Row],
    full: Mapping[str, Sequence[Measured]],
    half: Mapping[str, Sequence[Measured]],
) -> list[Figures]:
    """`full` and `half` are the rounds of each row by its key: at full speed, and at half of it."""
    first = _rates(full[FIRST]) if FIRST in full else None
    return [_figures(row, full[row.key], half.get(row.key, ()), first) for row in rows]


def _figures(
    row: Row, full: Sequence[Measured], half: Sequence[Measured], first: Sequence[float] | None
) -> Figures:
    rates = _rates(full)
    return Figures(
        key=row.key,
        name=row.name,
        rates=rates,
        rate=median(rates),
        p50=median(one.outcome.p50 for one in full),
        p99=median(one.outcome.p99 for one in full),
        cpu={name: median(_cpu(one, name) for one in full) for name in full[0].cpu_seconds},
        ratio=_ratio(rates, first) if first else None,
        arrival=_arrival(full),
        half_p99=median(one.outcome.p99 for one in half) if half else None,
    )


def _rates(rounds: Sequence[Measured]) -> list[float]:
    return [one.outcome.rate for one in rounds]


def _ratio(rates: Sequence[float], others: Sequence[float]) -> float:
    """The median of the rounds' own: a machine that changes its speed from one to the next changes
    both figures of a round."""
    return median(rate / other for rate, other in zip(rates, others, strict=True))


def _cpu(measured: Measured, process: str) -> float:
    return measured.cpu_seconds[process] / max(1, measured.outcome.requests) * 1000


def _arrival(rounds: Sequence[Measured]) -> Arrival | None:
    landed = [(one.landed, one.outcome.seconds) for one in rounds if one.landed is not None]
    if not landed:
        return None
    return Arrival(
        rate=median(one.at_end / seconds for one, seconds in landed),
        # wrk leaves before the last answers, so a few more may land than it has counted.
        share=median(min(1.0, one.settled / max(1, one.accepted)) for one, _ in landed),
        backlog=median(max(0, one.accepted - one.settled) for one, _ in landed),
    )


_RATES: Final = (
    *(("b", "a", 2.5), ("c", "a", 6.0), ("d", "a", 3.5), ("e", "a", 3.0)),
    *(("f1", "a", 3.0), ("f2", "a", 3.0), ("c", "h", 0.5)),
)
_SHARES: Final = (("d", 0.95),)
_HALF_P99: Final = (("c", 0.010), ("d", 0.025))


def targets(found: Sequence[Figures], deliveries: float | None = None) -> list[Target]:
    """Every one of them, measured or not. `deliveries` are webhooks' a second."""
    by_key = {one.key: one for one in found}
    return [
        *(_rate_target(by_key, *target) for target in _RATES),
        *(_share_target(by_key.get(key), key, least) for key, least in _SHARES),
        *(_p99_target(by_key.get(key), key, most) for key, most in _HALF_P99),
        _target(f"webhook deliveries a second, at least {_DELIVERIES}", deliveries, _DELIVERIES),
    ]


def _rate_target(by_key: Mapping[str, Figures], key: str, other: str, least: float) -> Target:
    ratio = None
    if key in by_key and other in by_key:
        ratio = _ratio(by_key[key].rates, by_key[other].rates)
    return _target(f"{key} at least {least:g} x {other}", ratio, least)


def _share_target(found: Figures | None, key: str, least: float) -> Target:
    share = found.arrival.share if found and found.arrival else None
    return _target(f"{key} landed after two seconds, at least {least:g}", share, least)


def _target(text: str, figure: float | None, least: float) -> Target:
    return Target(text, figure, None if figure is None else figure >= least)


def _p99_target(found: Figures | None, key: str, most: float) -> Target:
    text = f"{key} p99 at half its rate, at most {most * 1000:g} ms"
    if found is None or found.half_p99 is None:
        return Target(text, None, None)
    return Target(text, found.half_p99 * 1000, found.half_p99 <= most)

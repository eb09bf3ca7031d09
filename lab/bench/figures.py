"""Medians of what was measured. Pure."""

from collections.abc import Mapping, Sequence
from statistics import median

import msgspec

from lab.bench.measure import Measured
from lab.bench.rows import FIRST, Row


class Stored(msgspec.Struct, kw_only=True):
    """Documents a second that landed in MongoDB, and as a multiple of the first row's requests.

    `cpu` are the processor microseconds of each, by process, the stores among them.
    """

    rate: float
    ratio: float | None
    cpu: dict[str, float]


class Arrival(Stored, kw_only=True):
    """What landed at full speed: the share of the accepted after two seconds, and the rest."""

    share: float
    backlog: float


class Sustained(Stored, kw_only=True):
    """The highest rate at which all that was accepted landed; `half_p99` is at half of it."""

    p50: float
    p99: float
    half_p99: float


class Figures(msgspec.Struct, kw_only=True):
    """Medians of one row's rounds; `ratio` is the rate as a multiple of the first row's.

    `cpu` are the processor seconds for 1,000 requests, and `memory` the resident bytes at the end.
    """

    key: str
    name: str
    rates: list[float]
    rate: float
    p50: float
    p99: float
    cpu: dict[str, float]
    memory: dict[str, float]
    ratio: float | None
    arrival: Arrival | None
    sustained: Sustained | None

    @property
    def process(self) -> str:
        return next(iter(self.cpu))


def figures(
    rows: Sequence[Row],
    full: Mapping[str, Sequence[Measured]],
    sustained: Mapping[str, Measured],
    half: Mapping[str, Sequence[Measured]],
) -> list[Figures]:
    """Return the figures of each row, of what was measured by the row's key."""
    first = _rates(full[FIRST]) if FIRST in full else None
    return [
        _figures(
            row, full[row.key], _sustained(sustained.get(row.key), half.get(row.key), first), first
        )
        for row in rows
    ]


def _figures(
    row: Row, full: Sequence[Measured], sustained: Sustained | None, first: Sequence[float] | None
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
        memory={name: median(one.memory[name] for one in full) for name in full[0].memory},
        ratio=ratio_of(rates, first) if first else None,
        arrival=_arrival(full, first),
        sustained=sustained,
    )


def _sustained(
    best: Measured | None, half: Sequence[Measured] | None, first: Sequence[float] | None
) -> Sustained | None:
    if best is None or not half:
        return None
    rate = best.outcome.rate
    return Sustained(
        rate=rate,
        ratio=rate / median(first) if first else None,
        cpu=best.landed_cpu,
        p50=best.outcome.p50,
        p99=best.outcome.p99,
        half_p99=median(one.outcome.p99 for one in half),
    )


def _rates(rounds: Sequence[Measured]) -> list[float]:
    return [one.outcome.rate for one in rounds]


def ratio_of(rates: Sequence[float], others: Sequence[float]) -> float:
    """Return the median of each round's ratio.

    A machine that changes its speed between two rounds changes both figures of a round.
    """
    return median(rate / other for rate, other in zip(rates, others, strict=True))


def _cpu(measured: Measured, process: str) -> float:
    return measured.cpu_seconds[process] / max(1, measured.outcome.requests) * 1000


def _arrival(rounds: Sequence[Measured], first: Sequence[float] | None) -> Arrival | None:
    landed = [one.landed for one in rounds if one.landed is not None]
    if not landed:
        return None
    rates = [one.landed_rate for one in rounds]
    return Arrival(
        rate=median(rates),
        ratio=ratio_of(rates, first) if first else None,
        cpu={name: median(one.landed_cpu[name] for one in rounds) for name in rounds[0].landed_cpu},
        # wrk leaves before the last answers, so a few more may land than it has counted.
        share=median(min(1.0, one.settled / max(1, one.accepted)) for one in landed),
        backlog=median(max(0, one.accepted - one.settled) for one in landed),
    )

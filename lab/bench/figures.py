"""Medians of what was measured, the targets that they reach, and both as a table. Pure."""

from collections.abc import Iterator, Mapping, Sequence
from statistics import median
from typing import Final, NamedTuple

import msgspec

from lab.bench.measure import Measured
from lab.bench.rows import FIRST, Row
from lab.result import columns


class Arrival(msgspec.Struct, kw_only=True):
    """The documents that arrived in MongoDB.

    - `rate`: documents a second during the load; `ratio`, as a multiple of the first row's requests
    - `cpu`: processor microseconds for each, by process, the stores among them
    - `share`: the part of the accepted that is stored two seconds after it
    - `backlog`: the number of accepted documents that are not stored then
    """

    rate: float
    ratio: float | None
    cpu: dict[str, float]
    share: float
    backlog: float


class Figures(msgspec.Struct, kw_only=True):
    """Medians of one row's rounds.

    - `rate`: requests a second; `rates` has that of each round
    - `p50`, `p99`, `half_p99` (at half the rate): seconds
    - `cpu`: processor seconds for 1,000 requests, by process
    - `ratio`: the rate as a multiple of the first row's
    """

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
        """Return the name of the process that answers."""
        return next(iter(self.cpu))


class Target(NamedTuple):
    """A bound on one figure, which is None if its rows were not measured."""

    text: str
    figure: float | None
    is_reached: bool | None


def figures(
    rows: Sequence[Row],
    full: Mapping[str, Sequence[Measured]],
    half: Mapping[str, Sequence[Measured]],
) -> list[Figures]:
    """Return the figures of each row.

    `full` and `half` have the rounds by the row's key: at full speed, and at half of it.
    """
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
        arrival=_arrival(full, first),
        half_p99=median(one.outcome.p99 for one in half) if half else None,
    )


def _rates(rounds: Sequence[Measured]) -> list[float]:
    return [one.outcome.rate for one in rounds]


def _ratio(rates: Sequence[float], others: Sequence[float]) -> float:
    """Return the median of each round's ratio.

    A machine that changes its speed between two rounds changes both figures of a round.
    """
    return median(rate / other for rate, other in zip(rates, others, strict=True))


def _cpu(measured: Measured, process: str) -> float:
    return measured.cpu_seconds[process] / max(1, measured.outcome.requests) * 1000


def _arrival(rounds: Sequence[Measured], first: Sequence[float] | None) -> Arrival | None:
    landed = [(one.landed, one.outcome.seconds) for one in rounds if one.landed is not None]
    if not landed:
        return None
    rates = [one.at_end / seconds for one, seconds in landed]
    return Arrival(
        rate=median(rates),
        ratio=_ratio(rates, first) if first else None,
        cpu={
            name: median(1e6 * one.cpu_seconds[name] / max(1, one.settled) for one, _ in landed)
            for name in landed[0][0].cpu_seconds
        },
        # wrk leaves before the last answers, so a few more may land than it has counted.
        share=median(min(1.0, one.settled / max(1, one.accepted)) for one, _ in landed),
        backlog=median(max(0, one.accepted - one.settled) for one, _ in landed),
    )


_MIN_RATIOS: Final = (
    *(("b", "a", 2.5), ("c", "a", 6.0), ("d", "a", 3.5), ("e", "a", 3.0)),
    *(("f1", "a", 3.0), ("f2", "a", 3.0), ("c", "h", 0.5)),
)
_MIN_SHARES: Final = (("d", 0.95),)
_MAX_HALF_P99_SECONDS: Final = (("c", 0.010), ("d", 0.025))
_DELIVERIES_PER_SECOND: Final = 500

_LANDED_HEADS: Final = ("", "", "landed/s", "x a", "CPU us each", "of which")
_HEADS: Final = ("", "", "accepted/s", "p50 ms", "p99 ms", "CPU s/1,000", "x a", "CPU of")
_TEXT_COLUMNS: Final = (0, 1, 7)
"""The indexes of the columns with text."""


def targets(found: Sequence[Figures], deliveries: float | None = None) -> list[Target]:
    """Return every target, measured or not; `deliveries` is webhook deliveries a second."""
    by_key = {one.key: one for one in found}
    return [
        *(_rate_target(by_key, *target) for target in _MIN_RATIOS),
        *(_share_target(by_key.get(key), key, minimum) for key, minimum in _MIN_SHARES),
        *(_p99_target(by_key.get(key), key, maximum) for key, maximum in _MAX_HALF_P99_SECONDS),
        _target(
            f"webhook deliveries a second, at least {_DELIVERIES_PER_SECOND}",
            deliveries,
            _DELIVERIES_PER_SECOND,
        ),
    ]


def _rate_target(by_key: Mapping[str, Figures], key: str, other: str, minimum: float) -> Target:
    ratio = None
    if key in by_key and other in by_key:
        ratio = _ratio(by_key[key].rates, by_key[other].rates)
    return _target(f"{key} at least {minimum:g} x {other}", ratio, minimum)


def _share_target(found: Figures | None, key: str, minimum: float) -> Target:
    share = found.arrival.share if found and found.arrival else None
    return _target(f"{key} landed after two seconds, at least {minimum:g}", share, minimum)


def _target(text: str, figure: float | None, minimum: float) -> Target:
    return Target(text, figure, None if figure is None else figure >= minimum)


def _p99_target(found: Figures | None, key: str, maximum: float) -> Target:
    text = f"{key} p99 at half its rate, at most {maximum * 1000:g} ms"
    if found is None or found.half_p99 is None:
        return Target(text, None, None)
    return Target(text, found.half_p99 * 1000, found.half_p99 <= maximum)


def table(found: Sequence[Figures], wanted: Sequence[Target]) -> str:
    """Return the figures and targets as a table for people."""
    blocks = [_landed(found), _rows(found), [*_arrivals(found), *_others(found)], _targets(wanted)]
    return "\n\n".join("\n".join(block) for block in blocks if block)


def _landed(found: Sequence[Figures]) -> list[str]:
    """Return what counts first: what is stored in MongoDB, and what that costs altogether."""
    rows = [_landed_row(one, one.arrival) for one in found if one.arrival is not None]
    return columns([_LANDED_HEADS, *rows], (0, 1, 5)) if rows else []


def _landed_row(found: Figures, arrival: Arrival) -> list[str]:
    return [
        found.key,
        found.name,
        f"{arrival.rate:,.0f}",
        "-" if arrival.ratio is None else f"{arrival.ratio:.2f}",
        f"{sum(arrival.cpu.values()):.0f}",
        ", ".join(f"{name} {one:.0f}" for name, one in arrival.cpu.items()),
    ]


def _rows(found: Sequence[Figures]) -> list[str]:
    return columns([_HEADS, *map(_row, found)], _TEXT_COLUMNS)


def _row(found: Figures) -> list[str]:
    return [
        found.key,
        found.name,
        f"{found.rate:,.0f}",
        f"{found.p50 * 1000:.2f}",
        f"{found.p99 * 1000:.2f}",
        f"{found.cpu[found.process]:.3f}",
        "-" if found.ratio is None else f"{found.ratio:.2f}",
        found.process,
    ]


def _arrivals(found: Sequence[Figures]) -> Iterator[str]:
    for one in found:
        if one.arrival is not None:
            yield (
                f"{one.key:4}landed two seconds after the load: {one.arrival.share:.3f} of the "
                f"accepted, backlog {one.arrival.backlog:,.0f}"
            )


def _others(found: Sequence[Figures]) -> Iterator[str]:
    for one in found:
        for process in list(one.cpu)[1:]:
            yield f"{one.key:4}CPU of {process}: {one.cpu[process]:.3f} s/1,000"
        if one.half_p99 is not None:
            yield f"{one.key:4}p99 at half its rate: {one.half_p99 * 1000:.2f} ms"


def _targets(wanted: Sequence[Target]) -> list[str]:
    words = {True: "reached", False: "NOT REACHED", None: "not measured"}
    rows = [
        (
            target.text,
            "-" if target.figure is None else f"{target.figure:.2f}",
            words[target.is_reached],
        )
        for target in wanted
    ]
    return columns(rows, (0, 2))

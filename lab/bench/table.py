"""The figures of the benchmark and its targets as a table for people. Pure."""

from collections.abc import Iterator, Sequence
from typing import Final

from lab.bench.figures import Arrival, Figures
from lab.bench.targets import Target
from lab.result import columns

_LANDED_HEADS: Final = ("", "", "landed/s", "x a", "CPU us each", "of which")
_HEADS: Final = ("", "", "accepted/s", "p50 ms", "p99 ms", "CPU s/1,000", "x a", "CPU of")
_TEXT_COLUMNS: Final = (0, 1, 7)
"""The indexes of the columns with text."""


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
            yield f"{one.key:4}p99 at half of what lands: {one.half_p99 * 1000:.2f} ms"


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

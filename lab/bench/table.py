"""The figures of the benchmark and its targets as a table for people. Pure."""

from collections.abc import Iterator, Sequence
from typing import Final

from lab.bench.figures import Figures, Stored, Sustained
from lab.bench.targets import Target
from lab.process_usage import MEGABYTE
from lab.result import columns

_SUSTAINED_HEADS: Final = (
    *("", "", "sustained/s", "x a", "CPU us each", "of which"),
    *("p50 ms", "p99 ms", "at half of it"),
)
_LANDED_HEADS: Final = ("", "", "landed/s", "x a", "CPU us each", "of which")
_HEADS: Final = ("", "", "accepted/s", "p50 ms", "p99 ms", "CPU s/1,000", "x a", "CPU of")
_TEXT_COLUMNS: Final = (0, 1, 7)
"""The indexes of the columns with text."""


def table(found: Sequence[Figures], wanted: Sequence[Target]) -> str:
    blocks = [
        _sustained(found),
        _rows(found),
        _landed(found),
        [*_arrivals(found), *_others(found)],
        _targets(wanted),
    ]
    return "\n\n".join("\n".join(block) for block in blocks if block)


def _sustained(found: Sequence[Figures]) -> list[str]:
    rows = [_sustained_row(one, one.sustained) for one in found if one.sustained is not None]
    return columns([_SUSTAINED_HEADS, *rows], (0, 1, 5)) if rows else []


def _sustained_row(found: Figures, sustained: Sustained) -> list[str]:
    milliseconds = (sustained.p50, sustained.p99, sustained.half_p99)
    return [*_cost_row(found, sustained), *(f"{seconds * 1000:.2f}" for seconds in milliseconds)]


def _landed(found: Sequence[Figures]) -> list[str]:
    rows = [_cost_row(one, one.arrival) for one in found if one.arrival is not None]
    return columns([_LANDED_HEADS, *rows], (0, 1, 5)) if rows else []


def _cost_row(found: Figures, stored: Stored) -> list[str]:
    return [
        found.key,
        found.name,
        f"{stored.rate:,.0f}",
        "-" if stored.ratio is None else f"{stored.ratio:.2f}",
        f"{sum(stored.cpu.values()):.0f}",
        ", ".join(f"{name} {one:.0f}" for name, one in stored.cpu.items()),
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
        sizes = (f"{name} {used / MEGABYTE:.0f}" for name, used in one.memory.items())
        yield f"{one.key:4}resident MB: {', '.join(sizes)}"


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

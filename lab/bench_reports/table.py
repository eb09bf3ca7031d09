"""The tables of a run. Pure."""

from collections.abc import Mapping, Sequence

from lab.bench_reports.measure import Looks
from lab.result import columns


def later_looks(
    sizes: Sequence[str],
    found: Sequence[Mapping[str, Looks]],
    raw: Mapping[str, float],
    raw_at: int,
) -> list[str]:
    """Return the lines of the table of later looks at each size.

    Beside those of number `raw_at` are the times of aggregating the clicks, `raw`.
    """
    heads = ["later looks, median ms", *sizes, "growth"]
    if raw:
        heads += [f"from clicks at {sizes[raw_at]}", "that / report"]
    rows = []
    for name in found[0]:
        medians = [one[name].later for one in found]
        row = [name, *map(_figure, medians), f"{medians[-1] / medians[0]:.2f}"]
        if name in raw:
            row += [_figure(raw[name]), f"{raw[name] / medians[raw_at]:,.0f}x"]
        rows.append(row + [""] * (len(heads) - len(row)))
    return columns([heads, *rows], (0,))


def first_looks(sizes: Sequence[str], found: Sequence[Mapping[str, Looks]]) -> list[str]:
    """Return the lines of the table of first looks at each size, of kinds that keep counts."""
    rows = [
        [
            name,
            *(_first(one[name]) for one in found),
            *("", *(_figure(one[name].prepared) for one in found)),
        ]
        for name, one in found[0].items()
        if one.prepared is not None
    ]
    return columns([["first looks, ms", *sizes, "prepared:", *sizes], *rows], (0,))


def first_and_later_looks(found: Mapping[str, Looks]) -> list[str]:
    """Return the lines of the table of all looks at one size."""
    rows = [
        [name, _first(one), _figure(one.prepared), _figure(one.later)]
        for name, one in found.items()
    ]
    return columns([["ms", "first look", "prepared", "later looks, median"], *rows], (0,))


def _first(looks: Looks) -> str:
    times = "" if looks.requests == 1 else f" in {looks.requests}"
    return f"{_figure(looks.first)}{times}"


def _figure(milliseconds: float | None) -> str:
    if milliseconds is None:
        return "-"
    return f"{milliseconds:,.0f}" if milliseconds >= 100 else f"{milliseconds:.1f}"

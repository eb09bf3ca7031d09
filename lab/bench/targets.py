"""The targets of the benchmark, and which figures reach them. Pure."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from lab.bench.figures import Figures, ratio_of
from lab.bench.rows import FIRST


class Target(NamedTuple):
    """A bound on one figure, which is None if its rows were not measured."""

    text: str
    figure: float | None
    is_reached: bool | None


_MIN_SUSTAINED: Final = (("c", 6.0), ("e", 5.0), ("d", 4.5))
_MAX_LANDED_CPU: Final = (("c", 0.3), ("k", 0.4), ("l", 0.36))
"""Of a landed click, all processes together, as a share of what the first row's request costs."""

_MIN_ACCEPTED: Final = (
    *(("b", "a", 2.5), ("c", "h", 0.5), ("c", "i", 2.0), ("e", "j", 1.4)),
    *(("r", "c", 0.85), ("s", "c", 0.85)),
    *(("o", "c", 0.9), ("f1", "a", 3.0), ("f2", "a", 4.5), ("g", "a", 0.4), ("c", "m", 0.8)),
    ("p", "a", 1.0),
)
_MAX_LIST_CPU_MS: Final = 0.4
_MAX_P99_MS: Final = (("d", False, 7.5), ("l", False, 25), ("c", True, 6), ("d", True, 12))
"""At what a row sustains, or at half of it."""

_MAX_SEEN_P99_MS: Final = 1000


def targets(found: Sequence[Figures]) -> list[Target]:
    by_key = {one.key: one for one in found}
    return [
        *_of_sustained(by_key),
        *(_of_accepted(by_key, *target) for target in _MIN_ACCEPTED),
        _of_list(by_key.get("g")),
        *_of_p99(by_key),
        _of_changes(by_key.get("n")),
    ]


def _of_sustained(by_key: Mapping[str, Figures]) -> Iterator[Target]:
    found = {key: one.sustained for key, one in by_key.items() if one.sustained is not None}
    for key, minimum in _MIN_SUSTAINED:
        ratio = found[key].ratio if key in found else None
        yield _at_least(f"{key} sustains at least {minimum:g} x a", ratio, minimum)
    bare = by_key.get(FIRST)
    for key, maximum in _MAX_LANDED_CPU:
        used = None
        if bare is not None and key in found:
            used = sum(found[key].cpu.values()) / (1000 * bare.cpu[bare.process])
        yield _at_most(f"{key} CPU of a landed click, at most {maximum:g} x a", used, maximum)


def _of_accepted(by_key: Mapping[str, Figures], key: str, other: str, minimum: float) -> Target:
    ratio = None
    if key in by_key and other in by_key:
        ratio = ratio_of(by_key[key].rates, by_key[other].rates)
    return _at_least(f"{key} accepts at least {minimum:g} x {other}", ratio, minimum)


def _of_list(found: Figures | None) -> Target:
    used = None if found is None else found.cpu[found.process]
    text = f"g CPU of a list, at most {_MAX_LIST_CPU_MS:g} ms"
    return _at_most(text, used, _MAX_LIST_CPU_MS)


def _of_p99(by_key: Mapping[str, Figures]) -> Iterator[Target]:
    for key, at_half, maximum in _MAX_P99_MS:
        found = by_key[key].sustained if key in by_key else None
        figure = None
        if found is not None:
            figure = (found.half_p99 if at_half else found.p99) * 1000
        rate = "half of what it sustains" if at_half else "what it sustains"
        yield _at_most(f"{key} p99 at {rate}, at most {maximum:g} ms", figure, maximum)


def _of_changes(found: Figures | None) -> Target:
    text = f"n p99 until a change is seen by another process, at most {_MAX_SEEN_P99_MS:g} ms"
    return _at_most(text, None if found is None else found.p99 * 1000, _MAX_SEEN_P99_MS)


def _at_least(text: str, figure: float | None, minimum: float) -> Target:
    return Target(text, figure, None if figure is None else figure >= minimum)


def _at_most(text: str, figure: float | None, maximum: float) -> Target:
    return Target(text, figure, None if figure is None else figure <= maximum)

"""The result of all attacks, the bounds that they are held to, and both as text. Pure."""

from collections.abc import Sequence
from statistics import median
from typing import Final

import msgspec

from lab.abuse.attack import Report
from lab.client import Outcome
from lab.processes import MAX_GROWTH_BYTES, MEGABYTE, Memory
from lab.result import audit_faults, audit_figures, figure_lines, with_faults

MAX_SLOWDOWN: Final = 5.0
"""How many times its value before an attack the p99 of visitors may be during it: the median of all
tries."""

MAX_TRIES: Final = 3
"""How often an attack that seems to slow visitors is tried: one percent of a few seconds depends on
the machine as much as on the attacker."""

_HEAD: Final = "        before        during         after errors             MB  drained  attacker"


class Phases(msgspec.Struct, frozen=True):
    """The latencies and errors of visitors before, during and after an attack."""

    before: Outcome
    during: Outcome
    after: Outcome


class Attacked(msgspec.Struct, kw_only=True):
    """The outcome of one attack.

    `drained` is the seconds from the last visitor until everything was in MongoDB, None if it was
    not in time. `memory` is that of web and drain together.
    """

    name: str
    title: str
    visitors: Phases
    memory: Memory
    drained: float | None
    report: Report

    @property
    def slowdown(self) -> float:
        """Return the p99 of visitors during the attack as a multiple of that before it."""
        return self.visitors.during.p99 / (self.visitors.before.p99 or 1.0)

    def faults(self) -> list[str]:
        """Return a line for each broken bound, except the one that counts all tries."""
        lines = list(self.report.findings)
        for phase, seen in msgspec.structs.asdict(self.visitors).items():
            lines += [f"visitors {phase}: {n:,} {what}" for what, n in seen.errors.items()]
        if (growth := self.memory.after - self.memory.before) > MAX_GROWTH_BYTES:
            lines.append(f"{growth / MEGABYTE:.0f} MB of memory were not given back")
        if self.drained is None:
            lines.append("what visitors sent was not drained")
        return [f"{self.name}: {line}" for line in lines]


class Result(msgspec.Struct, kw_only=True):
    """The outcome of all attacks.

    `lost` counts answered ids that are not stored, `differences` figures of reports that differ
    from what is stored; `ended` has a line for each process that ended by itself.
    """

    rate: float
    attacks: list[Attacked]
    requests: int
    lost: int
    differences: int
    ended: list[str]

    def faults(self) -> list[str]:
        """Return a line for each fault; empty if every bound was kept."""
        lines = [line for attacked in self.attacks for line in attacked.faults()]
        for name, slowdown in self._slowdowns().items():
            if slowdown > MAX_SLOWDOWN:
                lines.append(f"{name}: p99 was {slowdown:.1f} times that of before")
        return lines + audit_faults(self.lost, self.differences) + self.ended

    def _slowdowns(self) -> dict[str, float]:
        """Return the median of each attack's tries, by name."""
        tries: dict[str, list[float]] = {}
        for attacked in self.attacks:
            tries.setdefault(attacked.name, []).append(attacked.slowdown)
        return {name: median(slowdowns) for name, slowdowns in tries.items()}


def table(result: Result) -> str:
    """Return the result as text."""
    width = max(len(attacked.title) for attacked in result.attacks)
    lines = [
        f"visitors: {result.rate:,.0f} requests/s, half of what is sustained; p50 and p99 in ms",
        "",
        " " * width + _HEAD,
    ]
    lines += [_row(attacked, width) for attacked in result.attacks]
    figures = [
        ("visitors' requests answered", f"{result.requests:,}"),
        *audit_figures(result.lost, result.differences),
    ]
    return with_faults([*lines, "", *figure_lines(figures)], result.faults())


def line(attacked: Attacked) -> str:
    """Return the line of one attack, to show while others still run."""
    return _row(attacked, len(attacked.title))


def _row(attacked: Attacked, width: int) -> str:
    seen = attacked.visitors
    phases = "".join(_phase(one) for one in (seen.before, seen.during, seen.after))
    errors = sum(sum(one.errors.values()) for one in (seen.before, seen.during, seen.after))
    drained = "-" if attacked.drained is None else f"{attacked.drained:.1f} s"
    answers = ", ".join(f"{what} x {n:,}" for what, n in sorted(attacked.report.answers.items()))
    sizes = msgspec.structs.astuple(attacked.memory)
    return f"{attacked.title:{width}}{phases}{errors:6,}  {_sizes(sizes)}  {drained:>7}  {answers}"


def _phase(seen: Outcome) -> str:
    return f"{seen.p50 * 1000:6.1f} {seen.p99 * 1000:6.1f} "


def _sizes(sizes: Sequence[int]) -> str:
    return " ".join(f"{size / MEGABYTE:4.0f}" for size in sizes)

"""What came of the attacks, for people, and the bounds that they are held to. Pure."""

from collections.abc import Sequence
from statistics import median
from typing import Final

import msgspec

from lab.abuse.target import Report
from lab.load.outcome import Outcome

SLOWER: Final = 5.0
"""How many times as long as before the p99 of visitors may be during an attack: the median, if it
was tried more than once."""

TRIES: Final = 3
"""How often an attack is tried that seems to slow visitors: one percent of some seconds is as much
the machine's as the attacker's."""

_HEAD: Final = "        before        during         after errors             MB  drained  attacker"

MEGABYTE: Final = 1024 * 1024
GROWTH: Final = 20 * MEGABYTE
"""How much larger than before web and drain may be after an attack."""


class Memory(msgspec.Struct, frozen=True):
    """Resident bytes of web and drain together."""

    before: int
    during: int
    after: int


class Phases(msgspec.Struct, frozen=True):
    """The latencies and errors of visitors before, during and after an attack."""

    before: Outcome
    during: Outcome
    after: Outcome


class Attacked(msgspec.Struct, kw_only=True):
    """The outcome of one attack. `drained` are the seconds after the last visitor until all was in
    MongoDB; None: it was not in time."""

    name: str
    title: str
    visitors: Phases
    memory: Memory
    drained: float | None
    report: Report

    @property
    def slower(self) -> float:
        """Return the p99 of visitors during the attack as a multiple of that before it."""
        return self.visitors.during.p99 / (self.visitors.before.p99 or 1.0)

    def faults(self) -> list[str]:
        """Return a line for each bound that was broken, but for that of all its tries."""
        lines = list(self.report.findings)
        for phase, seen in msgspec.structs.asdict(self.visitors).items():
            lines += [f"visitors {phase}: {n:,} {what}" for what, n in seen.errors.items()]
        if (growth := self.memory.after - self.memory.before) > GROWTH:
            lines.append(f"{growth / MEGABYTE:.0f} MB of memory were not given back")
        if self.drained is None:
            lines.append("what visitors sent was not drained")
        return [f"{self.name}: {line}" for line in lines]


class Result(msgspec.Struct, kw_only=True):
    """The outcome of all. `lost` answered ids are not stored; `differences` are figures of reports
    that are not what is stored; `ended` tells of processes that ended by themselves."""

    rate: float
    attacks: list[Attacked]
    requests: int
    lost: int
    differences: int
    ended: list[str]

    def faults(self) -> list[str]:
        """Return a line for each fault; empty if every bound was kept."""
        lines = [line for attacked in self.attacks for line in attacked.faults()]
        for name, slower in self._slower().items():
            if slower > SLOWER:
                lines.append(f"{name}: p99 was {slower:.1f} times that of before")
        lines += [f"{self.lost:,} answered and not stored"] * bool(self.lost)
        lines += [f"{self.differences:,} figures of reports differ"] * bool(self.differences)
        return lines + self.ended

    def _slower(self) -> dict[str, float]:
        """By name, the median of its tries."""
        tries: dict[str, list[float]] = {}
        for attacked in self.attacks:
            tries.setdefault(attacked.name, []).append(attacked.slower)
        return {name: median(slower) for name, slower in tries.items()}


def table(result: Result) -> str:
    """Return the result as text."""
    width = max(len(attacked.title) for attacked in result.attacks)
    lines = [
        f"visitors: {result.rate:,.0f} requests/s, half of what is sustained; p50 and p99 in ms",
        "",
        " " * width + _HEAD,
    ]
    lines += [_row(attacked, width) for attacked in result.attacks]
    lines += [
        "",
        f"visitors' requests answered      {result.requests:>11,}",
        f"answered and not stored          {result.lost:>11,}",
        f"figures of reports that differ   {result.differences:>11,}",
    ]
    return "\n".join(lines + [f"FAULT: {fault}" for fault in result.faults()])


def line(attacked: Attacked) -> str:
    """Return one attack's line, for those who wait for the others."""
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

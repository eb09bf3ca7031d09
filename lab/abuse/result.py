"""The result of all attacks, the bounds that they are held to, and both as text. Pure."""

from statistics import median
from typing import Final

import msgspec

from lab.abuse.attack import Report
from lab.client import Outcome
from lab.process_usage import MAX_GROWTH_BYTES, MEGABYTE, Memory
from lab.result import LoadAudit, columns, figure_lines, with_faults
from tracker.reports.limits import MEMORY_BYTES

MAX_SLOWDOWN: Final = 5.0
"""The limit of the p99 of visitors during an attack, as a multiple of that before it: the median of
all tries."""

MAX_TRIES: Final = 3
"""Runs of an attack that seems to slow visitors: the p99 of a few seconds depends on the machine as
much as on the attacker."""

_MAX_PEAK_BYTES: Final = MEMORY_BYTES + 100 * MEGABYTE
"""The limit of the growth during an attack: what all reports may have, and other requests."""

_HEADS: Final = ("", *("p50", "p99") * 3, "errors", *("MB",) * 3, "drained", "answers")
_TEXT_COLUMNS: Final = (0, len(_HEADS) - 1)
"""The indexes of the columns with text."""


class Attacked(msgspec.Struct, kw_only=True):
    """The outcome of one attack.

    `visitors` has what they saw `before`, `during` and `after` it. `drained` is the seconds from
    the last visitor until everything was in MongoDB, None if it was not in time. `memory` is that
    of web and drain together, of which an attack may leave them `may_keep` bytes.
    """

    name: str
    title: str
    visitors: dict[str, Outcome]
    memory: Memory
    drained: float | None
    report: Report
    may_keep: int = MAX_GROWTH_BYTES

    @property
    def slowdown(self) -> float:
        return self.visitors["during"].p99 / (self.visitors["before"].p99 or 1.0)

    def faults(self) -> list[str]:
        lines = list(self.report.findings)
        for phase, seen in self.visitors.items():
            lines += [f"visitors {phase}: {n:,} {what}" for what, n in seen.errors.items()]
        if (growth := self.memory.after - self.memory.before) > self.may_keep:
            lines.append(f"{growth / MEGABYTE:.0f} MB of memory were not released")
        if (growth := self.memory.during - self.memory.before) > _MAX_PEAK_BYTES:
            lines.append(f"the memory grew by {growth / MEGABYTE:.0f} MB")
        if self.drained is None:
            lines.append("requests of visitors were not drained")
        return [f"{self.name}: {line}" for line in lines]


class Result(msgspec.Struct, kw_only=True):
    """The outcome of all attacks; `rate` is that of visitors, in requests a second."""

    rate: float
    attacks: list[Attacked]
    audit: LoadAudit

    def faults(self) -> list[str]:
        lines = [line for attacked in self.attacks for line in attacked.faults()]
        for name, slowdown in self._slowdowns().items():
            if slowdown > MAX_SLOWDOWN:
                lines.append(f"{name}: p99 was {slowdown:.1f} times that of before")
        return lines + self.audit.faults()

    def _slowdowns(self) -> dict[str, float]:
        tries: dict[str, list[float]] = {}
        for attacked in self.attacks:
            tries.setdefault(attacked.name, []).append(attacked.slowdown)
        return {name: median(slowdowns) for name, slowdowns in tries.items()}


def table(result: Result) -> str:
    lines = [
        f"visitors: {result.rate:,.0f} requests/s",
        "p50 and p99 in ms and memory in MB, each before, during and after the attack",
        "",
        *columns([_HEADS, *map(_row, result.attacks)], _TEXT_COLUMNS),
        "",
        *figure_lines(result.audit.rows()),
    ]
    return with_faults(lines, result.faults())


def line(attacked: Attacked) -> str:
    return columns([_row(attacked)], _TEXT_COLUMNS)[0]


def _row(attacked: Attacked) -> list[str]:
    phases = attacked.visitors.values()
    latencies = [f"{one * 1000:.1f}" for phase in phases for one in (phase.p50, phase.p99)]
    sizes = [f"{size / MEGABYTE:.0f}" for size in msgspec.structs.astuple(attacked.memory)]
    errors = sum(sum(phase.errors.values()) for phase in phases)
    drained = "-" if attacked.drained is None else f"{attacked.drained:.1f} s"
    answers = ", ".join(f"{kind} x {n:,}" for kind, n in sorted(attacked.report.answers.items()))
    return [attacked.title, *latencies, f"{errors:,}", *sizes, drained, answers]

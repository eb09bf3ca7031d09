"""The result of a run as text, and its faults. Pure."""

from collections.abc import Mapping
from typing import Final

import msgspec

from lab.chaos.audit import ELSEWHERE, Figure
from lab.result import figure_lines, with_faults

EXPECTED: Final = ("click 503", "event 503", ELSEWHERE)
"""Other answers that are right while a store is unavailable: the client tries again later."""


class Result(msgspec.Struct, kw_only=True):
    """The figures of a run.

    `disturbances` counts by kind, `other_answers` by kind of request and status. `held` has a line
    for each of the first journal entries that are left. Waits are in seconds.
    """

    seed: int
    seconds: float
    disturbances: Mapping[str, int]
    figures: list[Figure]
    other_answers: Mapping[str, int]
    report_differences: list[str]
    held: list[str]
    ended_by_themselves: list[str]
    p99_wait: float
    longest_wait: float

    def faults(self) -> list[str]:
        return [
            *(f"{one.number:,} {one.name}" for one in self.figures if one.is_fault and one.number),
            *(
                f"{number:,} answers {kind}"
                for kind, number in self.other_answers.items()
                if kind not in EXPECTED
            ),
            *(f"journal: {line}" for line in self.held),
            *(f"report: {line}" for line in self.report_differences),
        ]

    def table(self) -> str:
        rows = [
            (f"seconds, seed {self.seed}", f"{self.seconds:.0f}"),
            *((kind, f"{number:,}") for kind, number in self.disturbances.items()),
            *((one.name, f"{one.number:,}") for one in self.figures),
            *((f"answers {kind}", f"{number:,}") for kind, number in self.other_answers.items()),
            ("wait for an answer, 99th percentile", f"{self.p99_wait:.3f} s"),
            ("longest wait", f"{self.longest_wait:.3f} s"),
        ]
        return with_faults(figure_lines(rows), self.faults(), self.ended_by_themselves)

"""The result of a run, for people and for programs."""

from collections.abc import Mapping
from typing import Final

import msgspec

from lab.chaos.audit import Figure
from lab.result import figure_lines, with_faults

EXPECTED: Final = ("click 503", "event 503")
"""Other answers that are right while a store is unavailable: the client tries again later."""


class Undrained(msgspec.Struct, kw_only=True):
    """The records that are still not drained after the run.

    `entries` has a line for each of the first journal entries: which drain holds it, how long.
    """

    journal: int = 0
    entries: list[str] = []
    spool_files: int = 0
    dead_letters: int = 0

    def figures(self) -> list[Figure]:
        return [
            Figure("journal entries not drained", self.journal, is_fault=True),
            Figure("spool files not replayed", self.spool_files, is_fault=True),
            Figure("dead letters", self.dead_letters, is_fault=True),
        ]


class Result(msgspec.Struct, kw_only=True):
    """The figures of a run.

    - `disturbances`: by kind
    - `other_answers`: by kind of request and status
    - `report_differences`: totals of POST /api/reports that differ from what is stored, in words
    - `held`: a line for each of the first journal entries that are left
    - `p99_wait`, `longest_wait`: seconds from a request to its answer
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
        """Return a line for each broken promise; empty if all were kept."""
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

    def numbers(self) -> dict[str, int]:
        """Return every figure by its name."""
        return {one.name: one.number for one in self.figures}

    def table(self) -> str:
        answers = {f"answers {kind}": number for kind, number in self.other_answers.items()}
        numbers = {**self.disturbances, **self.numbers(), **answers}
        rows = [
            (f"seconds, seed {self.seed}", f"{self.seconds:.0f}"),
            *((name, f"{number:,}") for name, number in numbers.items()),
            ("wait for an answer, 99th percentile", f"{self.p99_wait:.3f} s"),
            ("longest wait", f"{self.longest_wait:.3f} s"),
        ]
        return with_faults(figure_lines(rows), self.faults(), self.ended_by_themselves)

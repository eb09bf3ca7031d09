"""The result of a run, for people and for programs."""

from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Final

import msgspec

from lab.chaos.audit import Findings
from lab.result import figure_lines, with_faults

_SHOWN: Final = 20

EXPECTED: Final = ("click 503", "event 503")
"""Other answers that are right while a store is unavailable: the client tries again later."""


class Left(msgspec.Struct, kw_only=True):
    """The records that are still not drained after the run.

    `entries` says of the first journal entries which drain holds them, and for how long.
    """

    journal: int = 0
    entries: list[str] = []
    spool_files: int = 0
    dead_letters: int = 0


class Waits(msgspec.Struct, kw_only=True):
    """Seconds from a request to its answer.

    `longest_web_running` leaves out waits during which the web process was stopped or killed.
    """

    p99: float
    longest: float
    longest_web_running: float


class Result(msgspec.Struct, kw_only=True):
    """The figures of a run.

    - `disturbances`: by kind
    - `cut`: requests that were sent and never answered
    - `refused`: connections that nobody accepted
    - `other_answers`: by kind of request and status
    - `report_differences`: figures of POST /api/reports that differ from what is stored
    """

    seed: int
    seconds: float
    disturbances: Mapping[str, int]
    findings: Findings
    left: Left
    waits: Waits
    cut: int
    refused: int
    other_answers: Mapping[str, int]
    report_differences: list[str]
    ended_by_themselves: list[str]

    def faults(self) -> list[str]:
        """Return a line for each broken promise; empty if all were kept."""
        differences = self.findings.rollup_differences
        lines = [f"{number:,} {what}" for what, number in self._faulty().items() if number]
        lines += [
            f"{number:,} answers {what}"
            for what, number in self.other_answers.items()
            if what not in EXPECTED
        ]
        lines += [f"journal: {line}" for line in self.left.entries]
        lines += [f"rollup: {line}" for line in islice(differences, _SHOWN)]
        if len(differences) > _SHOWN:
            lines.append(f"rollup: and {len(differences) - _SHOWN:,} more")
        return lines + [f"report: {line}" for line in self.report_differences]

    def _faulty(self) -> dict[str, int]:
        clicks, events = self.findings.clicks, self.findings.events
        deliveries = self.findings.deliveries
        return {
            "clicks lost": clicks.lost,
            "clicks doubled": clicks.doubled,
            "visitors not counted once": clicks.visitors_wrong,
            "events lost": events.lost,
            "events doubled": events.doubled,
            "event ids given twice": events.ids_given_twice,
            "events left pending although their click is stored": events.left_pending,
            "deliveries lost": deliveries.lost,
            "deliveries doubled": deliveries.doubled,
            "deliveries not delivered": deliveries.not_delivered,
            "deliveries not received": deliveries.not_received,
            "deliveries with another id": deliveries.other_ids,
            "journal entries not drained": self.left.journal,
            "spool files not replayed": self.left.spool_files,
            "dead letters": self.left.dead_letters,
        }

    def table(self) -> str:
        """Return the result as text."""
        return with_faults(figure_lines(self._rows()), self.faults(), self.ended_by_themselves)

    def _rows(self) -> Iterator[tuple[str, str]]:
        yield f"seconds, seed {self.seed}", f"{self.seconds:.0f}"
        for kind, number in self.disturbances.items():
            yield kind, f"{number:,}"
        yield from self._click_rows()
        yield from self._event_rows()
        yield from self._delivery_rows()
        yield "rollup figures that differ", f"{len(self.findings.rollup_differences):,}"
        yield "report figures that differ", f"{len(self.report_differences):,}"
        yield "left: journal entries", f"{self.left.journal:,}"
        yield "left: spool files", f"{self.left.spool_files:,}"
        yield "left: dead letters", f"{self.left.dead_letters:,}"
        yield "requests without an answer", f"{self.cut:,}"
        yield "connections refused, as nobody listened", f"{self.refused:,}"
        for what, number in self.other_answers.items():
            yield f"answers {what}", f"{number:,}"
        yield "processes that ended by themselves", f"{len(self.ended_by_themselves):,}"
        yield "wait for an answer, 99th percentile", _seconds(self.waits.p99)
        yield "longest wait", _seconds(self.waits.longest)
        yield "longest wait, web process undisturbed", _seconds(self.waits.longest_web_running)

    def _click_rows(self) -> Iterator[tuple[str, str]]:
        clicks = self.findings.clicks
        yield "clicks answered", f"{clicks.answered:,}"
        yield "clicks stored", f"{clicks.stored:,}"
        yield "  of them cut off before their answer", f"{clicks.cut_stored:,}"
        yield "  lost", f"{clicks.lost:,}"
        yield "  doubled", f"{clicks.doubled:,}"
        yield "unique visitors", f"{clicks.visitors:,}"
        yield "  not counted once", f"{clicks.visitors_wrong:,}"

    def _event_rows(self) -> Iterator[tuple[str, str]]:
        events = self.findings.events
        yield "events answered", f"{events.answered:,}"
        yield "  as pending", f"{events.answered_pending:,}"
        yield "events stored", f"{events.stored:,}"
        yield "  of them cut off before their answer", f"{events.cut_stored:,}"
        yield "  lost", f"{events.lost:,}"
        yield "  doubled", f"{events.doubled:,}"
        yield "  ids given twice", f"{events.ids_given_twice:,}"
        yield "  repeats answered with an id of their own", f"{events.other_ids:,}"
        yield "  left pending although the click is stored", f"{events.left_pending:,}"

    def _delivery_rows(self) -> Iterator[tuple[str, str]]:
        deliveries = self.findings.deliveries
        yield "deliveries expected", f"{deliveries.expected:,}"
        yield "deliveries stored", f"{deliveries.stored:,}"
        yield "  lost", f"{deliveries.lost:,}"
        yield "  doubled", f"{deliveries.doubled:,}"
        yield "  not delivered", f"{deliveries.not_delivered:,}"
        yield "  not received", f"{deliveries.not_received:,}"
        yield "  received with another id", f"{deliveries.other_ids:,}"
        yield "  refused by the receiver once", f"{deliveries.refused_once:,}"
        yield "  received again, with the same id", f"{deliveries.repeated:,}"


def _seconds(seconds: float) -> str:
    return f"{seconds:.3f} s"

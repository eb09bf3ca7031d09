"""The result of a run, for people and for programs."""

from collections.abc import Mapping
from typing import Final, NamedTuple

import msgspec

from lab.chaos.audit import Clicks, Deliveries, Events, Findings
from lab.result import figure_lines, with_faults

_DIFFER: Final = "figures of rollups and reports differ from the documents"

EXPECTED: Final = ("click 503", "event 503")
"""Other answers that are right while a store is unavailable: the client tries again later."""


class Figure(NamedTuple):
    """A number of the result; `fault` names the broken promise if it is not 0."""

    name: str
    number: int
    fault: str | None = None


class Undrained(msgspec.Struct, kw_only=True):
    """The records that are still not drained after the run.

    `entries` has a line for each of the first journal entries: which drain holds it, how long.
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

    def rows(self) -> list[tuple[str, str]]:
        return [
            ("wait for an answer, 99th percentile", _seconds(self.p99)),
            ("longest wait", _seconds(self.longest)),
            ("longest wait, web process undisturbed", _seconds(self.longest_web_running)),
        ]


class Result(msgspec.Struct, kw_only=True):
    """The figures of a run.

    - `disturbances`: by kind
    - `cut`: requests that were sent and never answered
    - `refused`: connections that nobody accepted
    - `other_answers`: by kind of request and status
    - `differences`: figures of rollups and reports that `scripts.verify` finds wrong, and explains
      on standard error
    - `report_differences`: figures of POST /api/reports that differ from what is stored
    - `links_changed`, `links_looked_at`, `old_destinations`: see `lab/chaos/link_changes`
    - `unlogged_removals`: times that the spool was removed without an error in the log
    - `loses_marks`: whether a failover of Redis loses marks of visitors, which is no fault: they
      are not waited for
    """

    seed: int
    seconds: float
    disturbances: Mapping[str, int]
    findings: Findings
    left: Undrained
    waits: Waits
    cut: int
    refused: int
    other_answers: Mapping[str, int]
    differences: int
    report_differences: list[str]
    ended_by_themselves: list[str]
    links_changed: int = 0
    links_looked_at: int = 0
    old_destinations: int = 0
    unlogged_removals: int = 0
    loses_marks: bool = False

    def faults(self) -> list[str]:
        """Return a line for each broken promise; empty if all were kept."""
        lines = [
            f"{one.number:,} {one.fault}" for one in self._figures() if one.fault and one.number
        ]
        lines += [
            f"{number:,} answers {kind}"
            for kind, number in self.other_answers.items()
            if kind not in EXPECTED
        ]
        lines += [f"journal: {line}" for line in self.left.entries]
        return lines + [f"report: {line}" for line in self.report_differences]

    def table(self) -> str:
        figures = [
            *(Figure(kind, number) for kind, number in self.disturbances.items()),
            *self._figures(),
            *(Figure(f"answers {kind}", n) for kind, n in self.other_answers.items()),
        ]
        rows = [
            (f"seconds, seed {self.seed}", f"{self.seconds:.0f}"),
            *((figure.name, f"{figure.number:,}") for figure in figures),
            *self.waits.rows(),
        ]
        return with_faults(figure_lines(rows), self.faults(), self.ended_by_themselves)

    def _figures(self) -> list[Figure]:
        found = self.findings
        return [
            *_click_figures(found.clicks, self.loses_marks),
            *_event_figures(found.events),
            *_delivery_figures(found.deliveries),
            Figure("links changed", self.links_changed),
            Figure("redirects after their answers", self.links_looked_at),
            Figure("  to an old destination", self.old_destinations, "old destinations"),
            Figure("figures that differ from the documents", self.differences, _DIFFER),
            Figure("figures of the report that differ", len(self.report_differences)),
            Figure("left: journal entries", self.left.journal, "journal entries not drained"),
            Figure("left: spool files", self.left.spool_files, "spool files not replayed"),
            Figure("left: dead letters", self.left.dead_letters, "dead letters"),
            Figure(
                "removed spools without an error in the log",
                self.unlogged_removals,
                "removed spools without an error in the log",
            ),
            Figure("requests without an answer", self.cut),
            Figure("connections refused, as nobody listened", self.refused),
            Figure("processes that ended by themselves", len(self.ended_by_themselves)),
        ]


def _click_figures(clicks: Clicks, loses_marks: bool) -> list[Figure]:
    wrong = "" if loses_marks else "visitors not counted once"
    return [
        Figure("clicks answered", clicks.answered),
        Figure("clicks stored", clicks.stored),
        Figure("  cut off before their answer", clicks.cut_stored),
        Figure("  lost", clicks.lost, "clicks lost"),
        Figure("  doubled", clicks.doubled, "clicks doubled"),
        Figure("unique visitors", clicks.visitors),
        Figure("  not counted once", clicks.visitors_wrong, wrong),
    ]


def _event_figures(events: Events) -> list[Figure]:
    left_pending = "events left pending although their click is stored"
    return [
        Figure("events answered", events.answered),
        Figure("  as pending", events.answered_pending),
        Figure("events stored", events.stored),
        Figure("  cut off before their answer", events.cut_stored),
        Figure("  lost", events.lost, "events lost"),
        Figure("  doubled", events.doubled, "events doubled"),
        Figure("  ids given twice", events.ids_given_twice, "event ids given twice"),
        Figure("  repeats answered with an id of their own", events.other_ids),
        Figure("  left pending although the click is stored", events.left_pending, left_pending),
    ]


def _delivery_figures(found: Deliveries) -> list[Figure]:
    return [
        Figure("deliveries expected", found.expected),
        Figure("deliveries stored", found.stored),
        Figure("  lost", found.lost, "deliveries lost"),
        Figure("  doubled", found.doubled, "deliveries doubled"),
        Figure("  not delivered", found.not_delivered, "deliveries not delivered"),
        Figure("  not received", found.not_received, "deliveries not received"),
        Figure("  received with another id", found.other_ids, "deliveries with another id"),
        Figure("  refused by the receiver once", found.refused_once),
        Figure("  received again, with the same id", found.repeated),
    ]


def _seconds(seconds: float) -> str:
    return f"{seconds:.3f} s"

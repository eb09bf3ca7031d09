"""Overviews: totals, a series and the first rows of several dimensions, in one request."""

from collections.abc import Mapping, Sequence, Set
from typing import Final

import msgspec

from tracker.reports.answers.compared import (
    Movers,
    PreviousFigures,
    other_days,
    previous_parts,
    read_compared,
    read_movers,
    read_previous,
)
from tracker.reports.answers.one_report import Series, read_series
from tracker.reports.comparison import DayComparison
from tracker.reports.counted import needed_for
from tracker.reports.joint_counts.report_run import ReportRun
from tracker.reports.periods import Interval
from tracker.reports.query import Measures, Report, ReportQuery
from tracker.reports.rollups.layout import rollups_for
from tracker.reports.rollups.shared_rollups import SharedRollups

_MANY: Final = 3
"""With so many combinations of dimensions, counting by all dimensions at once is faster; with so
many queries, reading whole rollups."""


class Overview(msgspec.Struct, frozen=True, kw_only=True):
    """The figures of one snapshot. `previous_rows` are by panel and key."""

    series: Series
    previous: PreviousFigures | None
    panels: Sequence[Report]
    previous_rows: Sequence[Mapping[str, Measures] | None]
    movers: Movers | None


async def read_overview(
    run: ReportRun,
    query: ReportQuery,
    interval: Interval,
    comparison: DayComparison | None,
    panels: Sequence[ReportQuery],
    alone: Set[int] = frozenset(),
    moving: ReportQuery | None = None,
) -> Overview:
    """Return the figures. The panels `alone`, by number, are not compared.

    `moving` asks for the rows whose figures have changed most.
    """
    days = None if comparison is None else await other_days(run, comparison)
    others = 0
    if days is not None:
        others = previous_parts(interval, days) + len(panels) - len(alone)
    also = [] if moving is None else [moving]
    plan(run, [query, *panels, *also], others + len(also))
    series = await read_series(run, "series", query, interval)
    previous = None if days is None else await read_previous(run, query, interval, days)
    # Panels that must be counted go first: their counts then serve the panels after them, faster
    # than the rollups of each link do.
    order = sorted(range(len(panels)), key=lambda number: _is_of_rollups(panels[number]))
    found = {}
    for number in order:
        compared = None if number in alone else days
        found[number] = await read_compared(run, f"panels[{number}]", panels[number], compared)
    movers = None
    if moving is not None and days is not None:
        movers = await read_movers(run, moving, days)
    return Overview(
        series=series,
        previous=previous,
        panels=[found[number][0] for number in range(len(panels))],
        previous_rows=[found[number][1] for number in range(len(panels))],
        movers=movers,
    )


def plan(run: ReportRun, queries: Sequence[ReportQuery], others: int = 0) -> None:
    """Plan these queries, and `others` of the same dimensions.

    Documents that several queries must count are read once; days, by all dimensions. The rollups of
    a link are read once too.
    """
    crossed = [one for one in queries if not _is_of_rollups(one)]
    needed = dict.fromkeys(needed_for(one.group_by, one.filtered_by) for one in crossed)
    run.combinations = list(needed)
    run.is_thorough = len(needed) >= _MANY
    if len(queries) >= _MANY:
        run.rollups = SharedRollups()
    run.progress.expect(len(queries) + others)


def _is_of_rollups(query: ReportQuery) -> bool:
    return rollups_for(needed_for(query.group_by, query.filtered_by)) is not None

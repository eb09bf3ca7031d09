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

    `moving` asks for the rows whose figures have changed most, those of a panel if they are its.
    """
    days = None if comparison is None else await other_days(run, comparison)
    count = len(panels)
    panels, host = _with_movers(panels, moving, alone)
    others = 0 if days is None else previous_parts(interval, days) + len(panels) - len(alone)
    plan(run, [query, *panels], others)
    series = await read_series(run, "series", query, interval)
    previous = None if days is None else await read_previous(run, query, interval, days)
    # Panels that must be counted go first: their counts then serve the panels after them, faster
    # than the rollups of each link do.
    order = sorted(range(len(panels)), key=lambda number: _is_of_rollups(panels[number]))
    found: dict[int, tuple[Report, Mapping[str, Measures] | None]] = {}
    movers = None
    for number in order:
        name, panel = f"panels[{number}]" if number < count else "movers", panels[number]
        if number == host and moving is not None and days is not None:
            report, movers = await read_movers(run, name, panel, moving, days)
            found[number] = report, movers.before
        else:
            compared = None if number in alone else days
            found[number] = await read_compared(run, name, panel, compared)
    return Overview(
        series=series,
        previous=previous,
        panels=[found[number][0] for number in range(count)],
        previous_rows=[found[number][1] for number in range(count)],
        movers=movers,
    )


def _with_movers(
    panels: Sequence[ReportQuery], moving: ReportQuery | None, alone: Set[int]
) -> tuple[Sequence[ReportQuery], int | None]:
    """Return the panels, and the number of that with all rows of `moving`: a compared one, else a
    further one.
    """
    if moving is None:
        return panels, None
    for number, one in enumerate(panels):
        has_all = one.group_by == moving.group_by and not (one.search or one.having)
        if has_all and number not in alone:
            return panels, number
    return [*panels, moving], len(panels)


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

"""Overviews: totals, a series and the first rows of several dimensions, in one request."""

from collections.abc import Mapping, Sequence, Set
from datetime import datetime

import msgspec

from tracker.reports.answers.compared_rows import run_compared
from tracker.reports.answers.previous import PreviousFigures, previous_parts, read_previous
from tracker.reports.answers.request_parts import Parts, Series, is_of_rollups
from tracker.reports.comparison import Comparison
from tracker.reports.query import Measures, Report, ReportQuery
from tracker.reports.series import Interval


class Overview(msgspec.Struct, frozen=True, kw_only=True):
    """The figures of one snapshot. `previous_rows` are by panel and key."""

    at: datetime
    series: Series
    previous: PreviousFigures | None
    panels: Sequence[Report]
    previous_rows: Sequence[Mapping[str, Measures] | None]


async def read_overview(
    parts: Parts,
    query: ReportQuery,
    interval: Interval,
    comparison: Comparison | None,
    panels: Sequence[ReportQuery],
    alone: Set[int] = frozenset(),
) -> Overview:
    """Return the figures. The panels `alone`, by number, are not compared."""
    days = None if comparison is None else await parts.other_days(comparison)
    others = 0
    if days is not None:
        others = previous_parts(interval, days) + len(panels) - len(alone)
    parts.expect([query, *panels], others)
    series = await parts.series("series", query, interval)
    previous = None if days is None else await read_previous(parts, query, interval, days)
    # Panels that must be counted go first: their counts then serve the panels after them, faster
    # than the rollups of each link do.
    order = sorted(range(len(panels)), key=lambda number: is_of_rollups(panels[number]))
    found = {}
    for number in order:
        other_days = None if number in alone else days
        found[number] = await run_compared(parts, f"panels[{number}]", panels[number], other_days)
    return Overview(
        at=parts.at,
        series=series,
        previous=previous,
        panels=[found[number][0] for number in range(len(panels))],
        previous_rows=[found[number][1] for number in range(len(panels))],
    )

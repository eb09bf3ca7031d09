"""Overviews: the totals, the series and the first rows of several dimensions, in one request."""

from collections.abc import Sequence

import msgspec

from tracker.reports.day_range import DayRange
from tracker.reports.parts import Parts, Series, is_of_rollups
from tracker.reports.query import Query, Report
from tracker.reports.series import Interval


class Overview(msgspec.Struct, frozen=True, kw_only=True):
    """The figures of one snapshot. `panels` are the reports asked for, in their order."""

    series: Series
    previous: Series | None
    panels: Sequence[Report]


async def read_overview(
    parts: Parts,
    query: Query,
    interval: Interval,
    previous: DayRange | None,
    panels: Sequence[Query],
) -> Overview:
    """Return the overview of a query's days, compared with the `previous` ones if there are any.

    Raises as `Parts.run` and `Parts.series`.
    """
    parts.expect([query, *panels], others=0 if previous is None else 1)
    series = await parts.series("series", query, interval)
    before = None
    if previous is not None:
        other = msgspec.structs.replace(query, first=previous.first, last=previous.last)
        before = await parts.series("compare", other, interval)
    # What is counted for a panel that no rollup answers answers those after it in less time than
    # rollups of each link.
    order = sorted(range(len(panels)), key=lambda number: is_of_rollups(panels[number]))
    found = {number: await parts.run(f"panels[{number}]", panels[number]) for number in order}
    return Overview(
        series=series,
        previous=before,
        panels=[found[number] for number in range(len(panels))],
    )

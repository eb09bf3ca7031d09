"""An unfinished day: the source of its counts by link, and its first hours as one table.

Reading a rollup takes the time of counting some clicks. So counts of many links come from cached
counts of hours, continued with the clicks since then. The finished hours are one table that grows
by an hour: otherwise a report of 100,000 links would read, and hold, a table for each hour.
"""

from collections.abc import Sequence
from typing import Final

from tracker.reports.counted import of_kind
from tracker.reports.dimensions import DOCUMENT_KINDS, DocumentKind
from tracker.reports.joint_counts.report_run import ReportRun
from tracker.reports.joint_counts.sources import CountSources
from tracker.reports.joint_counts.store import ALL, CachedTable, JointId
from tracker.reports.periods import Period, hours_of, with_first_hours

FEW_ROLLUPS: Final = 3000
"""Rollups of links that are read at once: 10 to 25 µs each."""

_DOCUMENTS_PER_ROLLUP: Final = 5
"""Clicks counted in the time of reading a rollup."""


async def hours_of_many_links(run: ReportRun, by: Sequence[str], day: Period) -> list[Period]:
    """Return the hours of a day if they cost less than its rollups of links; else none.

    The finished hours are one period.
    """
    if not await _has_more_rollups(run, day, FEW_ROLLUPS):
        return []
    sources = CountSources(run, run.scope)
    hours = await sources.whole_hours_of(day)
    periods = with_first_hours(run.scope.calendar, hours, run.at)
    # The hours one by one only if the sum of the first is missing: a document for each is read.
    for counted in (periods, hours):
        rollups = await _uncounted(run, sources, by, counted) // _DOCUMENTS_PER_ROLLUP
        if rollups <= FEW_ROLLUPS or await _has_more_rollups(run, day, rollups):
            return periods
    return []


def counted_hours(
    sources: CountSources, one: JointId, known: CachedTable | None, period: Period
) -> int:
    """Return how many of the first hours a cached sum has; 0 if it is not valid."""
    if known is None:
        return 0
    hours = hours_of(sources.scope.calendar, period.first)[: period.hours]
    count = sum(known.through is not None and hour.end <= known.through for hour in hours)
    if not count:
        return 0
    end = hours[count - 1].end
    of_known = sources.fingerprints.of(period._replace(hours=count, end=end))
    return count if known.is_valid(of_known.of(one.of), end) else 0


async def _has_more_rollups(run: ReportRun, day: Period, number: int) -> bool:
    of_day = {**run.scope.rollups("link"), "_id.day": day.first.isoformat()}
    return await run.reader.count("rollups", of_day, limit=number + 1) > number


async def _uncounted(
    run: ReportRun, sources: CountSources, by: Sequence[str], periods: Sequence[Period]
) -> int:
    """Return how many clicks and events of these periods have no cached counts."""
    wanted = [(of, one, _ids(sources, of, by, one)) for of in DOCUMENT_KINDS for one in periods]
    ids = [one for _, _, usable in wanted for one in usable]
    cached = await sources.joint.fingerprints(ids, run.latest)
    return sum(
        min(sources.fingerprints.of(period).uncounted(of, cached.get(one)) for one in usable)
        for of, period, usable in wanted
    )


def _ids(
    sources: CountSources, of: DocumentKind, by: Sequence[str], period: Period
) -> Sequence[JointId]:
    """Return the ids of the counts by these dimensions, and by all dimensions."""
    one = sources.id_of(of, of_kind(of, by), period)
    return one, one._replace(by=ALL)

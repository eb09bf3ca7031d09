"""The source of an unfinished day by link: the rollups of its links, or the counts of its hours.

A rollup costs as much as counting some clicks. So many links are read from the hours, whose counts
are cached, and continued with the clicks since then.
"""

from collections.abc import Sequence
from typing import Final

from tracker.reports.dimensions import DOCUMENT_KINDS, EVENT, DocumentKind
from tracker.reports.joint_counts.scope import ReportScope, Snapshot
from tracker.reports.joint_counts.sources import CountSources, without
from tracker.reports.joint_counts.store import ALL, JointId
from tracker.reports.periods import Period
from tracker.stores.mongodb.drivers import Database

FEW_ROLLUPS: Final = 3000
"""Rollups of links that are read at once: 10 to 25 µs each."""

_DOCUMENTS_PER_ROLLUP: Final = 5
"""Clicks that are counted in the time of reading a rollup."""


async def hours_of_many_links(
    database: Database, scope: ReportScope, snapshot: Snapshot, by: Sequence[str], day: Period
) -> list[Period]:
    """Return the hours of a day if they cost less than its rollups of links; else none."""
    if not await _has_more_rollups(scope, snapshot, day, FEW_ROLLUPS):
        return []
    sources = CountSources(database, scope, snapshot)
    hours = await sources.whole_hours_of(day)
    rollups = await _uncounted(sources, snapshot, by, hours) // _DOCUMENTS_PER_ROLLUP
    is_cheap = rollups <= FEW_ROLLUPS or await _has_more_rollups(scope, snapshot, day, rollups)
    return hours if is_cheap else []


async def _has_more_rollups(
    scope: ReportScope, snapshot: Snapshot, day: Period, number: int
) -> bool:
    of_day = {**scope.rollups("link"), "_id.day": day.first.isoformat()}
    return await snapshot.reader.count("rollups", of_day, limit=number + 1) > number


async def _uncounted(
    sources: CountSources, snapshot: Snapshot, by: Sequence[str], hours: Sequence[Period]
) -> int:
    """Return how many clicks and events of these hours have no cached counts."""
    wanted = [(of, hour, _ids(sources, of, by, hour)) for of in DOCUMENT_KINDS for hour in hours]
    ids = [one for _, _, usable in wanted for one in usable]
    cached = await sources.joint.fingerprints(ids, snapshot.reader.latest())
    return sum(
        min(sources.fingerprints.of(hour).uncounted(of, cached.get(one)) for one in usable)
        for of, hour, usable in wanted
    )


def _ids(
    sources: CountSources, of: DocumentKind, by: Sequence[str], hour: Period
) -> Sequence[JointId]:
    """Return the ids of the counts by these dimensions, and of those by all."""
    one = sources.id_of(of, without(EVENT, by) if of == "clicks" else by, hour)
    return one, one._replace(by=ALL)

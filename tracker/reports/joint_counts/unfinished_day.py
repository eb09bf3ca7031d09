"""An unfinished day: its first hours as one table, and the source of its counts by link.

A rollup costs as much as counting some clicks. So many links are read from the hours, whose counts
are cached, and continued with the clicks since then. The sum of the hours that are over grows by an
hour: otherwise a report of 100,000 links would read, and hold, a table of them for each hour.
"""

from collections.abc import Awaitable, Callable, Sequence
from typing import Final

from tracker.reports import columns
from tracker.reports.columns import Columns
from tracker.reports.dimensions import DOCUMENT_KINDS, EVENT, DocumentKind
from tracker.reports.joint_counts.scope import ReportScope, Snapshot
from tracker.reports.joint_counts.sources import CountSources, without
from tracker.reports.joint_counts.store import ALL, CachedCounts, JointId, NewCounts
from tracker.reports.memory import bytes_of
from tracker.reports.periods import Period, with_first_hours
from tracker.reports.threads import in_thread
from tracker.stores.mongodb.drivers import Database

FEW_ROLLUPS: Final = 3000
"""Rollups of links that are read at once: 10 to 25 µs each."""

_DOCUMENTS_PER_ROLLUP: Final = 5
"""Clicks that are counted in the time of reading a rollup."""


async def hours_of_many_links(
    database: Database, scope: ReportScope, snapshot: Snapshot, by: Sequence[str], day: Period
) -> list[Period]:
    """Return the hours of a day if they cost less than its rollups of links; else none.

    One period has those that are over.
    """
    if not await _has_more_rollups(scope, snapshot, day, FEW_ROLLUPS):
        return []
    sources = CountSources(database, scope, snapshot)
    hours = await sources.whole_hours_of(day)
    periods = with_first_hours(scope.calendar, hours, snapshot.now)
    # The hours one by one only if the sum of the first is missing: a document for each is read.
    for counted in (periods, hours):
        rollups = await _uncounted(sources, snapshot, by, counted) // _DOCUMENTS_PER_ROLLUP
        if rollups <= FEW_ROLLUPS or await _has_more_rollups(scope, snapshot, day, rollups):
            return periods
    return []


async def count_first_hours(
    sources: CountSources,
    snapshot: Snapshot,
    one: JointId,
    known: CachedCounts | None,
    names: Sequence[str],
    period: Period,
    tables_of: Callable[[Sequence[Period]], Awaitable[Sequence[tuple[Period, Columns]]]],
) -> Columns:
    """Return the sum of the hours of a period, continued from the `known` one, and cache it."""
    hours = await sources.parts_of(period)
    await sources.read_fingerprints(hours)
    table = columns.empty(names)
    if known is not None and (count := _hours_in(sources, one, known, period, hours)):
        table, hours = await in_thread(known.table), hours[count:]
    memory, before = snapshot.memory, snapshot.memory.bytes
    for some in sources.few_at_once(one.of, hours):
        # Some hours and a copy are in memory beside the sum, and then freed.
        await memory.resize(before + await in_thread(bytes_of, table))
        found = [table, *(of_hour for _, of_hour in await tables_of(some))]
        table = await in_thread(_summed, found, names)
    await memory.resize(before)
    new = NewCounts(sources.fingerprints.of(period).of(one.of), table, period.end)
    await sources.joint.store(one, new)
    return table


def _summed(tables: Sequence[Columns], names: Sequence[str]) -> Columns:
    return columns.joined(tables, names).by(names)


def _hours_in(
    sources: CountSources,
    one: JointId,
    known: CachedCounts,
    period: Period,
    hours: Sequence[Period],
) -> int:
    """Return how many first hours a cached sum has; 0 if it is no longer valid."""
    count = sum(known.through is not None and hour.end <= known.through for hour in hours)
    if not count:
        return 0
    end = hours[count - 1].end
    of_known = sources.fingerprints.of(period._replace(hours=count, end=end))
    return count if known.is_valid(of_known.of(one.of), end) else 0


async def _has_more_rollups(
    scope: ReportScope, snapshot: Snapshot, day: Period, number: int
) -> bool:
    of_day = {**scope.rollups("link"), "_id.day": day.first.isoformat()}
    return await snapshot.reader.count("rollups", of_day, limit=number + 1) > number


async def _uncounted(
    sources: CountSources, snapshot: Snapshot, by: Sequence[str], periods: Sequence[Period]
) -> int:
    """Return how many clicks and events of these periods have no cached counts."""
    wanted = [(of, one, _ids(sources, of, by, one)) for of in DOCUMENT_KINDS for one in periods]
    ids = [one for _, _, usable in wanted for one in usable]
    cached = await sources.joint.fingerprints(ids, snapshot.reader.latest())
    return sum(
        min(sources.fingerprints.of(period).uncounted(of, cached.get(one)) for one in usable)
        for of, period, usable in wanted
    )


def _ids(
    sources: CountSources, of: DocumentKind, by: Sequence[str], period: Period
) -> Sequence[JointId]:
    """Return the ids of the counts by these dimensions, and of those by all."""
    one = sources.id_of(of, without(EVENT, by) if of == "clicks" else by, period)
    return one, one._replace(by=ALL)
